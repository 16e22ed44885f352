// Errors as values become exceptions here, and nowhere else.
#pragma once

#include <nanobind/nanobind.h>
#include <framewire/status.hpp>
#include <string_view>

namespace framewire::python {

/// UTF-8 as a str; what is no UTF-8 becomes U+FFFD.
[[nodiscard]] nanobind::str text(std::string_view utf8);

/// The exception of a status: an object of the class in framewire._errors for its code.
[[nodiscard]] nanobind::object exception_of(const Status& status);

/// Raises the exception of a status.
[[noreturn]] void raise(const Status& status);

/// Raises EngineClosed.
[[noreturn]] void raise_closed(std::string_view message);

}  // namespace framewire::python
