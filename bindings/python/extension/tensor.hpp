// A batch in memory of the package's own, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <extension/element.hpp>
#include <memory>

namespace framewire::python {

/// A C-contiguous tensor in host memory. Whoever took it over by DLPack, or views it by the buffer
/// protocol, keeps the memory alive.
class HostTensor {
 public:
  /// Not initialised. Throws std::bad_alloc.
  HostTensor(TensorType type, const Shape& shape);
  HostTensor(const HostTensor&) = delete;
  HostTensor& operator=(const HostTensor&) = delete;

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const Element& element() const noexcept { return *element_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// In elements.
  [[nodiscard]] const Shape& strides() const noexcept { return strides_; }
  [[nodiscard]] const std::shared_ptr<void>& memory() const noexcept { return memory_; }

  /// Answers the buffer protocol's requests; `self` is the Python object of this tensor.
  int fill(PyObject* self, Py_buffer* view, int flags) const;

 private:
  const Element* element_;
  Shape shape_;
  Shape strides_{};
  std::size_t bytes_;
  Py_ssize_t buffer_shape_[4]{};
  Py_ssize_t buffer_strides_[4]{};  // in bytes
  std::shared_ptr<void> memory_;
};

/// Adds Tensor to the module.
void bind_tensor(nanobind::module_& module);

}  // namespace framewire::python
