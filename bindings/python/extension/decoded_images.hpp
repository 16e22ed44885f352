// What became of each image of a batch, as Python objects for whoever asks: making them costs a
// microsecond an image, in which a GPU makes a fifth of one.
#pragma once

#include <nanobind/nanobind.h>
#include <framewire/tensor.hpp>
#include <vector>

namespace framewire::python {

class DecodedImages {
 public:
  explicit DecodedImages(std::vector<Result<TensorImage>>&& images);

  /// For each image None, or its Error.
  [[nodiscard]] nanobind::list errors() const;
  /// For each image the arguments of framewire._tensor._make_image(), or None.
  [[nodiscard]] nanobind::list fields() const;

 private:
  const std::vector<Result<TensorImage>> images_;
};

/// Adds DecodedImages to the module.
void bind_decoded_images(nanobind::module_& module);

}  // namespace framewire::python
