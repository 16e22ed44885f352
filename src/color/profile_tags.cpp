#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <color/profile_tags.hpp>
#include <jpeg/bytes.hpp>
#include <optional>
#include <string_view>

namespace framewire::color {
namespace {

using jpeg::ByteSpan;
using jpeg::read_u16;
using jpeg::read_u32;

constexpr std::size_t kTableOffset = kProfileHeaderBytes + 4;
constexpr std::size_t kEntryBytes = 12;
constexpr std::uint64_t kOutputs = 3;  // XYZ or Lab

constexpr std::uint32_t signature(const char (&text)[5]) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(text[i]);
  return value;
}

enum class Content : std::uint8_t { kTable, kCurve, kColorant };
struct KeptTag {
  std::uint32_t name;
  Content content;
};
/// Tags that LittleCMS reads for a conversion with perceptual intent and black point compensation.
/// AToB1 is read only for the black point of a version 4 profile that has a matrix too.
constexpr KeptTag kKept[] = {
    {signature("A2B0"), Content::kTable},    {signature("A2B1"), Content::kTable},
    {signature("rTRC"), Content::kCurve},    {signature("gTRC"), Content::kCurve},
    {signature("bTRC"), Content::kCurve},    {signature("kTRC"), Content::kCurve},
    {signature("rXYZ"), Content::kColorant}, {signature("gXYZ"), Content::kColorant},
    {signature("bXYZ"), Content::kColorant}};

struct Tag {
  std::uint32_t name = 0;
  Content content = Content::kTable;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t moved_to = 0;

  [[nodiscard]] std::size_t end() const { return offset + bytes; }
  [[nodiscard]] bool same_range(const Tag& o) const {
    return offset == o.offset && bytes == o.bytes;
  }
};

std::string name_of(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const char c = static_cast<char>(value >> shift & 0xFF);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

tl::unexpected<Status> damaged(const Tag& tag, std::string_view found) {
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("tag {} of the ICC profile {}", name_of(tag.name), found))
                  .at(tag.offset));
}

tl::unexpected<Status> too_large(const Tag& tag, std::string_view what, std::uint64_t found,
                                 std::uint64_t limit) {
  return fail(Status(StatusCode::kTooLarge,
                     fmt::format("tag {} of the ICC profile has {} {}; at most {} are read",
                                 name_of(tag.name), found, what, limit))
                  .at(tag.offset));
}

/// Checks the curve that `data` begins with. @return its bytes
Result<std::size_t> check_curve(const Tag& tag, ByteSpan data) {
  constexpr std::array<std::size_t, 5> kParameters{1, 3, 4, 5, 7};
  // The type that a broken writer gives its curves; LittleCMS has this name for it.
  constexpr std::uint32_t kMonacoCurve = 0x9478EE00;
  if (data.size() < 12) return damaged(tag, "ends inside a curve");
  const std::uint32_t type = read_u32(data, 0);
  std::size_t bytes = 12;
  if (type == signature("curv") || type == kMonacoCurve) {
    const std::uint32_t count = read_u32(data, 8);
    if (count > kMaxCurveEntries) return too_large(tag, "curve entries", count, kMaxCurveEntries);
    bytes += std::size_t{2} * count;
  } else if (type == signature("para")) {
    const std::size_t kind = read_u16(data, 8);
    if (kind >= kParameters.size()) return damaged(tag, "has a parametric curve of unknown kind");
    bytes += 4 * kParameters[kind];
  } else {
    return damaged(tag, "has something other than a curve where one belongs");
  }
  if (bytes > data.size()) return damaged(tag, "ends inside a curve");
  return bytes;
}

/// Nodes × outputs of a table, whose sides are `grid`.
Result<std::uint64_t> count_entries(const Tag& tag, ByteSpan grid) {
  std::uint64_t entries = kOutputs;
  for (const std::uint8_t side : grid) {
    if (side < 2) return damaged(tag, "has a lookup table with fewer than two nodes an axis");
    entries *= side;
    if (entries > kMaxTableEntries) {
      return too_large(tag, "lookup table entries or more", entries, kMaxTableEntries);
    }
  }
  return entries;
}

/// lut8Type and lut16Type, ICC.1 10.10 and 10.11.
Result<void> check_plain_table(const Tag& tag, ByteSpan data, std::size_t inputs, bool wide) {
  const std::size_t head = wide ? 52 : 48;
  if (data.size() < head) return damaged(tag, "ends inside a lookup table's header");
  const std::uint64_t before = wide ? read_u16(data, 48) : 256;
  const std::uint64_t behind = wide ? read_u16(data, 50) : 256;
  if (std::max(before, behind) > kMaxCurveEntries) {
    return too_large(tag, "curve entries", std::max(before, behind), kMaxCurveEntries);
  }
  std::uint64_t entries = 0;
  if (data[10] != 0) {  // without nodes there are only curves
    std::array<std::uint8_t, 4> grid;
    grid.fill(data[10]);
    const auto counted = count_entries(tag, ByteSpan(grid).first(inputs));
    if (!counted) return fail(counted.error());
    entries = *counted;
  }
  const std::uint64_t samples = before * inputs + entries + behind * kOutputs;
  if (head + samples * (wide ? 2 : 1) > data.size()) {
    return damaged(tag, "ends inside a lookup table");
  }
  return {};
}

