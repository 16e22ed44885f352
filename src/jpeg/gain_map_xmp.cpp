#include <fmt/format.h>
#include <charconv>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kHdrgmNamespace = "http://ns.adobe.com/hdr-gain-map/1.0/";
constexpr std::string_view kContainerNamespace = "http://ns.google.com/photos/1.0/container/";
constexpr std::string_view kItemNamespace = "http://ns.google.com/photos/1.0/container/item/";
constexpr std::size_t kNone = std::string_view::npos;

/// The directory of primary and gain map; it binds its own prefixes, so it may stand anywhere.
std::string make_directory(std::size_t gain_map_bytes) {
  return fmt::format(
      "<Container:Directory xmlns:Container=\"{}\" xmlns:Item=\"{}\""
      " xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Seq>"
      "<rdf:li rdf:parseType=\"Resource\"><Container:Item Item:Semantic=\"Primary\""
      " Item:Mime=\"image/jpeg\"/></rdf:li>"
      "<rdf:li rdf:parseType=\"Resource\"><Container:Item Item:Semantic=\"GainMap\""
      " Item:Mime=\"image/jpeg\" Item:Length=\"{}\"/></rdf:li>"
      "</rdf:Seq></Container:Directory>",
      kContainerNamespace, kItemNamespace, gain_map_bytes);
}

struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// From the directory's opening tag to the end of its closing one.
std::optional<TextRange> find_directory(std::string_view xmp) {
  const std::string_view prefix = xmp_prefix(xmp, kContainerNamespace);
  if (prefix.empty()) return std::nullopt;
  const std::string name = fmt::format("{}:Directory", prefix);
  const std::size_t begin = xmp.find("<" + name);
  if (begin == kNone) return std::nullopt;
  const std::string closing = "</" + name + ">";
  const std::size_t end = xmp.find(closing, begin);
  if (end == kNone) return std::nullopt;
  return TextRange{begin, end + closing.size()};
}

std::size_t length_of(std::string_view item, const std::string& name) {
  const auto value = find_xmp_value(item, name);
  if (!value) return 0;
  std::size_t length = 0;
  const char* begin = item.data() + value->offset;
  std::from_chars(begin, begin + value->bytes, length);
  return length;
}

/// Removes every attribute and plain element of one prefix.
void erase_properties(std::string& packet, std::string_view prefix) {
  const std::string start = fmt::format("{}:", prefix);
  for (std::size_t at = packet.find(start); at != kNone; at = packet.find(start, at)) {
    const std::size_t name_end = packet.find_first_of("= \t\r\n/>", at);
    if (at == 0 || name_end == kNone) return;
    const auto value = xmp_value_at(packet, at, name_end);
    if (!value) {
      at = name_end;
      continue;
    }
    if (packet[at - 1] == '<') {
      const std::size_t end = packet.find('>', value->offset + value->bytes);
      if (end == kNone) return;
      packet.erase(at - 1, end + 1 - (at - 1));
      --at;
    } else {
      packet.erase(at, value->offset + value->bytes + 1 - at);
    }
  }
}

}  // namespace

bool declares_gain_map(std::string_view xmp) {
  const std::string_view prefix = xmp_prefix(xmp, kHdrgmNamespace);
  return !prefix.empty() && find_xmp_value(xmp, fmt::format("{}:Version", prefix)).has_value();
}

std::optional<ContainerItem> find_gain_map_item(std::string_view xmp) {
  const auto range = find_directory(xmp);
  const std::string_view prefix = xmp_prefix(xmp, kItemNamespace);
  if (!range || prefix.empty()) return std::nullopt;
  const std::string_view directory = xmp.substr(range->begin, range->end - range->begin);
  const std::string semantic = fmt::format("{}:Semantic", prefix);
  std::optional<ContainerItem> item;
  // An item's text runs from one list entry to the next; items after the gain map push it inwards.
  constexpr std::string_view kEntry = "<rdf:li";
  for (std::size_t at = directory.find(kEntry); at != kNone;) {
    const std::size_t next = directory.find(kEntry, at + 1);
    const std::string_view text = directory.substr(at, next == kNone ? kNone : next - at);
    const std::size_t bytes = length_of(text, fmt::format("{}:Length", prefix));
    const auto value = find_xmp_value(text, semantic);
    if (item) {
      item->from_end += bytes;
    } else if (value && text.substr(value->offset, value->bytes) == "GainMap" && bytes != 0) {
      item = ContainerItem{bytes, bytes};
    }
    at = next;
  }
  return item;
}

std::string make_gain_map_xmp(std::size_t gain_map_bytes) {
  return fmt::format(
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      "<rdf:Description rdf:about=\"\" xmlns:hdrgm=\"{}\" hdrgm:Version=\"1.0\">{}"
      "</rdf:Description></rdf:RDF></x:xmpmeta>",
      kHdrgmNamespace, make_directory(gain_map_bytes));
}

std::optional<std::string> with_gain_map_directory(std::string_view xmp,
                                                   std::size_t gain_map_bytes) {
  const auto range = find_directory(xmp);
  if (!range) return std::nullopt;
  std::string packet(xmp);
  packet.replace(range->begin, range->end - range->begin, make_directory(gain_map_bytes));
  return packet;
}

std::string without_gain_map(std::string_view xmp) {
  std::string packet(xmp);
  if (!declares_gain_map(xmp)) return packet;
  if (const auto range = find_directory(packet)) {
    packet.erase(range->begin, range->end - range->begin);
  }
  erase_properties(packet, std::string(xmp_prefix(packet, kHdrgmNamespace)));
  return packet;
}

}  // namespace framewire::jpeg
