// Whole numbers of Python objects: int, NumPy's, and whatever else has __index__().
#pragma once

#include <nanobind/nanobind.h>
#include <cstddef>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <limits>
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
/// @param most   items that are read; what follows them is left where it is
[[nodiscard]] nanobind::list to_list(nanobind::handle items, const char* argument,
                                     const char* accepted,
                                     std::optional<std::uint64_t> index = std::nullopt,
                                     std::size_t most = std::numeric_limits<std::size_t>::max());

/// As to_list(), of one item for each of `count` images. Raises InvalidInput for fewer and for
/// more.
[[nodiscard]] nanobind::list to_list_of(std::size_t count, nanobind::handle items,
                                        const char* argument, const char* accepted);

/// A box as a tuple (left, top, width, height).
[[nodiscard]] nanobind::tuple to_tuple(const CropBox& box);

}  // namespace framewire::python
