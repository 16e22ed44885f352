#include "transport/wire/psk_file.hpp"
#include <fmt/format.h>
#include <sys/stat.h>
#include <charconv>
#include <fstream>
#include <sstream>

namespace framewire::transport::wire {
namespace {

constexpr std::size_t kLeastKeyBytes = 16;
constexpr std::size_t kMostKeyBytes = 64;

bool from_hex(const std::string& hex, std::vector<std::uint8_t>& key) {
  if (hex.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc{} || end != hex.data() + i + 2) return false;
    key.push_back(byte);
  }
  return key.size() >= kLeastKeyBytes && key.size() <= kMostKeyBytes;
}

}  // namespace

Result<std::vector<PskEntry>> read_psk_file(const std::string& path) {
  struct stat facts {};
  std::ifstream file(path);
  if (!file || ::stat(path.c_str(), &facts) != 0) {
    return fail(Status(StatusCode::kIoError, "the key file cannot be read").about(path));
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(
        Status(StatusCode::kDenied, "group or others have access to the key file; chmod 600")
            .about(path));
  }
  std::vector<PskEntry> entries;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    PskEntry entry;
    std::string hex;
    std::string more;
    if (!(words >> entry.name) || entry.name.front() == '#') continue;
    if (!(words >> hex) || (words >> more) || entry.name.size() > 64 || !from_hex(hex, entry.key)) {
      return fail(Status(StatusCode::kInvalidInput,
                         fmt::format("line {} is not 'NAME HEX' with a key of {} to {} bytes",
                                     number, kLeastKeyBytes, kMostKeyBytes))
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
