// The few things that a resize must read and correct in an XMP packet, by editing its text.
//
// Source: ISO 16684-1; XMP part 3, 1.1.3 (JPEG). A packet is looked at as text, not as RDF: what is
// written in an unusual way is left alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace framewire::jpeg {

inline constexpr std::string_view kXmpId{"http://ns.adobe.com/xap/1.0/\0", 29};
inline constexpr std::string_view kExtendedXmpId{"http://ns.adobe.com/xmp/extension/\0", 35};

/// The prefix that the packet binds to a namespace: "hdrgm" for xmlns:hdrgm="…". Empty: none.
[[nodiscard]] std::string_view xmp_prefix(std::string_view xmp, std::string_view name_space);

/// Where a value lies in a packet.
struct XmpValue {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The value of the name at [name_begin, name_end): name="value", or <name>value</name>. Nothing
/// where the name is used in another way.
[[nodiscard]] std::optional<XmpValue> xmp_value_at(std::string_view xmp, std::size_t name_begin,
                                                   std::size_t name_end);

/// The first such value of `name` at or after `from`.
[[nodiscard]] std::optional<XmpValue> find_xmp_value(std::string_view xmp, std::string_view name,
                                                     std::size_t from = 0);

/// The packet with tiff:Orientation 1, if it states one.
[[nodiscard]] std::string with_upright_orientation(std::string_view xmp);

}  // namespace framewire::jpeg
