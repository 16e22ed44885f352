// The grammar's options, parsed once.
#pragma once

#include <nanobind/nanobind.h>
#include <framewire/options.hpp>

namespace framewire::python {

/// Options that passed validate(). Never changes, so that requests may share one.
struct Options {
  ResizeOptions value;
};

/// Adds Options, and the table of the grammar, to the module.
void bind_options(nanobind::module_& module);

}  // namespace framewire::python
