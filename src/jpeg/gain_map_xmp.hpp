// What Ultra HDR writes into XMP: the hdrgm version and the directory of appended images.
//
// Source: Ultra HDR image format 1.1, "XMP attributes"; GContainer (photos/1.0/container).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::jpeg {

/// Whether a packet binds the hdrgm namespace and states its Version.
[[nodiscard]] bool declares_gain_map(std::string_view xmp);

/// Where the container directory puts the gain map.
struct ContainerItem {
  std::size_t bytes = 0;
  std::size_t from_end = 0;  ///< distance of its first byte from the end of the file
};
[[nodiscard]] std::optional<ContainerItem> find_gain_map_item(std::string_view xmp);

/// A minimal primary packet: hdrgm version and a directory of primary and gain map.
[[nodiscard]] std::string make_gain_map_xmp(std::size_t gain_map_bytes);

/// The packet with its directory replaced by one of primary and gain map, which is all that an
/// output has. Nothing where there is no directory to replace.
[[nodiscard]] std::optional<std::string> with_gain_map_directory(std::string_view xmp,
                                                                 std::size_t gain_map_bytes);

/// The packet without directory and hdrgm attributes, for an output that is a single image.
[[nodiscard]] std::string without_gain_map(std::string_view xmp);

}  // namespace framewire::jpeg