/// `count` curves one behind the other, each from a multiple of 4 on.
Result<void> check_curves(const Tag& tag, ByteSpan data, std::size_t offset, std::size_t count) {
  for (; count > 0; --count) {
    if (offset > data.size()) return damaged(tag, "ends before its curves");
    const auto bytes = check_curve(tag, data.subspan(offset));
    if (!bytes) return fail(bytes.error());
    offset += (*bytes + 3) / 4 * 4;
  }
  return {};
}

/// lutAToBType, ICC.1 10.12.
Result<void> check_staged_table(const Tag& tag, ByteSpan data, std::size_t inputs) {
  constexpr std::size_t kMatrixBytes = 48;
  constexpr std::size_t kGridBytes = 20;
  if (data.size() < 32) return damaged(tag, "ends inside a lookup table's header");
  const std::size_t after = read_u32(data, 12), matrix = read_u32(data, 16);
  const std::size_t between = read_u32(data, 20), grid = read_u32(data, 24);
  const std::size_t before = read_u32(data, 28);
  for (const auto& [offset, count] :
       {std::pair{after, kOutputs}, {between, kOutputs}, {before, std::uint64_t{inputs}}}) {
    if (offset != 0) {
      if (auto ok = check_curves(tag, data, offset, count); !ok) return ok;
    }
  }
  if (matrix != 0 && (matrix > data.size() || data.size() - matrix < kMatrixBytes)) {
    return damaged(tag, "ends before its matrix");
  }
  if (grid == 0) return {};
  if (grid > data.size() || data.size() - grid < kGridBytes) {
    return damaged(tag, "ends before its lookup table");
  }
  const auto entries = count_entries(tag, data.subspan(grid, inputs));
  if (!entries) return fail(entries.error());
  const std::uint64_t width = data[grid + 16];
  if (width != 1 && width != 2) return damaged(tag, "has samples of neither 1 nor 2 bytes");
  if (*entries * width > data.size() - grid - kGridBytes) {
    return damaged(tag, "ends inside a lookup table");
  }
  return {};
}

Result<void> check_table(const Tag& tag, ByteSpan data, std::size_t inputs) {
  if (data.size() < 12) return damaged(tag, "ends inside its header");
  if (data[8] != inputs || data[9] != kOutputs) {
    return damaged(tag, "has another number of channels than the profile");
  }
  const std::uint32_t type = read_u32(data, 0);
  if (type == signature("mft1")) return check_plain_table(tag, data, inputs, false);
  if (type == signature("mft2")) return check_plain_table(tag, data, inputs, true);
  if (type == signature("mAB ")) return check_staged_table(tag, data, inputs);
  return damaged(tag, "is no lookup table; mft1, mft2 and mAB are read");
}

Result<void> check_content(const Tag& tag, ByteSpan data, std::size_t inputs) {
  if (tag.content == Content::kTable) return check_table(tag, data, inputs);
  if (tag.content == Content::kCurve) {
    const auto bytes = check_curve(tag, data);
    if (!bytes) return fail(bytes.error());
    return {};
  }
  if (data.size() < 20) return damaged(tag, "ends inside a colour");
  return {};
}

/// Number of device channels; 0 for colour spaces that no JPEG has.
std::size_t channels_of(std::uint32_t space) {
  if (space == signature("GRAY")) return 1;
  if (space == signature("RGB ")) return 3;
  return space == signature("CMYK") ? 4 : 0;
}

/// The kept tags; of tags with the same signature, the first.
Result<std::vector<Tag>> find_tags(ByteSpan icc) {
  const std::uint32_t count = read_u32(icc, kProfileHeaderBytes);
  if (count > kMaxProfileTags) {
    return fail(Status(StatusCode::kTooLarge, fmt::format("an ICC profile of {} tags; at most {} "
                                                          "are read",
                                                          count, kMaxProfileTags))
                    .at(kProfileHeaderBytes));
  }
  const std::size_t data_offset = kTableOffset + std::size_t{count} * kEntryBytes;
  if (data_offset > icc.size()) {
    return fail(Status(StatusCode::kInvalidInput, "the ICC profile ends inside its tag table")
                    .at(kProfileHeaderBytes));
  }
  std::vector<Tag> tags;
  for (std::size_t at = kTableOffset; at < data_offset; at += kEntryBytes) {
    Tag tag{read_u32(icc, at), {}, read_u32(icc, at + 4), read_u32(icc, at + 8), 0};
    const auto kept = std::find_if(std::begin(kKept), std::end(kKept),
                                   [&](const KeptTag& k) { return k.name == tag.name; });
    const auto same_name = [&](const Tag& other) { return other.name == tag.name; };
    if (kept == std::end(kKept) || std::any_of(tags.begin(), tags.end(), same_name)) continue;
    if (tag.offset < data_offset || tag.offset > icc.size() ||
        tag.bytes > icc.size() - tag.offset) {
      return damaged(tag, "lies outside it");
    }
    for (const Tag& other : tags) {
      if (!tag.same_range(other) && tag.offset < other.end() && other.offset < tag.end()) {
        return damaged(tag, "overlaps another");
      }
    }
    tag.content = kept->content;
    tags.push_back(tag);
  }
  return tags;
}

