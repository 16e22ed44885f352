// Objects of a store that are lines of text.
#pragma once

#include <framewire/status.hpp>
#include <functional>
#include <store/object_store.hpp>
#include <string_view>

namespace framewire::dataset {

/// Hands out the lines of an object, without their ends; what follows the last newline is none.
/// Memory: the longest line, and a piece of a megabyte.
/// @return too_large for a line of more than kMaxRowBytes; what the store says
[[nodiscard]] Result<void> read_object_lines(store::ObjectStore& store,
                                             const store::ObjectInfo& object,
                                             const std::function<void(std::string_view)>& take);

}  // namespace framewire::dataset
