// What lies in the folder, and when it was last used: decides what goes first.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <service/cache/key.hpp>
#include <unordered_map>
#include <vector>

namespace framewire::service::cache {

/// About 120 bytes an entry. Whether an entry is served does not depend on it: it only bounds the
/// folder. What goes is the least recently used of 16 that chance names, which is close to the
/// least recently used of all and needs no order. Thread safety: one thread at a time.
class Index {
 public:
  /// Takes an entry in, or corrects its size. Throws std::bad_alloc, changing nothing.
  /// @param bytes    on the disk
  /// @param used_ns  since 1970; an entry that is known keeps its later time
  void put(const EntryName& name, std::uint64_t bytes, std::int64_t used_ns);
  void remove(const EntryName& name) noexcept;
  /// @return false where the entry is not known
  bool touch(const EntryName& name, std::int64_t used_ns) noexcept;
  /// The entry to go next. Nothing where there is none.
  [[nodiscard]] std::optional<EntryName> victim() noexcept;

  /// Begins to look for entries whose files are gone: put() marks those that are there.
  void begin_round() noexcept { ++round_; }
  /// Forgets the entries that no put() has named since begin_round().
  void forget_unseen() noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t entries() const noexcept { return slots_.size(); }

 private:
  struct Slot {
    EntryName name;
    std::uint32_t round;
    std::uint64_t bytes;
    std::int64_t used_ns;
  };
  struct Hash {
    std::size_t operator()(const EntryName& name) const noexcept {  // names are hashes already
      std::size_t value = 0;
      std::memcpy(&value, name.data(), sizeof value);
      return value;
    }
  };
  void remove_at(std::size_t index) noexcept;
  [[nodiscard]] std::size_t random_index() noexcept;

  std::vector<Slot> slots_;
  std::unordered_map<EntryName, std::size_t, Hash> places_;
  std::uint64_t bytes_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15u;
};

}  // namespace framewire::service::cache
