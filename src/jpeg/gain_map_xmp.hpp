// What Ultra HDR and motion photographs write into XMP: the hdrgm version and the directory of the
// images and videos that are appended to a file.
//
// Source: Ultra HDR image format 1.1, "XMP attributes"; GContainer (photos/1.0/container); Motion
// Photo format 1.0.
#pragma once

#include <cstddef>
#include <jpeg/xmp_tree.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::jpeg {

inline constexpr std::string_view kHdrgmNamespace = "http://ns.adobe.com/hdr-gain-map/1.0/";
inline constexpr std::string_view kContainerNamespace =
    "http://ns.google.com/photos/1.0/container/";
inline constexpr std::string_view kItemNamespace =
    "http://ns.google.com/photos/1.0/container/item/";
inline constexpr std::string_view kCameraNamespace = "http://ns.google.com/photos/1.0/camera/";

/// Something that a packet says is appended to the file.
struct ContainerItem {
  std::string semantic;      ///< "Primary", "GainMap", "MotionPhoto"…
  std::string mime;          ///< may be empty
  std::size_t bytes = 0;     ///< 0 where it is not stated
  std::size_t from_end = 0;  ///< distance of its first byte from the end of the file
};

/// The items of the container directory in their order; a MicroVideo, the older form, as one too.
[[nodiscard]] std::vector<ContainerItem> find_container_items(std::string_view xmp);

/// The gain map among them, if its size is stated.
[[nodiscard]] std::optional<ContainerItem> find_gain_map_item(std::string_view xmp);

/// Whether a packet states the hdrgm Version.
[[nodiscard]] bool declares_gain_map(std::string_view xmp);

/// Adds a directory of primary and gain map, the only images that an output has.
void add_directory(const XmpTree& tree, pugi::xml_node description, std::size_t gain_map_bytes);

/// A packet that has no hdrgm statement, with the hdrgm version and such a directory; a minimal one
/// where it is empty or cannot be added to.
[[nodiscard]] std::string with_gain_map(std::string_view xmp, std::size_t gain_map_bytes);

/// A minimal primary packet: hdrgm version and a directory of primary and gain map.
[[nodiscard]] inline std::string make_gain_map_xmp(std::size_t gain_map_bytes) {
  return with_gain_map({}, gain_map_bytes);
}

}  // namespace framewire::jpeg
