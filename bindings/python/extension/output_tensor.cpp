#include <algorithm>
#include <extension/errors.hpp>
#include <extension/output_tensor.hpp>
#include <string>
#include <vector>

namespace framewire::python {
namespace nb = nanobind;

namespace {

std::string accepted(const Element& element, const Shape& shape) {
  return "; accepted: writable host memory, C-contiguous, of " + std::string(element.name) + ' ' +
         shape_text(shape.data(), 4);
}

[[noreturn]] void refuse(const std::string& found, const Element& element, const Shape& shape) {
  raise(
      Status(StatusCode::kInvalidInput, "found " + found + accepted(element, shape)).about("out"));
}

// "float64" for "d" and its kin; what has no short name is shown as it is.
std::string name_of_format(std::string_view format, Py_ssize_t bytes) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  const std::string bits = std::to_string(bytes * 8);
  if (format.size() == 1) {
    if (std::string_view("efdg").find(format[0]) != std::string_view::npos) return "float" + bits;
    if (std::string_view("bhilqn").find(format[0]) != std::string_view::npos) return "int" + bits;
    if (std::string_view("BHILQN").find(format[0]) != std::string_view::npos) return "uint" + bits;
    if (format[0] == '?') return "bool";
  }
  return "elements of format '" + std::string(format) + '\'';
}

std::string name_of_type(const dlpack::ElementType& type) {
  static constexpr const char* kCodes[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
  if (type.lanes != 1 || type.code >= std::size(kCodes)) {
    return "elements of DLPack's type code " + std::to_string(type.code);
  }
  return kCodes[type.code] + std::to_string(type.bits);
}

// Strides of sides of one element, or of no elements at all, do not matter.
template <typename Integer>
bool is_contiguous(const Integer* shape, const Integer* strides, int count, Integer step) {
  if (strides == nullptr) return true;
  if (std::find(shape, shape + count, 0) != shape + count) return true;
  for (int i = count; i-- > 0;) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

}  // namespace

OutputTensor::OutputTensor(nb::handle object, const Element& element, const Shape& shape) {
  try {
    take(object, element, shape);
  } catch (...) {
    release();
    throw;
  }
}

void OutputTensor::take(nb::handle object, const Element& element, const Shape& shape) {
  if (element.format != nullptr && take_buffer(object)) {
    check_buffer(element, shape);
  } else if (nb::hasattr(object, "__dlpack__") && nb::hasattr(object, "__dlpack_device__")) {
    const nb::object device = object.attr("__dlpack_device__")();
    const auto type = nb::cast<std::int64_t>(nb::object(device[0]));
    if (type != dlpack::kCpu && type != dlpack::kCudaHost && type != dlpack::kRocmHost) {
      refuse("memory of a device, DLPack's type " + std::to_string(type), element, shape);
    }
    take_dlpack(object);
    check_dlpack(element, shape);
  } else if (take_buffer(object)) {  // of bfloat16, which it cannot have: says so
    check_buffer(element, shape);
  } else {
    PyErr_Format(PyExc_TypeError,
                 "out: found %R; accepted: an object with DLPack or the buffer protocol, such as a "
                 "torch.Tensor, a NumPy array or a framewire.Tensor",
                 reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
    throw nb::python_error();
  }
}

OutputTensor::~OutputTensor() { release(); }

void OutputTensor::release() noexcept {
  if (has_view_) PyBuffer_Release(&view_);
  if (old_ != nullptr && old_->deleter != nullptr) old_->deleter(old_);
  if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
}

bool OutputTensor::take_buffer(nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  // Read-only memory is taken, to say that it is.
  has_view_ = PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FULL_RO) == 0;
  if (!has_view_ && nb::hasattr(object, "__dlpack__")) PyErr_Clear();  // that one may do
  if (!has_view_ && PyErr_Occurred() != nullptr) throw nb::python_error();
  return has_view_;
}

void OutputTensor::check_buffer(const Element& element, const Shape& shape) {
  const std::vector<std::int64_t> sides(view_.shape, view_.shape + view_.ndim);
  const std::string type =
      name_of_format(view_.format == nullptr ? "B" : view_.format, view_.itemsize);
  if (type != element.name || !std::equal(sides.begin(), sides.end(), shape.begin(), shape.end())) {
    refuse(type + ' ' + shape_text(sides.data(), view_.ndim), element, shape);
  }
  if (view_.readonly != 0) refuse("read-only memory", element, shape);
  if (view_.suboffsets != nullptr ||
      !is_contiguous(view_.shape, view_.strides, view_.ndim, view_.itemsize)) {
    refuse("memory that is not C-contiguous", element, shape);
  }
  data_ = view_.buf;
}

void OutputTensor::take_dlpack(nb::handle object) {
  const nb::object exporter = nb::getattr(object, "__dlpack__");
  nb::object capsule;
  try {
    capsule = exporter(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // an exporter from before DLPack 1.0
    capsule = exporter();
  }
  const char* used = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kVersioned) != 0) {
    versioned_ = static_cast<dlpack::VersionedTensor*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersioned));
    used = dlpack::kVersionedUsed;
  } else if (PyCapsule_IsValid(capsule.ptr(), dlpack::kOld) != 0) {
    old_ = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kOld));
    used = dlpack::kOldUsed;
  } else {
    throw nb::type_error("out: __dlpack__() returned no capsule of DLPack");
  }
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
}

void OutputTensor::check_dlpack(const Element& element, const Shape& shape) {
  if (versioned_ != nullptr && versioned_->major != 1) {
    refuse("DLPack of version " + std::to_string(versioned_->major), element, shape);
  }
  const dlpack::Tensor& tensor = versioned_ != nullptr ? versioned_->tensor : old_->tensor;
  if (tensor.dtype != element.dlpack ||
      !std::equal(tensor.shape, tensor.shape + tensor.ndim, shape.begin(), shape.end())) {
    refuse(name_of_type(tensor.dtype) + ' ' + shape_text(tensor.shape, tensor.ndim), element,
           shape);
  }
  if (versioned_ != nullptr && (versioned_->flags & dlpack::kReadOnly) != 0) {
    refuse("read-only memory", element, shape);
  }
  if (!is_contiguous(tensor.shape, tensor.strides, tensor.ndim, std::int64_t{1})) {
    refuse("memory that is not C-contiguous", element, shape);
  }
  data_ = static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
}

}  // namespace framewire::python
