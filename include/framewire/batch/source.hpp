// Where a batch's inputs come from: folders, lists, or whatever somebody writes a Source for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace framewire::batch {

/// Identity of a file of this machine, whatever path leads to it. {0, 0} is no file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Who may read an input; outputs in files are never wider.
struct Permissions {
  FileId id;               ///< {0, 0} for what is no file of its own, such as a member of a tar
  std::uint32_t mode = 0;  ///< nine bits; those of the group are its own where an ACL names others
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

/// One input as it is listed, before it is opened.
struct Input {
  /// What messages and the manifest call it: a path, a URL, "shard-7.tar: 000123.jpg".
  std::string label;
  /// Relative path of its output, unique in a batch: parts that are separated by '/', none of them
  /// empty, "." or "..", without NUL, 4,096 bytes at most. --resume and shards go by it.
  std::string name;
  /// Whether a user expects this to be processed: it was named, or its name says JPEG. Otherwise it
  /// was merely met on the way, and being no JPEG is no failure.
  bool expected = true;
  std::optional<Status> error{};  ///< it cannot even be tried: one row, and the batch goes on
  /// A file that lies below the folder that was given, by folders alone: no link and no mount led
  /// to it. Then an output folder, which is no part of a source, need not look where it lies.
  bool direct = false;
  std::uint64_t tag = 0;               ///< the source's own: an index, an offset
  std::shared_ptr<const void> data{};  ///< the source's own: what open() needs besides
};

/// What is known of an input once it is open, before it is read.
struct InputFacts {
  std::optional<std::uint64_t> bytes;    ///< unset: known when it has been read
  std::optional<std::int64_t> mtime_ns;  ///< since 1970
  /// Changes whenever the content may have changed: an ETag, a generation. Where it is not empty,
  /// --resume goes by it and neither by size nor by time; where all three are missing, by content.
  std::string version;
  std::optional<Permissions> permissions;  ///< unset: anybody may read it
};

/// An input that has been opened. One thread at a time.
class FRAMEWIRE_API OpenInput {
 public:
  OpenInput() = default;
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;
  virtual ~OpenInput() = default;

  /// Does not block; the same at each call.
  [[nodiscard]] virtual const InputFacts& facts() const noexcept = 0;

  /// Reads on, from the beginning to the end: no input is read twice, and no part of one. May wait.
  ///
  /// Called with 2 bytes first, to see whether it is a JPEG; an input may be dropped after that.
  /// Not called any more once more than options.limits.max_input_bytes have come.
  /// @param into  host, writable, at least one byte; not kept: what came is copied on
  /// @return how many bytes came, at most into.size(); 0 at the end. Any error, which is that of
  ///         this input alone
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::uint8_t> into) = 0;
};

/// A stream of inputs. What its functions throw counts as an error: busy for std::bad_alloc,
/// otherwise internal.
class FRAMEWIRE_API Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// The next input; may wait, and should look at the batch's `stop` if it does so for long. One
  /// thread at a time.
  ///
  /// Inputs that were handed out and are not done: about four times jobs × group of its Settings,
  /// at most. A source that can be read but once, in order, such as a tar on a pipe, may put their
  /// bytes into Input::data.
  /// @return nothing at the end. An error ends the listing: the inputs before are done, and the
  ///         error is Summary::stopped_by. For what concerns one input, or one folder of many, hand
  ///         out an Input with an `error`
  [[nodiscard]] virtual Result<std::optional<Input>> next() = 0;

  /// Opens an input that next() has handed out, without an error. Any number of threads at once,
  /// also while next() runs.
  /// @return any error, which is that of this input alone
  [[nodiscard]] virtual Result<std::unique_ptr<OpenInput>> open(const Input& input) const = 0;

  /// Whether this source sees to it that names are as Input::name says, each of them once. Where it
  /// does not, the batch does: it refuses inputs with other names, and remembers all that it has
  /// met, in about 50 bytes each.
  [[nodiscard]] virtual bool checks_names() const noexcept { return false; }
};

}  // namespace framewire::batch
