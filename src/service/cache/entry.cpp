#include <xxhash.h>
#include <algorithm>
#include <memory>
#include <service/cache/entry.hpp>

namespace framewire::service::cache {
namespace {

constexpr std::string_view kMagic = "FWcache1";
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kKeyAt = 8;
constexpr std::size_t kHeadBytesAt = 40;
constexpr std::size_t kBodyBytesAt = 48;
constexpr std::size_t kStoredAt = 56;
constexpr std::size_t kChecksumAt = 64;

void put_number(std::uint8_t* out, std::uint64_t value) noexcept {
  for (std::size_t i = 0; i < kNumberBytes; ++i) out[i] = static_cast<std::uint8_t>(value >> 8 * i);
}

std::uint64_t get_number(const std::uint8_t* bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i) value |= std::uint64_t{bytes[i]} << 8 * i;
  return value;
}

}  // namespace

HeaderBytes write_header(const EntryHeader& header) noexcept {
  HeaderBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  std::copy(header.key.begin(), header.key.end(), bytes.begin() + kKeyAt);
  put_number(&bytes[kHeadBytesAt], header.head_bytes);
  put_number(&bytes[kBodyBytesAt], header.body_bytes);
  put_number(&bytes[kStoredAt], static_cast<std::uint64_t>(header.stored_s));
  std::copy(header.checksum.begin(), header.checksum.end(), bytes.begin() + kChecksumAt);
  return bytes;
}

std::array<std::uint8_t, 16> checksum_of(const EntryHeader& header,
                                         std::span<const std::uint8_t> head,
                                         std::span<const std::uint8_t> body) noexcept {
  const HeaderBytes bytes = write_header(header);
  // Each part is hashed with what came before as its seed: no state has to be allocated.
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), kChecksumAt);
  hash = XXH3_128bits_withSeed(head.data(), head.size(), hash.low64 ^ hash.high64);
  hash = XXH3_128bits_withSeed(body.data(), body.size(), hash.low64 ^ hash.high64);
  std::array<std::uint8_t, 16> sum{};
  put_number(sum.data(), hash.low64);
  put_number(sum.data() + kNumberBytes, hash.high64);
  return sum;
}

std::optional<EntryHeader> read_header(std::span<const std::uint8_t> bytes,
                                       std::uint64_t file_bytes) noexcept {
  if (bytes.size() < EntryHeader::kBytes || file_bytes < EntryHeader::kBytes) return std::nullopt;
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return std::nullopt;
  EntryHeader header;
  std::copy_n(bytes.begin() + kKeyAt, header.key.size(), header.key.begin());
  header.head_bytes = get_number(&bytes[kHeadBytesAt]);
  header.body_bytes = get_number(&bytes[kBodyBytesAt]);
  header.stored_s = static_cast<std::int64_t>(get_number(&bytes[kStoredAt]));
  std::copy_n(bytes.begin() + kChecksumAt, header.checksum.size(), header.checksum.begin());
  const std::uint64_t payload = file_bytes - EntryHeader::kBytes;
  if (header.head_bytes > EntryHeader::kMaxHeadBytes || header.head_bytes > payload ||
      header.body_bytes != payload - header.head_bytes) {
    return std::nullopt;
  }
  return header;
}

void FieldWriter::put(std::uint64_t number) {
  std::array<std::uint8_t, kNumberBytes> bytes{};
  put_number(bytes.data(), number);
  bytes_.append(bytes.begin(), bytes.end());
}

void FieldWriter::put(std::string_view text) {
  put(std::uint64_t{text.size()});
  bytes_ += text;
}

std::uint64_t FieldReader::number() noexcept {
  if (!valid_ || rest_.size() < kNumberBytes) {
    valid_ = false;
    return 0;
  }
  const std::uint64_t value = get_number(rest_.data());
  rest_ = rest_.subspan(kNumberBytes);
  return value;
}

std::string_view FieldReader::text() noexcept {
  const std::uint64_t bytes = number();
  if (!valid_ || bytes > rest_.size()) {
    valid_ = false;
    return {};
  }
  const auto taken = rest_.first(static_cast<std::size_t>(bytes));
  rest_ = rest_.subspan(taken.size());
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

}  // namespace framewire::service::cache
