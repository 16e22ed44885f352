// Memory of the caller's that a batch is written to.
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <extension/dlpack.hpp>
#include <extension/element.hpp>

namespace framewire::python {

/// Borrows the memory of a Python object for writing, by the buffer protocol or by DLPack, and
/// keeps the object alive and its memory in place as long as this lives. Made and destroyed by a
/// thread that holds the GIL.
class OutputTensor {
 public:
  /// Raises TypeError for an object with neither protocol; InvalidInput where the elements' type,
  /// the shape or the device is another, or the memory is read-only or not C-contiguous.
  OutputTensor(nanobind::handle object, const Element& element, const Shape& shape);
  ~OutputTensor();
  OutputTensor(const OutputTensor&) = delete;
  OutputTensor& operator=(const OutputTensor&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void take(nanobind::handle object, const Element& element, const Shape& shape);
  bool take_buffer(nanobind::handle object);
  void take_dlpack(nanobind::handle object);
  void check_buffer(const Element& element, const Shape& shape);
  void check_dlpack(const Element& element, const Shape& shape);
  void release() noexcept;

  void* data_ = nullptr;
  Py_buffer view_{};
  bool has_view_ = false;
  dlpack::ManagedTensor* old_ = nullptr;
  dlpack::VersionedTensor* versioned_ = nullptr;
};

}  // namespace framewire::python
