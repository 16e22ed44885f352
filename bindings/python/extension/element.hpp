// Elements and shapes of a batch, in the words of Python, the buffer protocol and DLPack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <extension/dlpack.hpp>
#include <framewire/tensor.hpp>
#include <string>
#include <string_view>

namespace framewire::python {

/// [N][channel][y][x] or [N][y][x][channel].
using Shape = std::array<std::int64_t, 4>;

struct Element {
  TensorType type;
  std::string_view name;
  const char* format;   ///< of the struct module; null: the buffer protocol has none
  const char* typestr;  ///< of __cuda_array_interface__; null: it has none
  std::int64_t bytes;
  dlpack::ElementType dlpack;
};

/// The row of the table for a type.
[[nodiscard]] const Element& element_of(TensorType type);

/// Bytes of a tensor.
[[nodiscard]] std::size_t bytes_of(const Element& element, const Shape& shape);

/// "cpu" for -1, "cuda:0" for the CUDA ordinal 0.
[[nodiscard]] std::string device_name(int device);

/// As Python writes a tuple: "(8, 3, 224, 224)", "(8,)".
[[nodiscard]] std::string shape_text(const std::int64_t* sides, int count);

}  // namespace framewire::python
