#include <algorithm>
#include <array>
#include <jpeg/embedded.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>
#include <optional>
#include <span>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kResourceType = "8BIM";
constexpr std::uint16_t kIptcResource = 0x0404;
constexpr std::uint16_t kIptcDigest = 0x0425;
constexpr std::uint16_t kProfile = 1039;
/// At most so many resources of a file, and datasets of a caption, are read; the rest is left out.
/// Programs write tens of each. Reading so many takes too little time to need a look at the
/// deadline.
constexpr int kMaxParts = 10'000;
/// Resources that are left out of an output: thumbnails of two versions, EXIF twice, XMP.
constexpr std::array<std::uint16_t, 5> kRemovedResources = {1033, 1036, 1058, 1059, 1060};

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

/// One dataset of an IIM record stream.
struct Dataset {
  std::uint8_t record = 0;
  std::uint8_t number = 0;
  ByteSpan whole;
};

/// Takes the first dataset off `rest`; nothing at the end or at a damaged one.
std::optional<Dataset> take_dataset(ByteSpan& rest) {
  if (rest.size() < 5 || rest[0] != 0x1C) return std::nullopt;
  std::size_t header = 5;
  std::size_t bytes = read_u16(rest, 3);
  if ((bytes & 0x8000) != 0) {  // the length of a longer length field
    if (bytes != 0x8004 || rest.size() < 9) return std::nullopt;
    bytes = read_u32(rest, 5);
    header = 9;
  }
  if (bytes > rest.size() - header) return std::nullopt;
  const Dataset dataset{rest[1], rest[2], rest.first(header + bytes)};
  rest = rest.subspan(header + bytes);
  return dataset;
}

/// Who made the picture and who owns it.
Bytes copyright_datasets(ByteSpan iim) {
  Bytes kept;
  bool found = false;
  for (int i = 0; i < kMaxParts; ++i) {
    const auto dataset = take_dataset(iim);
    if (!dataset) break;
    const bool character_set = dataset->record == 1 && dataset->number == 90;
    const bool wanted = dataset->record == 2 &&
                        (dataset->number == 80 || dataset->number == 110 || dataset->number == 116);
    if ((!character_set && !wanted) || holds_picture(dataset->whole)) continue;
    append_bytes(kept, dataset->whole);
    found = found || wanted;
  }
  return found ? kept : Bytes{};
}

/// Everything but the picture that a caption may carry.
Bytes datasets_without_pictures(ByteSpan iim) {
  Bytes kept;
  for (int i = 0; i < kMaxParts; ++i) {
    const auto dataset = take_dataset(iim);
    if (!dataset) break;
    const bool preview = dataset->record == 2 && dataset->number >= 200 && dataset->number <= 202;
    const bool object = dataset->record >= 7 && dataset->record <= 9;
    if (!preview && !object && !holds_picture(dataset->whole)) append_bytes(kept, dataset->whole);
  }
  return kept;
}

/// Whether datasets are all that a caption has, save zeros behind them.
bool is_whole(ByteSpan datasets, ByteSpan iim) {
  const ByteSpan rest = iim.subspan(datasets.size());
  return std::equal(datasets.begin(), datasets.end(), iim.begin()) &&
         std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; });
}

/// Calls `use` with every resource; goes on with the next segment behind a damaged one.
template <typename Use>
void for_each_resource(ByteSpan bytes, std::span<const std::size_t> beginnings, Use use) {
  std::size_t at = 0;
  int left = kMaxParts;
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    if (beginnings[i] < at) continue;  // inside a resource that began in an earlier segment
    ByteSpan rest = bytes.subspan(beginnings[i]);
    while (const auto resource = take_resource(rest)) {
      if (--left < 0) return;
      use(*resource);
    }
    at = bytes.size() - rest.size();
  }
}

}  // namespace

void ImageResources::add_segment(ByteSpan payload) {
  if (!starts_with(payload, kPhotoshopId)) return;
  beginnings_.push_back(bytes_.size());
  append_bytes(bytes_, payload.subspan(kPhotoshopId.size()));
}

Bytes ImageResources::copyright() const {
  Bytes out;
  for_each_resource(bytes_, beginnings_, [&](const Resource& resource) {
    if (resource.number != kIptcResource || !out.empty()) return;
    const Bytes datasets = copyright_datasets(resource.data);
    if (!datasets.empty()) append_resource(out, kIptcResource, datasets);
  });
  return out;
}

Bytes ImageResources::without_pictures(bool keeps_profile) const {
  Bytes out;
  bool has_digest = false;
  bool same_iptc = true;
  for (const bool digest : {false, true}) {  // a digest stays only if its caption has not changed
    for_each_resource(bytes_, beginnings_, [&](const Resource& resource) {
      if (digest != (resource.number == kIptcDigest)) return;
      if (digest) {
        if (same_iptc && !has_digest) append_bytes(out, resource.whole);
        has_digest = true;
      } else if (resource.number == kIptcResource) {
        const Bytes datasets = datasets_without_pictures(resource.data);
        if (is_whole(datasets, resource.data)) {
          append_bytes(out, resource.whole);
        } else {
          same_iptc = false;
          if (!datasets.empty()) append_resource(out, kIptcResource, datasets);
        }
      } else if (std::find(kRemovedResources.begin(), kRemovedResources.end(), resource.number) ==
                     kRemovedResources.end() &&
                 (keeps_profile || resource.number != kProfile) && !holds_picture(resource.data)) {
        append_bytes(out, resource.whole);
      }
    });
  }
  return out;
}

void write_image_resources(Bytes& out, ByteSpan resources) {
  constexpr std::size_t kMaxPartBytes = 65533 - kPhotoshopId.size();
  while (!resources.empty()) {
    const std::size_t bytes = std::min(resources.size(), kMaxPartBytes);
    Bytes payload;
    append_text(payload, kPhotoshopId);
    append_bytes(payload, resources.first(bytes));
    write_segment(out, marker::kApp13, payload);
    resources = resources.subspan(bytes);
  }
}

}  // namespace framewire::jpeg
