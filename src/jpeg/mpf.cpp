#include <fmt/format.h>
#include <algorithm>
#include <jpeg/mpf.hpp>
#include <jpeg/tiff.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::uint16_t kVersionTag = 0xB000;
constexpr std::uint16_t kImageCountTag = 0xB001;
constexpr std::uint16_t kEntriesTag = 0xB002;
constexpr std::size_t kMpEntryBytes = 16;
constexpr std::uint32_t kPrimaryAttributes = 0x00030000;  // baseline MP primary image

bool is_jpeg_at(ByteSpan file, std::size_t offset, std::size_t bytes) {
  return offset <= file.size() && bytes >= 4 && bytes <= file.size() - offset &&
         file[offset] == 0xFF && file[offset + 1] == 0xD8;
}

/// Whether a further image lies behind the index and overlaps none of `others`, the first one not
/// counted: some writers state its size wrongly, and nothing reads it by this index. An offset of 0
/// repeats the first image.
bool lies_apart(const MpfImage& image, std::size_t index_offset,
                const std::vector<MpfImage>& others) {
  if (image.offset == 0) return true;
  if (image.offset < index_offset) return false;
  return std::none_of(others.begin() + 1, others.end(), [&](const MpfImage& other) {
    return other.offset != 0 && image.offset < other.offset + other.bytes &&
           other.offset < image.offset + image.bytes;
  });
}

MpfImage read_image(const TiffView& view, std::size_t at, std::size_t tiff_offset) {
  MpfImage image;
  image.attributes = view.u32(at);
  image.bytes = view.u32(at + 4);
  const std::size_t relative = view.u32(at + 8);
  image.offset = relative == 0 ? 0 : tiff_offset + relative;
  return image;
}

void append_entry(Bytes& out, std::uint16_t tag, TiffType type, std::uint32_t count,
                  std::uint32_t value) {
  append_u16(out, tag);
  append_u16(out, static_cast<std::uint16_t>(type));
  append_u32(out, count);
  append_u32(out, value);
}

}  // namespace

MpfIndex read_mpf(ByteSpan payload, std::size_t payload_offset, ByteSpan file) {
  MpfIndex index;
  const auto view = TiffView::open(payload.subspan(std::min(kMpfId.size(), payload.size())));
  const auto directory =
      view ? view->directory(view->first_directory_offset()) : std::optional<TiffDirectory>();
  const TiffEntry* entries = directory ? directory->find(kEntriesTag) : nullptr;
  if (entries == nullptr || entries->value_bytes < kMpEntryBytes) {
    index.problem = "an MP index without entries";
    return index;
  }
  const std::size_t tiff_offset = payload_offset + kMpfId.size();
  const std::size_t listed = entries->value_bytes / kMpEntryBytes;
  if (listed > kMaxMpfImages) {
    index.problem =
        fmt::format("an MP index of {} images; the first {} are read", listed, kMaxMpfImages);
  }
  for (std::size_t i = 0; i < std::min(listed, kMaxMpfImages); ++i) {
    auto image = read_image(*view, entries->value_offset + i * kMpEntryBytes, tiff_offset);
    if (i == 0) image.bytes = std::min(image.bytes, file.size());
    const bool there = is_jpeg_at(file, image.offset, image.bytes);
    if (there && (i == 0 || lies_apart(image, payload_offset, index.images))) {
      index.images.push_back(image);
      continue;
    }
    index.problem = fmt::format("image {} of the MP index, {} bytes at {}, {}", i, image.bytes,
                                image.offset, there ? "overlaps another one" : "is not there");
    if (i == 0) return index;
  }
  return index;
}

Bytes make_mpf(std::size_t payload_offset, std::size_t primary_bytes, std::size_t gain_map_bytes) {
  constexpr std::uint32_t kDirectoryOffset = 8;
  constexpr std::uint32_t kEntriesOffset = kDirectoryOffset + 2 + 3 * 12 + 4;
  const std::size_t tiff_offset = payload_offset + kMpfId.size();
  Bytes out;
  append_text(out, kMpfId);
  append_text(out, "MM");
  append_u16(out, 42);
  append_u32(out, kDirectoryOffset);
  append_u16(out, 3);
  append_entry(out, kVersionTag, TiffType::kUndefined, 4, 0x30313030);  // "0100"
  append_entry(out, kImageCountTag, TiffType::kLong, 1, 2);
  append_entry(out, kEntriesTag, TiffType::kUndefined, 2 * kMpEntryBytes, kEntriesOffset);
  append_u32(out, 0);
  append_u32(out, kPrimaryAttributes);
  append_u32(out, static_cast<std::uint32_t>(primary_bytes));
  append_u32(out, 0);
  append_u32(out, 0);
  append_u32(out, 0);
  append_u32(out, static_cast<std::uint32_t>(gain_map_bytes));
  append_u32(out, static_cast<std::uint32_t>(primary_bytes - tiff_offset));
  append_u32(out, 0);
  return out;
}

}  // namespace framewire::jpeg
