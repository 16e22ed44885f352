#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <dataset/tar/header.hpp>
#include <string_view>

namespace framewire::dataset::tar {
namespace {

/// A field of the header block.
struct TarField {
  std::string_view title;
  std::size_t offset;
  std::size_t bytes;
};
constexpr TarField kName{"name", 0, 100};
constexpr TarField kMode{"mode", 100, 8};
constexpr TarField kUser{"uid", 108, 8};
constexpr TarField kGroup{"gid", 116, 8};
constexpr TarField kSize{"size", 124, 12};
constexpr TarField kMtime{"mtime", 136, 12};
constexpr TarField kChecksum{"chksum", 148, 8};
constexpr TarField kType{"typeflag", 156, 1};
constexpr TarField kMagic{"magic", 257, 8};
constexpr TarField kUserName{"uname", 265, 32};
constexpr TarField kGroupName{"gname", 297, 32};
constexpr TarField kPrefix{"prefix", 345, 155};
/// GNU's old sparse format: whether a further block of holes follows.
constexpr std::size_t kSparseMoreOffset = 482;

constexpr std::string_view kUstar{
    "ustar\0"
    "00",
    8};

std::span<const std::uint8_t> field_of(TarBlock block, const TarField& field) {
  return block.subspan(field.offset, field.bytes);
}

// Text ends at NUL or with its field.
std::string text_of(TarBlock block, const TarField& field) {
  const auto bytes = field_of(block, field);
  const auto end = std::ranges::find(bytes, std::uint8_t{0});
  return {bytes.begin(), end};
}

tl::unexpected<Status> wrong_number(const TarField& field, std::string_view found) {
  return fail(StatusCode::kInvalidInput,
              fmt::format("the header's {} {}; accepted: an octal number", field.title, found));
}

// GNU's base 256: two's complement, big endian, the first bit set.
Result<std::int64_t> base256_of(std::span<const std::uint8_t> bytes, const TarField& field) {
  const bool negative = (bytes[0] & 0x40) != 0;
  std::int64_t value = negative ? -1 : 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // The flag and the sign share the first byte.
    const auto byte = static_cast<std::uint8_t>(i != 0     ? bytes[i]
                                                : negative ? bytes[i] | 0x80
                                                           : bytes[i] & 0x7F);
    if (value > (INT64_MAX >> 8) || value < (INT64_MIN >> 8)) {
      return wrong_number(field, "is beyond 64 bits");
    }
    value = value * 256 + byte;
  }
  return value;
}

Result<std::int64_t> number_of(TarBlock block, const TarField& field) {
  const auto bytes = field_of(block, field);
  if ((bytes[0] & 0x80) != 0) return base256_of(bytes, field);
  std::size_t i = 0;
  while (i < bytes.size() && bytes[i] == ' ') ++i;
  std::int64_t value = 0;
  for (; i < bytes.size() && bytes[i] >= '0' && bytes[i] <= '7'; ++i) {
    value = value * 8 + (bytes[i] - '0');  // twelve digits take 36 bits
  }
  if (i < bytes.size() && bytes[i] != ' ' && bytes[i] != 0) {
    return wrong_number(field, fmt::format("has the byte {:#04x}", bytes[i]));
  }
  return value;
}

Result<std::uint64_t> count_of(TarBlock block, const TarField& field) {
  const auto number = number_of(block, field);
  if (!number) return fail(number.error());
  if (*number < 0) return wrong_number(field, "is negative");
  return static_cast<std::uint64_t>(*number);
}

// Some old programs have summed up bytes as signed.
bool checksum_fits(TarBlock block) {
  const auto stated = number_of(block, kChecksum);
  if (!stated) return false;
  std::int64_t plain = 0;
  std::int64_t as_signed = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.bytes;
    const std::uint8_t byte = own ? std::uint8_t{' '} : block[i];
    plain += byte;
    as_signed += static_cast<std::int8_t>(byte);
  }
  return *stated == plain || *stated == as_signed;
}

void put_text(std::span<std::uint8_t> block, const TarField& field, std::string_view text) {
  std::memcpy(block.data() + field.offset, text.data(), std::min(text.size(), field.bytes));
}

bool fits_octal(const TarField& field, std::uint64_t value) {
  return value >> (3 * (field.bytes - 1)) == 0;
}

// One digit fewer than the field has bytes, ended by NUL. What does not fit stands in a pax header.
void put_number(std::span<std::uint8_t> block, const TarField& field, std::uint64_t value) {
  if (!fits_octal(field, value)) value = 0;
  put_text(block, field, fmt::format("{:0{}o}", value, field.bytes - 1));
}

/// A path as ustar stores it.
struct SplitName {
  std::string_view prefix;
  std::string_view name;
};

std::optional<SplitName> split_name(std::string_view path) {
  if (path.size() <= kName.bytes) return SplitName{"", path};
  const std::size_t first = path.size() - kName.bytes - 1;
  const std::size_t slash = path.find('/', first);
  if (slash == std::string_view::npos || slash == 0 || slash > kPrefix.bytes ||
      slash + 1 == path.size()) {
    return std::nullopt;
  }
  return SplitName{path.substr(0, slash), path.substr(slash + 1)};
}

// As a field holds it, which ends at its first NUL.
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(
      text, [](char byte) { return byte != '\0' && static_cast<unsigned char>(byte) < 128; });
}

