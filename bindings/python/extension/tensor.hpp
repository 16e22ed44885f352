// A batch in memory of the package's own, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <extension/device_memory.hpp>
#include <extension/element.hpp>
#include <memory>

namespace framewire::python {

/// A C-contiguous tensor in host memory or in a GPU's. Whoever took it over by DLPack, or views it
/// by the buffer protocol, keeps the memory alive.
class BatchTensor {
 public:
  /// In host memory, not initialised. Throws std::bad_alloc.
  BatchTensor(TensorType type, const Shape& shape);
  /// In a GPU's memory.
  /// @param device  CUDA ordinal
  /// @param block   of bytes_of(type, shape) bytes or more; what it holds is there for every stream
  BatchTensor(TensorType type, const Shape& shape, int device, std::shared_ptr<DeviceBlock> block);
  BatchTensor(const BatchTensor&) = delete;
  BatchTensor& operator=(const BatchTensor&) = delete;

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const Element& element() const noexcept { return *element_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// In elements.
  [[nodiscard]] const Shape& strides() const noexcept { return strides_; }
  [[nodiscard]] const std::shared_ptr<void>& memory() const noexcept { return memory_; }
  /// Null in host memory.
  [[nodiscard]] DeviceBlock* block() const noexcept { return block_.get(); }
  /// CUDA ordinal; -1: host memory.
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Answers the buffer protocol's requests; `self` is the Python object of this tensor.
  int fill(PyObject* self, Py_buffer* view, int flags) const;

 private:
  BatchTensor(TensorType type, const Shape& shape, int device);

  const Element* element_;
  Shape shape_;
  Shape strides_{};
  std::size_t bytes_;
  Py_ssize_t buffer_shape_[4]{};
  Py_ssize_t buffer_strides_[4]{};  // in bytes
  int device_;
  std::shared_ptr<DeviceBlock> block_;
  std::shared_ptr<void> memory_;
};

/// Adds Tensor to the module.
void bind_tensor(nanobind::module_& module);

}  // namespace framewire::python
