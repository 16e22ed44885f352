#include <extension/element.hpp>

namespace framewire::python {

const Element& element_of(TensorType type) {
  static const Element kElements[] = {
      {TensorType::kUint8, "uint8", "B", "|u1", 1, {dlpack::kUnsigned, 8, 1}},
      {TensorType::kFloat16, "float16", "e", "<f2", 2, {dlpack::kFloat, 16, 1}},
      {TensorType::kBfloat16, "bfloat16", nullptr, nullptr, 2, {dlpack::kBfloat, 16, 1}},
      {TensorType::kFloat32, "float32", "f", "<f4", 4, {dlpack::kFloat, 32, 1}},
  };
  return kElements[static_cast<std::size_t>(type)];
}

std::size_t bytes_of(const Element& element, const Shape& shape) {
  auto bytes = static_cast<std::size_t>(element.bytes);
  for (const std::int64_t side : shape) bytes *= static_cast<std::size_t>(side);
  return bytes;
}

std::string device_name(int device) {
  return device < 0 ? "cpu" : "cuda:" + std::to_string(device);
}

std::string shape_text(const std::int64_t* sides, int count) {
  std::string text = "(";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sides[i]);
  }
  return text + (count == 1 ? ",)" : ")");
}

}  // namespace framewire::python
