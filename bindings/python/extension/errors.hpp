// Errors as values become exceptions here, and nowhere else.
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::python {

/// UTF-8 as a str; what is no UTF-8 becomes U+FFFD.
[[nodiscard]] nanobind::str text(std::string_view utf8);

/// What a message says of an object's type: its repr(). Half of a surrogate pair, which has no
/// UTF-8, is escaped.
[[nodiscard]] std::string type_of(nanobind::handle object);

/// What a message says of an object: its repr(), cut, or its type where that raises, as of an int
/// of more than 4300 digits.
[[nodiscard]] std::string shown(nanobind::handle object);

/// The exception of a status: an object of the class in framewire._errors for its code.
[[nodiscard]] nanobind::object exception_of(const Status& status);

/// A class of framewire._errors.
[[nodiscard]] nanobind::object error_class(const char* name);

/// Raises an exception that is there already.
[[noreturn]] void raise_object(const nanobind::object& exception);

/// Raises the exception of a status.
[[noreturn]] void raise(const Status& status);

/// Raises the exception of a status, with the index of the input that it is about.
[[noreturn]] void raise_at(const Status& status, std::size_t index);

/// "input 7: ", as an Error with an index begins, for exceptions that are none; empty for no index.
[[nodiscard]] std::string said_of_input(std::optional<std::uint64_t> index);

/// Whether an object of the extension's was made by its constructor, not by __new__() alone. Where
/// not, a TypeError is set. Slots of a type must ask; methods need not.
[[nodiscard]] bool is_made(PyObject* object) noexcept;

/// Raises EngineClosed.
[[noreturn]] void raise_closed(std::string_view message);

}  // namespace framewire::python