void add_block(std::vector<std::uint8_t>& out, const Header& header, char type) {
  const std::size_t begin = out.size();
  out.resize(begin + kBlockBytes);
  const std::span<std::uint8_t> block(out.data() + begin, kBlockBytes);
  const auto split = split_name(header.name);
  put_text(block, kName,
           split ? split->name : std::string_view(header.name).substr(0, kName.bytes));
  if (split) put_text(block, kPrefix, split->prefix);
  put_number(block, kMode, header.mode & 07777);
  put_number(block, kUser, header.user);
  put_number(block, kGroup, header.group);
  put_number(block, kSize, header.size);
  put_number(block, kMtime, static_cast<std::uint64_t>(std::max<std::int64_t>(0, header.mtime_s)));
  block[kType.offset] = static_cast<std::uint8_t>(type);
  put_text(block, kMagic, kUstar);
  put_text(block, kUserName, std::string_view(header.user_name).substr(0, kUserName.bytes - 1));
  put_text(block, kGroupName, std::string_view(header.group_name).substr(0, kGroupName.bytes - 1));
  put_text(block, kChecksum, "        ");
  unsigned sum = 0;
  for (const std::uint8_t byte : block) sum += byte;
  put_text(block, kChecksum, fmt::format("{:06o}", sum));
  block[kChecksum.offset + 6] = 0;
}

// What ustar's fields cannot hold, and what a global pax header says otherwise.
std::string pax_records_of(const Header& header, const PaxAttributes& global) {
  std::string records;
  const auto add_text = [&](std::string_view key, bool fits, const std::string& text,
                            const std::optional<std::string>& stated) {
    if (!fits || !is_ascii(text) || (stated && *stated != text)) add_record(records, key, text);
  };
  const auto add_number = [&](std::string_view key, bool fits, auto number, const auto& stated) {
    if (fits && (!stated || *stated == number)) return;
    add_record(records, key, fmt::format("{}", number));
  };
  const std::int64_t mtime_s = header.mtime_s;
  const bool mtime_fits = mtime_s >= 0 && fits_octal(kMtime, static_cast<std::uint64_t>(mtime_s));
  add_text("path", split_name(header.name).has_value(), header.name, global.path);
  add_number("size", fits_octal(kSize, header.size), header.size, global.size);
  add_number("mtime", mtime_fits, mtime_s, global.mtime_s);
  add_number("uid", fits_octal(kUser, header.user), header.user, global.user);
  add_number("gid", fits_octal(kGroup, header.group), header.group, global.group);
  add_text("uname", header.user_name.size() < kUserName.bytes, header.user_name, global.user_name);
  add_text("gname", header.group_name.size() < kGroupName.bytes, header.group_name,
           global.group_name);
  return records;
}

}  // namespace

bool is_zero(TarBlock block) noexcept {
  return std::ranges::all_of(block, [](std::uint8_t byte) { return byte == 0; });
}

Result<Header> parse_header(TarBlock block) {
  if (!checksum_fits(block)) {
    return fail(StatusCode::kInvalidInput, "is no header of a tar archive: its checksum is wrong");
  }
  Header header;
  header.type = static_cast<char>(block[kType.offset]);
  const auto size = count_of(block, kSize);
  if (!size) return fail(size.error());
  header.size = *size;
  const auto mode = count_of(block, kMode);
  if (!mode) return fail(mode.error());
  header.mode = static_cast<std::uint32_t>(*mode & 07777);
  const auto user = count_of(block, kUser);
  if (!user) return fail(user.error());
  header.user = *user;
  const auto group = count_of(block, kGroup);
  if (!group) return fail(group.error());
  header.group = *group;
  const auto mtime = number_of(block, kMtime);
  if (!mtime) return fail(mtime.error());
  header.mtime_s = *mtime;
  header.name = text_of(block, kName);
  const std::string magic = text_of(block, kMagic);
  const bool gnu = magic.starts_with("ustar ");
  if (gnu || magic.starts_with("ustar")) {
    header.user_name = text_of(block, kUserName);
    header.group_name = text_of(block, kGroupName);
  }
  // GNU has times, and holes, where ustar has the prefix.
  if (!gnu && magic.starts_with("ustar")) {
    if (const std::string prefix = text_of(block, kPrefix); !prefix.empty()) {
      header.name = prefix + "/" + header.name;
    }
  }
  header.more_sparse_blocks = header.type == kGnuSparse && block[kSparseMoreOffset] != 0;
  return header;
}

std::optional<std::uint64_t> padded(std::uint64_t size) noexcept {
  constexpr std::uint64_t kMax = INT64_MAX;
  if (size > kMax - kBlockBytes) return std::nullopt;
  return (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

std::vector<std::uint8_t> encode_header(const Header& header, const PaxAttributes* global) {
  std::vector<std::uint8_t> out;
  const std::string records = pax_records_of(header, global != nullptr ? *global : PaxAttributes());
  if (!records.empty()) {
    Header pax;
    pax.name = "PaxHeader";
    pax.size = records.size();
    pax.mode = 0644;
    add_block(out, pax, kPaxNext);
    out.insert(out.end(), records.begin(), records.end());
    out.resize((out.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
  }
  add_block(out, header, kRegular);
  return out;
}

}  // namespace framewire::dataset::tar
