#include <algorithm>
#include <array>
#include <jpeg/tiff_edit.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::uint16_t kStripOffsets = 0x0111;
constexpr std::uint16_t kStripBytes = 0x0117;
constexpr std::uint16_t kPictureOffset = 0x0201;
constexpr std::uint16_t kPictureBytes = 0x0202;

/// How many entries of a directory lie inside the block.
std::size_t entry_count(ByteSpan block, const TiffPlace& place) {
  if (place.at > block.size() || block.size() - place.at < 2) return 0;
  return std::min<std::size_t>(TiffView(block, place.little_endian).u16(place.at),
                               (block.size() - place.at - 2) / kTiffEntryBytes);
}

}  // namespace

void put_number(Bytes& block, bool little_endian, std::size_t at, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    const int shift = 8 * (little_endian ? i : bytes - 1 - i);
    block[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> shift);
  }
}

std::optional<std::size_t> entry_position(ByteSpan block, const TiffPlace& place,
                                          std::uint16_t tag) {
  const TiffView view(block, place.little_endian);
  for (std::size_t i = 0; i < entry_count(block, place); ++i) {
    const std::size_t at = place.at + 2 + i * kTiffEntryBytes;
    if (view.u16(at) == tag) return at;
  }
  return std::nullopt;
}

void remove_entry(Bytes& block, const TiffPlace& place, std::uint16_t tag) {
  const auto at = entry_position(block, place, tag);
  if (!at) return;
  const std::size_t count = entry_count(block, place);
  const std::size_t end = place.at + 2 + count * kTiffEntryBytes;
  const std::size_t link_end = std::min(end + 4, block.size());
  const auto position = [&](std::size_t offset) {
    return block.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  std::copy(position(*at + kTiffEntryBytes), position(link_end), position(*at));
  // The offset stays where it was too: in some maker notes these four bytes are something else.
  std::fill(position(link_end - kTiffEntryBytes), position(end), std::uint8_t{0});
  put_number(block, place.little_endian, place.at, static_cast<std::uint32_t>(count - 1), 2);
}

void retire_entry(Bytes& block, const TiffPlace& place, std::uint16_t tag) {
  constexpr std::uint16_t kNobodys = 0xFFFF;
  const auto at = entry_position(block, place, tag);
  if (!at) return;
  const auto put = [&](std::size_t offset, std::uint32_t value, int bytes) {
    put_number(block, place.little_endian, *at + offset, value, bytes);
  };
  const TiffView view(ByteSpan(block).subspan(std::min(place.base, block.size())),
                      place.little_endian);
  const auto directory =
      place.at < place.base ? std::nullopt : view.directory(place.at - place.base, 0);
  const TiffEntry* entry = directory ? directory->find(tag) : nullptr;
  put(0, kNobodys, 2);
  if (entry != nullptr && entry->value_bytes > 4) return;
  put(2, static_cast<std::uint32_t>(TiffType::kUndefined), 2);
  put(4, 4, 4);
  put(8, 0, 4);
}

std::vector<ByteRange> picture_ranges(const TiffView& view, const TiffDirectory& directory) {
  std::vector<ByteRange> ranges;
  for (const auto& tags :
       {std::array{kPictureOffset, kPictureBytes}, std::array{kStripOffsets, kStripBytes}}) {
    const TiffEntry* offsets = directory.find(tags[0]);
    const TiffEntry* sizes = directory.find(tags[1]);
    if (offsets == nullptr || sizes == nullptr) continue;
    for (std::uint32_t i = 0; i < std::min(offsets->count, sizes->count); ++i) {
      const std::size_t begin = view.number(*offsets, i).value_or(0);
      const std::size_t bytes = view.number(*sizes, i).value_or(0);
      if (begin >= view.block().size()) continue;
      ranges.push_back({begin, begin + std::min(bytes, view.block().size() - begin)});
    }
  }
  return ranges;
}

std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> out;
  for (const auto& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!out.empty() && range.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

}  // namespace framewire::jpeg
