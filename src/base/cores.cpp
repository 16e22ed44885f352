#include <fcntl.h>
#include <sched.h>
#include <algorithm>
#include <array>
#include <base/cores.hpp>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <bit>
#include <charconv>
#include <climits>
#include <cstdint>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

namespace framewire::base {
namespace {

constexpr std::size_t kMaxFileBytes = 64 * 1024;

/// Empty where it cannot be read.
std::string text_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  return read_text(file.get(), kMaxFileBytes).value_or(std::string());
}

/// The path of the process' group, from the line "0::PATH"; empty where there is none.
std::string_view group_of(std::string_view lines) {
  constexpr std::string_view kUnified = "0::";
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return {};
}

/// @param text  "QUOTA PERIOD", both in microseconds, or "max PERIOD"
unsigned cores_of_text(std::string_view text) {
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, bad] = std::from_chars(text.data(), end, quota);
  if (bad != std::errc{} || behind == end || *behind != ' ') return UINT_MAX;
  if (std::from_chars(behind + 1, end, period).ec != std::errc{} || period == 0) return UINT_MAX;
  const std::uint64_t cores = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(cores, 1, UINT_MAX));
}

unsigned cores_of_affinity() noexcept {
  constexpr std::size_t kMaxCores = 65'536;
  std::array<std::uint64_t, kMaxCores / 64> mask{};
  if (::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
    return std::thread::hardware_concurrency();
  }
  unsigned cores = 0;
  for (const std::uint64_t word : mask) cores += static_cast<unsigned>(std::popcount(word));
  return cores;
}

}  // namespace

unsigned cores_of_quota(const std::string& root) noexcept try {
  const std::string groups = text_of(root + "/proc/self/cgroup");
  std::string_view group = group_of(groups);
  unsigned least = UINT_MAX;
  // Up to the topmost, which alone may be there: a container sees its own group as that.
  while (true) {
    const std::size_t last = group.rfind('/');
    if (last == std::string_view::npos) return least;
    const std::string folder = root + "/sys/fs/cgroup" + std::string(group);
    least = std::min(least, cores_of_text(text_of(folder + "/cpu.max")));
    group = last == 0 && group.size() > 1 ? group.substr(0, 1) : group.substr(0, last);
  }
} catch (const std::bad_alloc&) {
  return UINT_MAX;
}

unsigned usable_cores() noexcept {
  return std::max(1U, std::min(cores_of_affinity(), cores_of_quota("")));
}

}  // namespace framewire::base
