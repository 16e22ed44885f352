// Resizes on the calling thread.
#pragma once

#include <nanobind/nanobind.h>

namespace framewire::python {

/// Adds resize() and resize_with_report() to the module.
void bind_resizing(nanobind::module_& module);

}  // namespace framewire::python
