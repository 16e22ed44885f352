#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <topology/host_files.hpp>

namespace framewire::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTextBytes = 64 << 10;
constexpr std::size_t kMaxBinaryBytes = 4096;  // PCI Express configuration space

std::optional<std::string> slurp(const std::string& path, std::size_t max_bytes) {
  if (path.empty()) return std::nullopt;
  std::error_code error;
  // A pipe or a device could keep a reader waiting for ever.
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(max_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(max_bytes));
  // Files of sysfs may open and still refuse to be read.
  if (file.bad() || (file.gcount() == 0 && !file.eof())) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::string Reading::cite() const {
  return fmt::format("{}: {}", path, !value ? "not there" : value->empty() ? "empty" : *value);
}

Result<HostFiles> HostFiles::open(const std::string& root) {
  std::error_code error;
  const fs::path canonical = fs::canonical(root, error);
  if (error || !fs::is_directory(canonical, error)) {
    const std::string found = error ? error.message() : "no folder";
    return fail(Status(StatusCode::kIoError,
                       fmt::format("found {}; accepted: / or a folder that holds sys and proc of a "
                                   "recorded host",
                                   found))
                    .about(root));
  }
  return HostFiles(canonical == "/" ? "" : canonical.string());
}

std::string HostFiles::resolve(const std::string& path) const {
  std::error_code error;
  const std::string real = fs::canonical(root_ + path, error).string();
  if (error) return "";
  if (real == root_) return "/";
  return real.starts_with(root_ + "/") ? real.substr(root_.size()) : "";
}

Reading HostFiles::read(const std::string& path) const {
  const std::string real = resolve(path);
  auto text = real.empty() ? std::nullopt : slurp(root_ + real, kMaxTextBytes);
  if (text) {
    // Device trees end their strings with NUL.
    while (!text->empty() &&
           std::string_view(" \t\r\n\0", 5).find(text->back()) != std::string::npos) {
      text->pop_back();
    }
  }
  return {path, std::move(text)};
}

std::string HostFiles::text(const std::string& path) const { return read(path).value.value_or(""); }

std::vector<std::uint8_t> HostFiles::bytes(const std::string& path) const {
  const std::string real = resolve(path);
  const auto data = real.empty() ? std::nullopt : slurp(root_ + real, kMaxBinaryBytes);
  if (!data) return {};
  return {data->begin(), data->end()};
}

std::vector<std::string> HostFiles::names(const std::string& path) const {
  std::vector<std::string> found;
  const std::string real = resolve(path);
  if (real.empty()) return found;
  std::error_code error;
  for (fs::directory_iterator entry(root_ + real, error), end; !error && entry != end;
       entry.increment(error)) {
    found.push_back(entry->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool HostFiles::exists(const std::string& path) const { return !resolve(path).empty(); }

bool HostFiles::usable(const std::string& path) const {
  const std::string real = resolve(path);
  return !real.empty() && ::access((root_ + real).c_str(), R_OK | W_OK) == 0;
}

std::optional<unsigned> HostFiles::owner(const std::string& path) const {
  const std::string real = resolve(path);
  struct stat facts {};
  if (real.empty() || ::stat((root_ + real).c_str(), &facts) != 0) return std::nullopt;
  return facts.st_uid;
}

}  // namespace framewire::topology
