#include <fmt/format.h>
#include <charconv>
#include <string_view>
#include <transport/wire/peer_name.hpp>
#include <transport/wire/psk_file.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

constexpr std::size_t kMinKeyBytes = 16;
constexpr std::size_t kMaxKeyBytes = 64;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;  // some 5,000 of the longest lines
constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

bool from_hex(std::string_view hex, Secret& key) {
  if (hex.size() % 2 != 0 || hex.size() < 2 * kMinKeyBytes || hex.size() > 2 * kMaxKeyBytes) {
    return false;
  }
  key = Secret(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const char* digits = hex.data() + i;
    const auto [end, error] = std::from_chars(digits, digits + 2, key.data()[i / 2], 16);
    if (error != std::errc{} || end != digits + 2) return false;
  }
  return true;
}

bool parse_line(std::string_view line, PskEntry& entry) {
  const auto name = next_word(line);
  const auto hex = next_word(line);
  if (name.size() > kMaxNameBytes || !is_name(name) || !next_word(line).empty()) return false;
  entry.name = name;
  return from_hex(hex, entry.key);
}

}  // namespace

Result<std::vector<PskEntry>> read_psk_file(const std::string& path) {
  const auto file = read_secret(path, "the key file", kMaxFileBytes);
  if (!file) return fail(file.error());
  std::vector<PskEntry> entries;
  std::string_view rest = file->text();
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::string_view words = line;
    const auto first = next_word(words);
    if (first.empty() || first.front() == '#') continue;
    PskEntry entry;
    if (!parse_line(line, entry)) {
      return fail(Status(StatusCode::kInvalidInput,
                         fmt::format("line {} is not 'NAME HEX' with a name in UTF-8 of up to {} "
                                     "bytes and a key of {} to {} bytes",
                                     number, kMaxNameBytes, kMinKeyBytes, kMaxKeyBytes))
                      .about(path));
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) {
    return fail(
        Status(StatusCode::kInvalidInput, "no line 'NAME HEX' in the key file").about(path));
  }
  return entries;
}

}  // namespace framewire::transport::wire
