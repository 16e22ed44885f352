// Corrects a copied EXIF block where it lies, and takes its thumbnail out.
#include <algorithm>
#include <array>
#include <jpeg/exif.hpp>
#include <jpeg/tiff.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::uint16_t kImageWidth = 0x0100;
constexpr std::uint16_t kImageLength = 0x0101;
constexpr std::uint16_t kOrientation = 0x0112;
constexpr std::uint16_t kThumbnailOffset = 0x0201;
constexpr std::uint16_t kThumbnailBytes = 0x0202;
constexpr std::uint16_t kStripOffsets = 0x0111;
constexpr std::uint16_t kStripBytes = 0x0117;
constexpr std::uint16_t kExifDirectory = 0x8769;
constexpr std::uint16_t kGpsDirectory = 0x8825;
constexpr std::uint16_t kColorSpace = 0xA001;
constexpr std::uint16_t kPixelXDimension = 0xA002;
constexpr std::uint16_t kPixelYDimension = 0xA003;
constexpr std::uint16_t kInteropDirectory = 0xA005;
constexpr std::uint16_t kSrgb = 1;

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

void put(Bytes& block, bool little_endian, std::size_t at, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    const int shift = 8 * (little_endian ? i : bytes - 1 - i);
    block[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> shift);
  }
}

/// Overwrites a BYTE, SHORT or LONG, if the directory has it.
void set_number(Bytes& block, const TiffView& view, const TiffDirectory& directory,
                std::uint16_t tag, std::uint32_t value) {
  const TiffEntry* entry = directory.find(tag);
  if (entry == nullptr) return;
  if (entry->type == static_cast<std::uint16_t>(TiffType::kByte) && value < 256) {
    put(block, view.little_endian(), entry->value_offset, value, 1);
  } else if (entry->type == static_cast<std::uint16_t>(TiffType::kShort)) {
    put(block, view.little_endian(), entry->value_offset, value, 2);
  } else if (entry->type == static_cast<std::uint16_t>(TiffType::kLong)) {
    put(block, view.little_endian(), entry->value_offset, value, 4);
  }
}

void add_ranges(const TiffDirectory& directory, std::size_t offset, std::vector<Range>& ranges) {
  ranges.push_back({offset, directory.end_offset});
  for (const auto& entry : directory.entries) {
    ranges.push_back({entry.value_offset, entry.value_offset + entry.value_bytes});
  }
}

/// The directory that an entry points to.
std::optional<TiffDirectory> child(const TiffView& view, const TiffDirectory& parent,
                                   std::uint16_t tag, std::vector<Range>& ranges) {
  const TiffEntry* entry = parent.find(tag);
  if (entry == nullptr) return std::nullopt;
  const auto offset = view.number(*entry);
  if (!offset) return std::nullopt;
  auto directory = view.directory(*offset);
  if (directory) add_ranges(*directory, *offset, ranges);
  return directory;
}

/// Where the picture of a thumbnail directory lies, cut at the block's end.
std::optional<Range> picture_range(const TiffView& view, const TiffDirectory& directory,
                                   std::uint16_t offset_tag, std::uint16_t bytes_tag) {
  const TiffEntry* offset_entry = directory.find(offset_tag);
  const TiffEntry* bytes_entry = directory.find(bytes_tag);
  if (offset_entry == nullptr || bytes_entry == nullptr) return std::nullopt;
  const std::size_t begin = view.number(*offset_entry).value_or(0);
  const std::size_t bytes = view.number(*bytes_entry).value_or(0);
  if (begin >= view.block().size()) return std::nullopt;
  return Range{begin, begin + std::min(bytes, view.block().size() - begin)};
}

std::vector<bool> covered(const std::vector<Range>& ranges, std::size_t size) {
  std::vector<bool> mask(size, false);
  for (const auto& range : ranges) {
    std::fill(mask.begin() + static_cast<std::ptrdiff_t>(range.begin),
              mask.begin() + static_cast<std::ptrdiff_t>(range.end), true);
  }
  return mask;
}

/// Takes away what only the thumbnail uses: cuts it off the end, zeroes what lies in between.
void remove_thumbnail(Bytes& block, const TiffView& view, const TiffDirectory& main,
                      const std::vector<Range>& kept) {
  put(block, view.little_endian(), main.next_field_offset, 0, 4);
  std::vector<Range> dropped;
  if (const auto thumbnail = view.directory(main.next_offset)) {
    add_ranges(*thumbnail, main.next_offset, dropped);
    for (const auto tags :
         {std::array{kThumbnailOffset, kThumbnailBytes}, std::array{kStripOffsets, kStripBytes}}) {
      if (const auto range = picture_range(view, *thumbnail, tags[0], tags[1])) {
        dropped.push_back(*range);
      }
    }
  }
  const auto used = covered(kept, block.size());
  const auto doomed = covered(dropped, block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (doomed[i] && !used[i]) block[i] = 0;
  }
  std::size_t end = 8;
  for (const auto& range : kept) end = std::max(end, range.end);
  // Bytes that nobody points to stay, unless they follow the thumbnail: some belong to maker notes.
  const bool thumbnail_is_last =
      std::any_of(dropped.begin(), dropped.end(), [end](const Range& r) { return r.begin >= end; });
  if (thumbnail_is_last) block.resize(end);
}

}  // namespace

Bytes rewrite_exif(ByteSpan original, const ExifChanges& changes) {
  const auto view = TiffView::open(original);
  if (!view) return {};
  const std::uint32_t main_offset = view->first_directory_offset();
  const auto main = view->directory(main_offset);
  if (!main) return {};
  Bytes block(original.begin(), original.end());
  std::vector<Range> kept{{0, 8}};
  add_ranges(*main, main_offset, kept);
  if (changes.upright) set_number(block, *view, *main, kOrientation, 1);
  const auto width = static_cast<std::uint32_t>(changes.width_px);
  const auto height = static_cast<std::uint32_t>(changes.height_px);
  set_number(block, *view, *main, kImageWidth, width);
  set_number(block, *view, *main, kImageLength, height);
  child(*view, *main, kGpsDirectory, kept);
  if (const auto exif = child(*view, *main, kExifDirectory, kept)) {
    set_number(block, *view, *exif, kPixelXDimension, width);
    set_number(block, *view, *exif, kPixelYDimension, height);
    if (changes.is_srgb) set_number(block, *view, *exif, kColorSpace, kSrgb);
    child(*view, *exif, kInteropDirectory, kept);
  }
  if (main->next_field_offset != 0 && main->next_offset != 0) {
    remove_thumbnail(block, *view, *main, kept);
  }
  // In a hostile block a value may lie inside a directory, which changing it has broken.
  if (!read_exif(block)) return {};
  return block;
}

}  // namespace framewire::jpeg
