// Memory of the caller's that a batch is written to.
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <extension/dlpack.hpp>
#include <extension/element.hpp>
#include <framewire/cuda_stream.hpp>
#include <optional>

namespace framewire::python {

/// What the memory of a batch must be.
struct OutputTerms {
  const Element& element;
  const Shape& shape;
  int device = -1;  ///< CUDA ordinal; -1: host memory
  /// Of the device: where the batch will be written. Exporters order what they have under way
  /// before it.
  CudaStream stream = CudaStream::legacy_default();
};

/// Borrows the memory of a Python object for writing, and keeps the object alive and its memory in
/// place as long as this lives: host memory by the buffer protocol or DLPack, a GPU's by DLPack or
/// __cuda_array_interface__. Made and destroyed by a thread that holds the GIL.
class OutputTensor {
 public:
  /// Raises TypeError for an object with none of these protocols; InvalidInput where the elements'
  /// type, the shape or the device is another, the memory is read-only or not C-contiguous, or the
  /// object does not lend it.
  /// Whether an address of __cuda_array_interface__ is the device's remains to be asked.
  OutputTensor(nanobind::handle object, const OutputTerms& terms);
  ~OutputTensor();
  OutputTensor(const OutputTensor&) = delete;
  OutputTensor& operator=(const OutputTensor&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Where the exporter still works on the memory: a stream that __cuda_array_interface__ names.
  [[nodiscard]] std::optional<CudaStream> pending() const noexcept {
    if (pending_ == 0) return std::nullopt;
    return CudaStream(reinterpret_cast<void*>(static_cast<std::uintptr_t>(pending_)));
  }

 private:
  void take(nanobind::handle object, const OutputTerms& terms);
  bool take_buffer(nanobind::handle object, const OutputTerms& terms);
  bool take_dlpack(nanobind::handle object, const OutputTerms& terms);
  bool take_cuda_array(nanobind::handle object, const OutputTerms& terms);
  static nanobind::object capsule_of(nanobind::handle object, const OutputTerms& terms);
  void take_capsule(const nanobind::object& capsule);
  /// @param known_type  of the elements, where the buffer's own format says another; null: none
  void check_buffer(const OutputTerms& terms, const char* known_type = nullptr);
  void check_dlpack(const OutputTerms& terms);
  void release() noexcept;

  nanobind::object object_;
  void* data_ = nullptr;
  std::int64_t pending_ = 0;
  Py_buffer view_{};
  bool has_view_ = false;
  dlpack::ManagedTensor* old_ = nullptr;
  dlpack::VersionedTensor* versioned_ = nullptr;
};

}  // namespace framewire::python