/// The bytes of a tag that count: a curve or colour ends with its last number, and the four bytes
/// behind a type's name are reserved.
std::vector<std::uint8_t> canonical_bytes(ByteSpan icc, const Tag& tag) {
  constexpr std::size_t kColorantBytes = 20;
  constexpr std::ptrdiff_t kReserved = 4;
  const ByteSpan data = icc.subspan(tag.offset, tag.bytes);
  if (tag.content == Content::kTable) return {data.begin(), data.end()};
  std::size_t bytes = kColorantBytes;
  if (tag.content == Content::kCurve) {
    if (const auto counted = check_curve(tag, data)) bytes = *counted;
  }
  std::vector<std::uint8_t> kept(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes));
  std::fill_n(kept.begin() + kReserved, 4, std::uint8_t{0});
  return kept;
}

/// The header's fields that LittleCMS goes by: version, class, colour space, connection space, and
/// the signature that every profile has (ICC.1, 7.2).
std::vector<std::uint8_t> canonical_header(ByteSpan icc) {
  constexpr std::ptrdiff_t kVersion = 8, kBehindSpaces = 24, kMagic = 36, kBehindMagic = 40;
  std::vector<std::uint8_t> header(kProfileHeaderBytes);
  std::copy(icc.begin() + kVersion, icc.begin() + kBehindSpaces, header.begin() + kVersion);
  std::copy(icc.begin() + kMagic, icc.begin() + kBehindMagic, header.begin() + kMagic);
  return header;
}

std::vector<std::uint8_t> write_profile(ByteSpan icc, std::vector<Tag>& tags) {
  std::sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) { return a.name < b.name; });
  std::vector<std::uint8_t> out = canonical_header(icc);
  std::size_t most = kTableOffset + tags.size() * kEntryBytes;
  for (const Tag& tag : tags) most += tag.bytes + 3;
  out.reserve(most);
  out.resize(kTableOffset + tags.size() * kEntryBytes);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::vector<std::uint8_t> data = canonical_bytes(icc, tags[i]);
    tags[i].bytes = data.size();
    const auto end = tags.begin() + static_cast<std::ptrdiff_t>(i);
    const auto shared = std::find_if(tags.begin(), end, [&](const Tag& other) {
      return other.bytes == data.size() &&
             std::equal(data.begin(), data.end(),
                        out.begin() + static_cast<std::ptrdiff_t>(other.moved_to));
    });
    tags[i].moved_to = shared != end ? shared->moved_to : out.size();
    if (shared != end) continue;
    jpeg::append_bytes(out, data);
    out.resize((out.size() + 3) / 4 * 4);
  }
  std::vector<std::uint8_t> numbers;
  jpeg::append_u32(numbers, static_cast<std::uint32_t>(tags.size()));
  for (const Tag& tag : tags) {
    jpeg::append_u32(numbers, tag.name);
    jpeg::append_u32(numbers, static_cast<std::uint32_t>(tag.moved_to));
    jpeg::append_u32(numbers, static_cast<std::uint32_t>(tag.bytes));
  }
  std::copy(numbers.begin(), numbers.end(), out.begin() + kProfileHeaderBytes);
  numbers.clear();
  jpeg::append_u32(numbers, static_cast<std::uint32_t>(out.size()));
  std::copy(numbers.begin(), numbers.end(), out.begin());
  return out;
}

}  // namespace

Result<std::vector<std::uint8_t>> reduce_profile(std::span<const std::uint8_t> icc) {
  if (icc.size() > kMaxProfileBytes) {
    return fail(StatusCode::kTooLarge, fmt::format("an ICC profile of {} bytes; at most {} are "
                                                   "read",
                                                   icc.size(), kMaxProfileBytes));
  }
  if (icc.size() < kTableOffset) {
    return fail(StatusCode::kInvalidInput, "an ICC profile shorter than its header");
  }
  const std::size_t inputs = channels_of(read_u32(icc, kProfileSpaceOffset));
  if (inputs == 0) {
    return fail(Status(StatusCode::kInvalidInput,
                       "the ICC profile is for neither gray, RGB nor "
                       "CMYK")
                    .at(kProfileSpaceOffset));
  }
  auto tags = find_tags(icc);
  if (!tags) return fail(tags.error());
  for (const Tag& tag : *tags) {
    if (auto ok = check_content(tag, icc.subspan(tag.offset, tag.bytes), inputs); !ok) {
      return fail(ok.error());
    }
  }
  return write_profile(icc, *tags);
}

}  // namespace framewire::color
