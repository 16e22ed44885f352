// What headers say, without decoding.
#pragma once

#include <nanobind/nanobind.h>

namespace framewire::python {

/// Adds size_of() and inspect() to the module.
void bind_heads(nanobind::module_& module);

}  // namespace framewire::python
