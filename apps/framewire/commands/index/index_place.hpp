// Where an index goes, a file or an object: only an index is ever replaced.
#pragma once

#include <dataset/store_set.hpp>
#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

/// Whether a file that begins so is an index, for DALI or of wids.
[[nodiscard]] bool is_index(std::string_view beginning);

/// @param path  of a file, or URL of an object
/// @return invalid_input where something lies there that is neither an index nor empty; io_error;
///         what the store says
[[nodiscard]] Result<void> check_index_place(const std::string& path, dataset::StoreSet& stores);

/// Writes an index, whole or not at all, once it is known that what lies there may be replaced.
/// @param make_folders  that are missing
/// @return as check_index_place()
[[nodiscard]] Result<void> write_index(const std::string& path, const std::string& text,
                                       bool make_folders, dataset::StoreSet& stores);

/// Whether an index of wids names one of these shards. @param urls  as the index has them
/// @return false also where there is no such index, or one that is too large to look at; io_error;
///         what the store says
[[nodiscard]] Result<bool> names_any(const std::string& path, const std::vector<std::string>& urls,
                                     dataset::StoreSet& stores);

/// Removes an index that tells of what is not there any more; anything else stays.
/// @return whether there was one; io_error; what the store says
[[nodiscard]] Result<bool> remove_index(const std::string& path, dataset::StoreSet& stores);

}  // namespace framewire::app
