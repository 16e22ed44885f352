#include <algorithm>
#include <jpeg/exif.hpp>
#include <jpeg/exif_tags.hpp>
#include <jpeg/tiff.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::uint32_t kUncalibrated = 0xFFFF;
constexpr std::string_view kDcfOptional = "R03";
constexpr std::size_t kMaxBlockBytes = 65533 - 6;  // a segment's payload less kExifId

std::string ascii(const TiffView& view, const TiffDirectory& directory, std::uint16_t tag) {
  const TiffEntry* entry = directory.find(tag);
  if (entry == nullptr || entry->type != static_cast<std::uint16_t>(TiffType::kAscii)) return {};
  std::string text(as_text(view.block().subspan(entry->value_offset, entry->value_bytes)));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::optional<TiffDirectory> directory_behind(const TiffView& view, const TiffDirectory& from,
                                              std::uint16_t tag) {
  const TiffEntry* entry = from.find(tag);
  const auto offset = entry == nullptr ? std::optional<std::uint32_t>() : view.number(*entry);
  return offset ? view.directory(*offset) : std::nullopt;
}

/// CIPA DC-008, 4.6.5.A and DCF 2.0 (CIPA DC-009), 3.4: three directories, none of them twice.
bool says_adobe_rgb(const TiffView& view, const TiffDirectory& first) {
  const auto exif = directory_behind(view, first, exif_tag::kExifDirectory);
  if (!exif) return false;
  const TiffEntry* space = exif->find(exif_tag::kColorSpace);
  if (space == nullptr || view.number(*space) != kUncalibrated) return false;
  const auto interoperability = directory_behind(view, *exif, exif_tag::kInteropDirectory);
  return interoperability &&
         ascii(view, *interoperability, exif_tag::kInteropIndex) == kDcfOptional;
}

/// One ASCII entry; the text goes to `data`, which starts at `data_offset`, unless it fits inline.
void append_ascii(Bytes& directory, Bytes& data, std::size_t data_offset, std::uint16_t tag,
                  const std::string& text) {
  append_u16(directory, tag);
  append_u16(directory, static_cast<std::uint16_t>(TiffType::kAscii));
  const std::size_t bytes = text.size() + 1;
  append_u32(directory, static_cast<std::uint32_t>(bytes));
  if (bytes <= 4) {
    append_text(directory, text);
    directory.resize(directory.size() + 4 - text.size());
    return;
  }
  append_u32(directory, static_cast<std::uint32_t>(data_offset + data.size()));
  append_text(data, text);
  data.resize(data.size() + (bytes % 2 == 0 ? 1 : 2));  // the final zero, and an even next offset
}

}  // namespace

std::optional<ExifSummary> read_exif(ByteSpan block) {
  const auto view = TiffView::open(block);
  if (!view) return std::nullopt;
  const auto directory = view->directory(view->first_directory_offset());
  if (!directory) return std::nullopt;
  ExifSummary summary;
  if (const TiffEntry* entry = directory->find(exif_tag::kOrientation)) {
    const std::uint32_t value = view->number(*entry).value_or(1);
    if (value >= 1 && value <= 8) summary.orientation = static_cast<int>(value);
  }
  summary.artist = ascii(*view, *directory, exif_tag::kArtist);
  summary.copyright = ascii(*view, *directory, exif_tag::kCopyright);
  summary.adobe_rgb = says_adobe_rgb(*view, *directory);
  return summary;
}

Bytes make_exif(const ExifSummary& summary) {
  const bool turned = summary.orientation != 1;
  const std::uint32_t entries = (turned ? 1u : 0u) + (summary.artist.empty() ? 0u : 1u) +
                                (summary.copyright.empty() ? 0u : 1u);
  if (entries == 0) return {};
  Bytes block;
  append_text(block, "MM");
  append_u16(block, 42);
  append_u32(block, 8);
  append_u16(block, entries);
  const std::size_t data_offset = block.size() + entries * 12 + 4;
  Bytes data;
  if (turned) {
    append_u16(block, exif_tag::kOrientation);
    append_u16(block, static_cast<std::uint16_t>(TiffType::kShort));
    append_u32(block, 1);
    append_u16(block, static_cast<std::uint32_t>(summary.orientation));
    append_u16(block, 0);
  }
  if (!summary.artist.empty()) {
    append_ascii(block, data, data_offset, exif_tag::kArtist, summary.artist);
  }
  if (!summary.copyright.empty()) {
    append_ascii(block, data, data_offset, exif_tag::kCopyright, summary.copyright);
  }
  append_u32(block, 0);
  append_bytes(block, data);
  return block.size() > kMaxBlockBytes ? Bytes{} : block;
}

}  // namespace framewire::jpeg
