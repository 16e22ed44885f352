// The folder of entries: files in 256 subfolders, whoever else writes there.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <service/cache/entry.hpp>
#include <service/cache/key.hpp>
#include <span>
#include <string>

namespace framewire::service::cache {

/// Writes an entry's bytes whole. @return 0, or errno. Tests make it fail
using WriteBytes = std::function<int(int fd, std::span<const std::uint8_t> bytes)>;
[[nodiscard]] int write_bytes(int fd, std::span<const std::uint8_t> bytes) noexcept;

/// Gives memory for the bytes of an entry that is read; null: there is none.
using TakeMemory = std::function<std::shared_ptr<std::uint8_t[]>(std::size_t bytes)>;

/// An entry that was read and is as it was written.
struct StoredEntry {
  EntryHeader header;
  std::shared_ptr<std::uint8_t[]> memory;
  std::span<const std::uint8_t> head;  ///< in `memory`
  std::span<const std::uint8_t> body;  ///< in `memory`
  std::uint64_t disk_bytes = 0;
};

/// What came of looking for an entry.
struct ReadResult {
  std::optional<StoredEntry> entry;
  bool damaged = false;  ///< there was a file, and it was no such entry: it has been removed
};

/// Each name is opened without following links, and only regular files of one link that belong to
/// this user are read. Several processes may use one folder at once.
/// Thread safety: const, from any number of threads.
class Folder {
 public:
  /// What an entry's file takes of the bound: whole blocks, and a little for its name.
  [[nodiscard]] static std::uint64_t disk_bytes(std::uint64_t file_bytes) noexcept;

  /// Opens the folder, or makes it with mode 0700; its parent must be there.
  /// @return io_error; denied where it belongs to somebody else, or others may write to it
  [[nodiscard]] static Result<Folder> open(const std::string& path);

  /// Reads an entry whole and checks every byte of it. Blocks on the disk. Throws std::bad_alloc
  /// @param max_bytes  a larger file is damaged
  [[nodiscard]] ReadResult read(const Key& key, std::uint64_t max_bytes,
                                const TakeMemory& take_memory) const;
  /// Writes an entry beside its place and renames it there: whoever reads finds the old file, the
  /// new one, or none. Not synchronised to the disk: a power failure may tear it, and the next
  /// read finds that. @return 0, or errno
  [[nodiscard]] int write(const EntryHeader& header, std::span<const std::uint8_t> head,
                          std::span<const std::uint8_t> body, const WriteBytes& write) const;
  void remove(const EntryName& name) const noexcept;

  /// Called for each entry's file, whatever is in it. @return false to end the scan
  using Visit =
      std::function<bool(const EntryName&, std::uint64_t disk_bytes, std::int64_t used_ns)>;
  /// Goes through the folder. Removes what a writer that was killed has left, an hour later, links
  /// and the like under names of entries, and files over `max_bytes`; leaves everything else.
  /// @return whether all of it was seen
  [[nodiscard]] bool scan(std::uint64_t max_bytes, const Visit& visit) const;

 private:
  [[nodiscard]] base::FileDescriptor open_part(unsigned part, bool make) const noexcept;
  [[nodiscard]] bool scan_part(unsigned part, std::uint64_t max_bytes, const Visit& visit) const;

  base::FileDescriptor root_;
};

}  // namespace framewire::service::cache
