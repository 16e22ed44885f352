#include <jpeg/iptc.hpp>
#include <optional>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kResourceType = "8BIM";
constexpr std::uint16_t kIptcResource = 0x0404;
constexpr std::uint16_t kOldThumbnail = 1033;
constexpr std::uint16_t kThumbnail = 1036;

/// One image resource block: type, number, padded name, length, padded data.
struct Resource {
  std::uint16_t number = 0;
  ByteSpan whole;
  ByteSpan data;
};

/// Takes the first resource off `rest`; nothing at the end or at a damaged one.
std::optional<Resource> take_resource(ByteSpan& rest) {
  if (rest.size() < 12 || !starts_with(rest, kResourceType)) return std::nullopt;
  const std::size_t name_bytes = (rest[6] + 2u) & ~std::size_t{1};  // with its length, made even
  const std::size_t length_at = 6 + name_bytes;
  if (rest.size() < length_at + 4) return std::nullopt;
  const std::size_t bytes = read_u32(rest, length_at);
  const std::size_t data_at = length_at + 4;
  if (bytes > rest.size() - data_at) return std::nullopt;
  const std::size_t end = std::min(rest.size(), data_at + bytes + bytes % 2);
  const Resource resource{read_u16(rest, 4), rest.first(end), rest.subspan(data_at, bytes)};
  rest = rest.subspan(end);
  return resource;
}

void append_resource(Bytes& out, std::uint16_t number, ByteSpan data) {
  append_text(out, kResourceType);
  append_u16(out, number);
  append_u16(out, 0);  // no name
  append_u32(out, static_cast<std::uint32_t>(data.size()));
  append_bytes(out, data);
  if (data.size() % 2 != 0) out.push_back(0);
}

/// The datasets of an IIM record stream that state who made the picture and who owns it.
Bytes copyright_datasets(ByteSpan iim) {
  Bytes kept;
  bool found = false;
  while (iim.size() >= 5 && iim[0] == 0x1C) {
    const std::size_t bytes = read_u16(iim, 3);
    // The high bit announces a longer length field, which no short text needs.
    if ((bytes & 0x8000) != 0 || bytes > iim.size() - 5) break;
    const bool character_set = iim[1] == 1 && iim[2] == 90;
    const bool wanted = iim[1] == 2 && (iim[2] == 80 || iim[2] == 110 || iim[2] == 116);
    if (character_set || wanted) append_bytes(kept, iim.first(5 + bytes));
    found = found || wanted;
    iim = iim.subspan(5 + bytes);
  }
  return found ? kept : Bytes{};
}

}  // namespace

Bytes copyright_iptc(ByteSpan payload) {
  if (!starts_with(payload, kPhotoshopId)) return {};
  ByteSpan rest = payload.subspan(kPhotoshopId.size());
  while (const auto resource = take_resource(rest)) {
    if (resource->number != kIptcResource) continue;
    const Bytes datasets = copyright_datasets(resource->data);
    if (datasets.empty()) continue;
    Bytes out;
    append_text(out, kPhotoshopId);
    append_resource(out, kIptcResource, datasets);
    return out;
  }
  return {};
}

Bytes without_thumbnails(ByteSpan payload) {
  if (!starts_with(payload, kPhotoshopId)) return {};
  Bytes out;
  append_text(out, kPhotoshopId);
  ByteSpan rest = payload.subspan(kPhotoshopId.size());
  while (const auto resource = take_resource(rest)) {
    if (resource->number == kOldThumbnail || resource->number == kThumbnail) continue;
    append_bytes(out, resource->whole);
  }
  return out.size() == kPhotoshopId.size() ? Bytes{} : out;
}

}  // namespace framewire::jpeg
