#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <framewire/batch/manifest.hpp>
#include <string_view>

namespace framewire::batch {
namespace {

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t time_key(const DoneRow& row) {
  if (!row.version.empty()) {
    return hash_of(fmt::format("{} version {} {}", row.options_hash, row.bytes_out, row.version));
  }
  return hash_of(
      fmt::format("{} {} {} {}", row.options_hash, row.bytes_in, row.mtime_ns, row.bytes_out));
}

std::uint64_t content_key(const DoneRow& row) {
  if (!row.hash) return 0;
  return hash_of(fmt::format("{} {:x} {}", row.options_hash, *row.hash, row.bytes_out));
}

}  // namespace

void DoneIndex::add(const DoneRow& row) {
  Entry entry{hash_of(row.name), 0, 0};
  if (row.ok) {
    entry.by_time = time_key(row);
    entry.by_content = content_key(row);
  }
  entries_.push_back(entry);
}

void DoneIndex::seal() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.name < b.name; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool overruled = i + 1 < entries_.size() && entries_[i + 1].name == entries_[i].name;
    if (!overruled) entries_[kept++] = entries_[i];
  }
  entries_.resize(kept);
  entries_.shrink_to_fit();
}

const DoneIndex::Entry* DoneIndex::find(const std::string& name) const {
  const std::uint64_t wanted = hash_of(name);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), wanted,
                       [](const Entry& entry, std::uint64_t value) { return entry.name < value; });
  return found != entries_.end() && found->name == wanted ? &*found : nullptr;
}

bool DoneIndex::made(const std::string& name) const {
  const Entry* entry = find(name);
  return entry != nullptr && entry->by_time != 0;
}

bool DoneIndex::done(const DoneRow& wanted) const {
  const Entry* entry = find(wanted.name);
  return entry != nullptr && entry->by_time != 0 && entry->by_time == time_key(wanted);
}

bool DoneIndex::done_by_content(const DoneRow& wanted) const {
  const Entry* entry = find(wanted.name);
  return entry != nullptr && entry->by_content != 0 && entry->by_content == content_key(wanted);
}

}  // namespace framewire::batch
