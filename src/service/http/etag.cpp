#include <fmt/format.h>
#include <xxhash.h>
#include <base/ascii.hpp>
#include <cstdint>
#include <service/http/etag.hpp>
#include <service/http/head.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::size_t kMaxSourceTagBytes = 256;
constexpr std::size_t kHashBytes = sizeof(std::uint64_t);
// A stranger's list is not read for ever.
constexpr int kMaxListed = 32;
constexpr Text kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// base64url without padding: an ETag holds no quotes.
std::string encode_base64(Text bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out.push_back(kDigits[bits >> (count - 6) & 63]);
  }
  if (count > 0) out.push_back(kDigits[bits << (6 - count) & 63]);
  return out;
}

std::string decode_base64(Text text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == Text::npos) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return out;
}

Text without_weak(Text tag) { return tag.starts_with("W/") ? tag.substr(2) : tag; }

// Calls `visit` for each tag until it says true.
template <typename Visit>
bool any_tag(Text list, const Visit& visit) {
  for (int i = 0; i < kMaxListed && !list.empty(); ++i) {
    // Tags of ours have no commas; others are cut there, and match nothing.
    const auto comma = list.find(',');
    if (visit(base::trim_blanks(list.substr(0, comma)))) return true;
    if (comma == Text::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::uint64_t hash_of_url(Text final_url) noexcept {
  return XXH3_64bits(final_url.data(), final_url.size());
}

std::string make_etag(const EtagRecipe& recipe, Text source_etag, std::uint64_t url_hash) {
  if (source_etag.empty() || source_etag.size() > kMaxSourceTagBytes) return {};
  std::string original;
  for (std::size_t i = 0; i < kHashBytes; ++i) {
    original.push_back(static_cast<char>(url_hash >> (8 * i) & 0xFF));
  }
  original += source_etag;
  return fmt::format("{}\"{}.{}\"", source_etag.starts_with("W/") ? "W/" : "", recipe.text,
                     encode_base64(original));
}

KnownOriginal known_original(const EtagRecipe& recipe, Text if_none_match) {
  const std::string prefix = fmt::format("\"{}.", recipe.text);
  KnownOriginal found;
  (void)any_tag(if_none_match, [&](Text tag) {
    tag = without_weak(tag);
    if (!tag.starts_with(prefix) || !tag.ends_with('"') || tag.size() <= prefix.size()) {
      return false;
    }
    const std::string original =
        decode_base64(tag.substr(prefix.size(), tag.size() - prefix.size() - 1));
    if (original.size() <= kHashBytes) return false;
    KnownOriginal read;
    read.etag = original.substr(kHashBytes);
    for (std::size_t i = 0; i < kHashBytes; ++i) {
      const auto byte = static_cast<unsigned char>(original[i]);
      read.url_hash |= static_cast<std::uint64_t>(byte) << (8 * i);
    }
    // Only what would be made again: no two spellings, nothing that is no tag.
    if (without_weak(make_etag(recipe, read.etag, read.url_hash)) != tag) return false;
    found = std::move(read);
    return true;
  });
  return found;
}

bool none_match_lists(Text if_none_match, Text etag) {
  if (base::trim_blanks(if_none_match) == "*") return true;
  if (etag.empty()) return false;
  return any_tag(if_none_match, [&](Text tag) { return without_weak(tag) == without_weak(etag); });
}

}  // namespace framewire::service::http
