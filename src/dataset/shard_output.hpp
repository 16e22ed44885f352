// One output shard and its manifest on their way: whole, or not at all.
#pragma once

#include <xxhash.h>
#include <base/file_descriptor.hpp>
#include <batch/temporary_file.hpp>
#include <cstdint>
#include <dataset/shard_file.hpp>
#include <dataset/shard_record.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::dataset {

/// A folder that shards or manifests go to.
struct OutputRoot {
  base::FileDescriptor folder;
  std::string path;  ///< for messages
};

/// Device and inode of files.
using FileSet = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// Opens a folder, making it where missing.
/// @return io_error; denied where it is a link that another user owns
[[nodiscard]] Result<OutputRoot> open_output_root(const std::string& path);

/// The XXH3-64 of bytes so far.
class RunningHash {
 public:
  RunningHash() { XXH3_64bits_reset(state_.get()); }  // throws std::bad_alloc, as what allocates
  void add(std::span<const std::uint8_t> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
  void copy_to(RunningHash& other) const { XXH3_copyState(other.state_.get(), state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  static XXH3_state_t* make() {
    XXH3_state_t* state = XXH3_createState();
    if (state == nullptr) throw std::bad_alloc();
    return state;
  }
  std::unique_ptr<XXH3_state_t, Free> state_{make()};
};

/// How far an output has come: to go back to.
struct OutputMark {
  std::uint64_t position = 0;
  RunningHash hash;
};

/// Writes a shard to a temporary file, in pieces of kPieceBytes, and rows to another. commit()
/// gives both their names, the manifest's last; until then nothing is seen of either, and what a
/// process that dies leaves is deleted by a later batch that resumes. While this lives no other
/// process writes a shard of that name to that folder, where the file system has locks. One thread.
class ShardOutput {
 public:
  /// @param outputs, manifests  live as long as this
  /// @param name                relative path below both
  /// @return null where another process has the shard; io_error and others that concern its place,
  ///         with `environment` set for those that would meet every shard
  [[nodiscard]] static tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> open(
      const OutputRoot& outputs, const OutputRoot& manifests, const std::string& name);

  /// What the manifest says, if there is one that ends in a record, and the output that it tells of
  /// has the size that it states.
  [[nodiscard]] std::optional<ShardRecord> earlier() const;

  [[nodiscard]] batch::WriteResult append(std::span<const std::uint8_t> bytes);
  /// What came of copy().
  enum class Copied : std::uint8_t { kAll, kUnreadable };
  /// Appends bytes of an input. @param problem  set with kUnreadable: what was appended before is
  /// part of a member, to be undone by rewind()
  [[nodiscard]] tl::expected<Copied, batch::WriteError> copy(ShardFile& from, std::uint64_t begin,
                                                             std::uint64_t end,
                                                             std::optional<Status>& problem);
  void mark(OutputMark& mark) const;
  void rewind(const OutputMark& mark);

  /// Appends a line to the manifest.
  [[nodiscard]] batch::WriteResult append_row(std::string_view line);

  /// How commit() gives the names.
  struct Commit {
    const batch::Permissions* source = nullptr;  ///< of the input
    std::optional<std::uint32_t> mode;
    const FileSet* inputs = nullptr;  ///< files that no output replaces; null: none
  };
  /// Ends the archive, and makes both files last and known. @param record  bytes_out and hash_out
  /// are filled in
  [[nodiscard]] batch::WriteResult commit(ShardRecord& record, const Commit& how);

 private:
  /// A call for some two hundred outputs of 20 KB; each shard in work has one such piece.
  static constexpr std::size_t kPieceBytes = 4u << 20;
  static constexpr std::size_t kRowBytes = 64 * 1024;

  ShardOutput() = default;
  [[nodiscard]] batch::WriteResult flush();
  [[nodiscard]] batch::WriteResult flush_rows();
  [[nodiscard]] batch::WriteResult finish_archive();
  [[nodiscard]] batch::WriteResult check_place(const Commit& how) const;
  [[nodiscard]] batch::WriteResult publish(const Commit& how);

  std::string path_;           ///< of the output, for messages
  std::string manifest_path_;  ///< likewise
  std::string name_;           ///< last part of the output's name
  base::FileDescriptor folder_;
  base::FileDescriptor manifest_folder_;
  std::optional<batch::TemporaryFile> claim_;
  std::optional<batch::TemporaryFile> file_;
  std::optional<batch::TemporaryFile> manifest_;
  std::vector<std::uint8_t> piece_;
  std::size_t filled_ = 0;
  std::uint64_t written_ = 0;  ///< offset of the piece in the file
  std::string rows_;
  RunningHash hash_;
};

}  // namespace framewire::dataset
