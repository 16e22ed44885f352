#include <fmt/format.h>
#include <xxhash.h>
#include <batch/names.hpp>
#include <string_view>

namespace framewire::batch {
namespace {

// What is wrong with a name, or "".
std::string_view fault_of(std::string_view name) {
  if (name.empty()) return "has an empty name";
  if (name.size() > kMaxNameBytes) return "has a name longer than 4096 bytes";
  if (name.find('\0') != std::string_view::npos) return "has a name with a NUL byte";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return "has a name with an empty part";
    if (part == "." || part == "..") return "has a name with a part . or ..";
    begin = end + 1;
  }
  // Whoever cleans up after a dead process would delete it.
  if (is_temporary_name(name.substr(name.rfind('/') + 1))) {
    return "has a name that unfinished outputs have";
  }
  return "";
}

}  // namespace

NameSet::Key NameSet::key_of(const std::string& name) {
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  return {hash.high64, hash.low64};
}

bool NameSet::insert(const std::string& name) { return seen_.insert(key_of(name)).second; }

bool NameSet::contains(const std::string& name) const { return seen_.contains(key_of(name)); }

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<void> check_name(const std::string& name) {
  const std::string_view fault = fault_of(name);
  if (fault.empty()) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("{}; accepted: a relative path, such as folder/photo.jpg", fault))
                  .about(name));
}

bool in_shard(const Shard& shard, const std::string& name) noexcept {
  return XXH64(name.data(), name.size(), 0) % shard.count == shard.index;
}

}  // namespace framewire::batch
