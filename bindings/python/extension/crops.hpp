// Crops and flips of whole batches.
#pragma once

#include <nanobind/nanobind.h>

namespace framewire::python {

/// Adds random_resized_crops(), random_flips(), center_crops() and center_crops_to_shape() to the
/// module.
void bind_crops(nanobind::module_& module);

}  // namespace framewire::python
