// Whole numbers of Python objects: int, NumPy's, and whatever else has __index__().
#pragma once

#include <nanobind/nanobind.h>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <optional>

namespace framewire::python {

/// Nothing for what is no whole number, a bool among it, or one outside of the type. Throws what
/// __index__() raised, but TypeError.
[[nodiscard]] std::optional<std::int32_t> to_int32(nanobind::handle number);
[[nodiscard]] std::optional<std::int64_t> to_int64(nanobind::handle number);
[[nodiscard]] std::optional<std::uint64_t> to_uint64(nanobind::handle number);

/// A list of whatever can be iterated. Raises TypeError, naming the argument, for other objects,
/// for a str, bytes, bytearray or memoryview, whose items nobody means, and for a set or a dict,
/// whose order nobody means.
/// @param index  of the image that the items belong to, which the exception says
[[nodiscard]] nanobind::list to_list(nanobind::handle items, const char* argument,
                                     const char* accepted,
                                     std::optional<std::uint64_t> index = std::nullopt);

/// Raises InvalidInput unless an argument has one item for each of `count`.
void check_count(const nanobind::list& items, std::size_t count, const char* argument);

/// A box as a tuple (left, top, width, height).
[[nodiscard]] nanobind::tuple to_tuple(const CropBox& box);

}  // namespace framewire::python
