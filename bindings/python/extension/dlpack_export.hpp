// Tensors handed to other libraries by DLPack.
#pragma once

#include <nanobind/nanobind.h>
#include <extension/dlpack.hpp>
#include <extension/element.hpp>
#include <memory>

namespace framewire::python {

/// What a capsule says of a C-contiguous tensor.
struct DlpackExport {
  std::shared_ptr<void> memory;  ///< shared with the consumer until it is done
  dlpack::Device device;
  dlpack::ElementType type;
  Shape shape{};
  Shape strides{};         ///< in elements
  bool versioned = false;  ///< the capsule of DLPack 1.0 instead of the old one
  bool copied = false;     ///< made for this consumer; only versioned capsules say so
};

/// A capsule, which owns its share of the memory until a consumer takes it over. The consumer may
/// let go of it on any thread and without the GIL.
[[nodiscard]] nanobind::object make_capsule(DlpackExport tensor);

}  // namespace framewire::python
