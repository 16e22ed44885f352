#include <xxhash.h>
#include <algorithm>
#include <color/profile_tags.hpp>
#include <engine/converter_cache.hpp>
#include <utility>

namespace framewire::engine {
namespace {

/// What is protected may take this part of the bytes, so that new profiles always find room.
constexpr std::size_t kProtectedOf4 = 3;

bool is_of(const color::ProfileConversion& conversion, std::span<const std::uint8_t> reduced,
           int channels) {
  return conversion.channels() == channels && std::ranges::equal(conversion.reduced(), reduced);
}

}  // namespace

base::CacheUse ConverterCache::use() const {
  const std::lock_guard lock(mutex_);
  return {bytes_, max_bytes_, hits_, misses_};
}

Result<ConverterCache::Conversion> ConverterCache::find(const jpeg::JpegFile& file) {
  auto reduced = color::reduce_profile(file.icc);
  if (!reduced) return fail(reduced.error());
  const int channels = color::device_channels(file.color_model);
  const std::uint64_t hash = XXH3_64bits_withSeed(reduced->data(), reduced->size(),
                                                  seed_ ^ static_cast<std::uint64_t>(channels));
  if (Conversion kept = look_up(hash, *reduced, channels)) return kept;
  ++misses_;
  return insert(hash,
                std::make_shared<const color::ProfileConversion>(std::move(*reduced), channels));
}

/// Compares outside the lock: a profile may have megabytes.
ConverterCache::Conversion ConverterCache::look_up(std::uint64_t hash,
                                                   std::span<const std::uint8_t> reduced,
                                                   int channels) {
  Conversion found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = by_hash_.find(hash);
    if (at == by_hash_.end()) return nullptr;
    found = at->second->conversion;
    touch(at->second);
  }
  if (!is_of(*found, reduced, channels)) return nullptr;
  ++hits_;
  return found;
}

ConverterCache::Conversion ConverterCache::insert(std::uint64_t hash, Conversion made) {
  const std::size_t bytes = made->bytes();
  Entries fresh;
  fresh.push_back({hash, made, bytes, false});
  const std::lock_guard lock(mutex_);
  const auto [at, added] = by_hash_.try_emplace(hash, fresh.begin());
  if (!added) {
    // Another thread has made the same meanwhile; else the hash is by chance another profile's.
    const Conversion& other = at->second->conversion;
    return is_of(*other, made->reduced(), made->channels()) ? other : made;
  }
  probation_.splice(probation_.begin(), fresh);
  bytes_ += bytes;
  trim();
  return made;
}

Result<void> ConverterCache::prepare(const Conversion& conversion, color::Side side) {
  const bool ready = conversion->ready(side);
  auto prepared = conversion->prepare(side);
  if (ready) return prepared;
  ++prepared_;
  const std::lock_guard lock(mutex_);
  for (Entries* list : {&probation_, &protected_}) {
    const auto entry = std::ranges::find(*list, conversion, &Entry::conversion);
    if (entry == list->end()) continue;
    const std::size_t more = conversion->bytes() - entry->bytes;
    entry->bytes += more;
    bytes_ += more;
    if (entry->is_protected) protected_bytes_ += more;
    demote_beyond_share();
    trim();
    break;
  }
  return prepared;
}

void ConverterCache::touch(Entries::iterator entry) {
  if (!entry->is_protected) {
    entry->is_protected = true;
    protected_bytes_ += entry->bytes;
    protected_.splice(protected_.begin(), probation_, entry);
    return demote_beyond_share();
  }
  protected_.splice(protected_.begin(), protected_, entry);
}

void ConverterCache::demote_beyond_share() {
  while (protected_.size() > 1 && protected_bytes_ > max_bytes_ / 4 * kProtectedOf4) {
    Entry& last = protected_.back();
    last.is_protected = false;
    protected_bytes_ -= last.bytes;
    probation_.splice(probation_.begin(), protected_, std::prev(protected_.end()));
  }
}

void ConverterCache::trim() {
  while (bytes_ > max_bytes_) remove_last(probation_.empty() ? protected_ : probation_);
}

void ConverterCache::remove_last(Entries& from) {
  const Entry& last = from.back();
  bytes_ -= last.bytes;
  if (last.is_protected) protected_bytes_ -= last.bytes;
  by_hash_.erase(last.hash);
  from.pop_back();
}

std::size_t ConverterCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

ProfileStats ConverterCache::stats() const {
  ProfileStats stats;
  stats.hits = hits_;
  stats.misses = misses_;
  stats.prepared = prepared_;
  const std::lock_guard lock(mutex_);
  stats.kept = by_hash_.size();
  stats.bytes = bytes_;
  return stats;
}

}  // namespace framewire::engine
