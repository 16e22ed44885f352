#include <algorithm>
#include <jpeg/tiff.hpp>

namespace framewire::jpeg {
namespace {

std::size_t type_bytes(std::uint16_t type) noexcept {
  switch (type) {
    case 1:
    case 2:
    case 6:
    case 7:
      return 1;
    case 3:
    case 8:
      return 2;
    case 4:
    case 9:
    case 11:
    case 13:
      return 4;
    case 5:
    case 10:
    case 12:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

const TiffEntry* TiffDirectory::find(std::uint16_t tag) const noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [tag](const TiffEntry& entry) { return entry.tag == tag; });
  return found == entries.end() ? nullptr : &*found;
}

std::optional<TiffView> TiffView::open(ByteSpan block) noexcept {
  TiffView view;
  view.block_ = block;
  if (block.size() < 8 || block[0] != block[1] || (block[0] != 'I' && block[0] != 'M')) {
    return std::nullopt;
  }
  view.little_endian_ = block[0] == 'I';
  if (view.u16(2) != 42) return std::nullopt;
  return view;
}

std::uint16_t TiffView::u16(std::size_t at) const noexcept {
  const std::uint16_t value = read_u16(block_, at);
  return little_endian_ ? static_cast<std::uint16_t>(value >> 8 | value << 8) : value;
}

std::uint32_t TiffView::u32(std::size_t at) const noexcept {
  const auto a = static_cast<std::uint32_t>(u16(at));
  const auto b = static_cast<std::uint32_t>(u16(at + 2));
  return little_endian_ ? b << 16 | a : a << 16 | b;
}

std::optional<TiffDirectory> TiffView::directory(std::size_t offset,
                                                 std::size_t header_bytes) const {
  if (offset < header_bytes || offset > block_.size() || block_.size() - offset < 2) {
    return std::nullopt;
  }
  TiffDirectory result;
  const std::size_t declared = u16(offset);
  const std::size_t there = (block_.size() - offset - 2) / kTiffEntryBytes;
  const std::size_t count = std::min(declared, there);
  result.damaged = count < declared;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = offset + 2 + i * kTiffEntryBytes;
    TiffEntry entry{u16(at), u16(at + 2), u32(at + 4), at + 8, 0};
    const std::uint64_t bytes = std::uint64_t{type_bytes(entry.type)} * entry.count;
    if (bytes > 4) entry.value_offset = u32(at + 8);
    if (bytes == 0 || bytes > block_.size() || entry.value_offset > block_.size() - bytes) {
      result.damaged = true;
      continue;
    }
    entry.value_bytes = static_cast<std::size_t>(bytes);
    result.entries.push_back(entry);
  }
  result.end_offset = offset + 2 + count * kTiffEntryBytes;
  if (!result.damaged || count == declared) {
    if (block_.size() - result.end_offset >= 4) {
      result.next_field_offset = result.end_offset;
      result.next_offset = u32(result.end_offset);
      result.end_offset += 4;
    }
  }
  return result;
}

std::optional<std::uint32_t> TiffView::number(const TiffEntry& entry,
                                              std::uint32_t index) const noexcept {
  if (index >= entry.count) return std::nullopt;
  const auto at = [&](std::size_t bytes) { return entry.value_offset + index * bytes; };
  switch (static_cast<TiffType>(entry.type)) {
    case TiffType::kByte:
      return block_[at(1)];
    case TiffType::kShort:
      return u16(at(2));
    case TiffType::kLong:
    case TiffType::kIfd:
      return u32(at(4));
    default:
      return std::nullopt;
  }
}

}  // namespace framewire::jpeg
