#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <algorithm>
#include <new>
#include <service/workers/quarantine.hpp>

namespace framewire::service::workers {

Quarantine::Digest Quarantine::digest_of(Input input) {
  Digest digest{};
  unsigned bytes = 0;
  if (EVP_Digest(input.data(), input.size(), digest.data(), &bytes, EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  return digest;
}

std::string Quarantine::name_of(Input input) {
  return fmt::format("{} bytes, SHA-256 {:02x}", input.size(), fmt::join(digest_of(input), ""));
}

bool Quarantine::contains(Input input, Clock::time_point now) {
  if (refused_.load(std::memory_order_relaxed) == 0) return false;
  const auto is_refused = [&](const Entry& entry) {
    return entry.refused && entry.bytes == input.size() && now - entry.since < kTime;
  };
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::none_of(entries_, is_refused)) return false;
  }
  const Digest digest = digest_of(input);
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return is_refused(entry) && entry.digest == digest; });
}

unsigned Quarantine::accuse(Input input, Clock::time_point now) {
  const Digest digest = digest_of(input);
  const std::lock_guard lock(mutex_);
  return ++find(input.size(), digest, now).deaths;
}

void Quarantine::add(Input input, Clock::time_point now) noexcept {
  try {
    const Digest digest = digest_of(input);
    const std::lock_guard lock(mutex_);
    Entry& entry = find(input.size(), digest, now);
    if (!entry.refused) ++refused_;
    entry.refused = true;
    entry.since = now;
  } catch (...) {  // memory ran out
  }
}

std::size_t Quarantine::clear(Clock::time_point now) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t count = count_refused(now);
  entries_.clear();
  refused_ = 0;
  return count;
}

std::size_t Quarantine::size(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return count_refused(now);
}

std::size_t Quarantine::count_refused(Clock::time_point now) const noexcept {
  const auto count = std::ranges::count_if(
      entries_, [now](const Entry& entry) { return entry.refused && now - entry.since < kTime; });
  return static_cast<std::size_t>(count);
}

Quarantine::Entry& Quarantine::find(std::uint64_t bytes, const Digest& digest,
                                    Clock::time_point now) {
  forget(now);
  for (Entry& entry : entries_) {
    if (entry.bytes == bytes && entry.digest == digest) return entry;
  }
  entries_.push_back({bytes, digest, 0, false, now});
  return entries_.back();
}

void Quarantine::forget(Clock::time_point now) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool too_many = entry == entries_.begin() && entries_.size() >= kMaxInputs;
    if (!too_many && now - entry->since < kTime) {
      ++entry;
      continue;
    }
    if (entry->refused) --refused_;
    entry = entries_.erase(entry);
  }
}

}  // namespace framewire::service::workers
