// Results on disk: found by key, written aside, bounded, and never trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <service/cache/folder.hpp>
#include <service/cache/key.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::cache {

struct CacheSettings {
  std::string folder;
  std::uint64_t max_bytes = 1ull << 30;     ///< of files; entries beyond an eighth are not kept
  std::uint64_t max_entries = 1'000'000;    ///< about 120 bytes of memory each
  std::int64_t max_age_s = 30 * 24 * 3600;  ///< older entries are not found any more
  std::uint64_t max_entry_bytes = 64ull << 20;
  std::uint64_t max_waiting_bytes = 64ull << 20;  ///< that wait to be written; more is not kept
  std::uint64_t max_read_bytes = 1ull << 30;      ///< of found entries that are in memory
  std::size_t max_waiting_reads = 1'024;          ///< of run()
  unsigned read_threads = 4;
  std::int64_t pause_ms = 10'000;  ///< for which nothing is written after the disk has failed
  WriteBytes write;                ///< for tests; empty: the system's
};

/// An entry that was found.
struct FoundEntry {
  std::span<const std::uint8_t> head;
  std::span<const std::uint8_t> body;
  std::shared_ptr<const void> keeper;  ///< of both
  std::int64_t stored_s = 0;           ///< since 1970
};

/// What to keep under a key.
struct NewEntry {
  Key key{};
  std::string head;  ///< at most EntryHeader::kMaxHeadBytes
  std::span<const std::uint8_t> body;
  std::shared_ptr<const void> keeper;  ///< of the body
  bool is_gone = false;                ///< nothing is to be under the key any more
};

/// Since the beginning, and now.
struct Stats {
  std::uint64_t bytes = 0;    ///< of the files that are known
  std::uint64_t entries = 0;  ///< the same
  std::uint64_t written = 0;
  std::uint64_t evicted = 0;
  std::uint64_t dropped = 0;       ///< not written: too many waited, too large, or a pause
  std::uint64_t damaged = 0;       ///< files that were no entries, and were removed
  std::uint64_t write_errors = 0;  ///< the disk was full, read-only, gone
};

/// Takes one line for the log. Called from threads of the cache's.
using Say = std::function<void(std::string_view)>;

/// A cache that may fail at any time and never stops anything: what cannot be read is not found,
/// what cannot be written is not kept.
///
/// Several processes may share a folder. Each finds at once what any of them wrote, and bounds the
/// folder by what it knows of: its own entries, and those of others from its next scan on.
/// Thread safety: all members from any thread.
class DiskCache {
 public:
  /// Opens the folder and starts the threads; the folder is gone through meanwhile.
  /// @return io_error, denied: as Folder::open(); busy where threads or memory ran out
  [[nodiscard]] static Result<std::unique_ptr<DiskCache>> open(CacheSettings settings, Say say);
  /// What waits to be written is dropped; what runs is waited for.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// Blocks on the disk. Never throws: where memory runs out nothing is found.
  [[nodiscard]] std::optional<FoundEntry> find(const Key& key) noexcept;
  /// Runs a task on one of the threads for reading. What it throws is dropped.
  /// @return false where too many wait, or memory ran out
  [[nodiscard]] bool run(std::function<void()> task) noexcept;
  /// Keeps an entry, some time later, if it can. Never blocks on the disk.
  void keep(NewEntry entry) noexcept;
  /// Removes what is under a key, some time later. Never blocks on the disk. Where memory runs out,
  /// or too many wait, the entry stays.
  void forget(const Key& key) noexcept;

  [[nodiscard]] Stats stats() const;

 private:
  class Impl;
  explicit DiskCache(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::service::cache
