// Files that travel with a picture: its text, its class, its metadata.
#pragma once

#include <cstdint>
#include <framewire/batch/source.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <store/object_store.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset {

/// Bound on one such file: each is held in memory until its picture is done.
inline constexpr std::uint64_t kMaxSidecarBytes = 64u << 20;
/// Bound on how many kinds of them a picture may have.
inline constexpr std::size_t kMaxSidecars = 64;

/// Reads "txt,json,cls": extensions without their dot.
/// @return invalid_input for empty, repeated or too many ones, for those with '/' or NUL, and for
///         those of pictures
[[nodiscard]] Result<std::vector<std::string>> parse_sidecars(const std::string& text);

/// Whether a name ends with a dot and one of the extensions.
[[nodiscard]] bool named_like_sidecar(std::string_view name,
                                      const std::vector<std::string>& extensions) noexcept;

/// A picture's name with another extension in place of its last one.
[[nodiscard]] std::string with_extension(std::string_view picture, std::string_view extension);

/// One such file, read.
struct Sidecar {
  std::vector<std::uint8_t> bytes;
  std::int64_t mtime_s = 0;
  std::optional<batch::Permissions> permissions;  ///< unset: anybody may read it
};

/// Reads a file, without ever blocking on what is none.
/// @return nothing where there is no such file; too_large; io_error; invalid_input for folders,
///         devices and pipes
[[nodiscard]] Result<std::optional<Sidecar>> read_sidecar(const std::string& path);

/// Reads an object.
/// @return nothing where there is no such object; too_large; what the store says
[[nodiscard]] Result<std::optional<Sidecar>> read_object_sidecar(store::ObjectStore& store,
                                                                 const std::string& key);

}  // namespace framewire::dataset
