// Walks through an archive, member by member, by its headers alone.
#pragma once

#include <cstdint>
#include <dataset/tar/bytes_at.hpp>
#include <dataset/tar/header.hpp>
#include <dataset/tar/pax.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::dataset::tar {

/// One member, and where it lies in its archive.
struct Member {
  /// Its own pax attributes and GNU long names applied, and where they are silent the global ones;
  /// size as stored.
  Header header;
  bool sparse = false;  ///< its content lacks holes, in any of GNU's formats
  /// What global pax headers before it say; null where there are none.
  std::shared_ptr<const PaxAttributes> global;
  std::uint64_t begin = 0;    ///< offset of its first header block, those of pax and GNU included
  std::uint64_t content = 0;  ///< offset of its content
  std::uint64_t end = 0;      ///< offset of what follows its padding
  [[nodiscard]] bool is_file() const noexcept;
};

/// Reads headers in pieces of up to 64 KB and passes over contents. Follows nothing that an archive
/// says: names are bytes. Memory: the piece, one extended header of at most kMaxExtendedBytes, and
/// what global pax headers say.
class Reader {
 public:
  /// Bound on a pax header or a GNU long name: GNU tar's own names end at some hundred KB.
  static constexpr std::uint64_t kMaxExtendedBytes = 1 << 20;
  /// Bound on a member's names together: what is read can be written, and read again.
  static constexpr std::uint64_t kMaxNamesBytes = kMaxExtendedBytes / 2;
  /// Bound on the names that global pax headers give to all members: each member has a copy.
  static constexpr std::uint64_t kMaxGlobalNamesBytes = 4096;
  /// Bound on the zeros that end an archive: records of tar are 10 KiB, and up to 10 MiB for tapes
  /// (--blocking-factor 20480).
  static constexpr std::uint64_t kMaxEndBytes = 16u << 20;

  /// @param bytes  lives as long as this
  /// @param total  how many bytes there are
  Reader(BytesAt& bytes, std::uint64_t total) : bytes_(bytes), total_(total) {}

  /// The next member. A global pax header is a member of its own, and applies to all members after
  /// it: what it says wins over ustar's fields, and a member's own extended headers win over it
  /// (POSIX.1-2017, pax, "pax Header Block"). Later global headers replace single values.
  ///
  /// An archive ends with a block of zeros that is followed by nothing, or by up to kMaxEndBytes of
  /// zeros together: what lies behind a hole would be lost without a word. After an error there is
  /// no further member: damaged().begin says where the readable part ends.
  /// @return nothing at the end; invalid_input for what is no archive, is cut short, or goes on
  ///         behind its end, with the offset; unsupported for compressed archives, and for a global
  ///         pax header that states a size, or lies between a member and its own; too_large for
  ///         headers beyond the bounds; io_error
  [[nodiscard]] Result<std::optional<Member>> next();

  /// No further member is read: the one that came last is not wanted. It is damaged() then.
  void end() noexcept { ended_ = true; }

  /// After an error: what is known of the member where it was met. begin is always right, the name
  /// is empty where it is not known.
  [[nodiscard]] const Member& damaged() const noexcept { return current_; }
  /// Whether it lies behind the blocks that end the archive: all members have been read.
  [[nodiscard]] bool is_behind_end() const noexcept { return is_behind_end_; }

  /// The first bytes of a member's content, at most 512.
  [[nodiscard]] Result<std::span<const std::uint8_t>> peek(const Member& member);

 private:
  /// What extended headers say of the member after them.
  struct Extended {
    PaxAttributes attributes;
    std::optional<std::string> gnu_name;
    bool any = false;  ///< there was one
  };
  [[nodiscard]] Result<bool> at_end();
  [[nodiscard]] Result<void> check_end();
  [[nodiscard]] Result<std::uint64_t> pass_zeros(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] Result<TarBlock> block_at(std::uint64_t offset);
  [[nodiscard]] Result<Header> header_at(std::uint64_t offset);
  [[nodiscard]] Result<std::string> read_content(const Header& header);
  [[nodiscard]] Result<PaxAttributes> read_attributes(const Header& header);
  [[nodiscard]] Result<void> read_extended(const Header& header, Extended& extended);
  [[nodiscard]] Result<void> read_global(const Header& header);
  void apply(const Extended& extended, Header& header);
  [[nodiscard]] Result<void> finish(Header header, const Extended& extended);
  [[nodiscard]] Result<void> pass_sparse_blocks();
  [[nodiscard]] Result<void> fill(std::uint64_t offset);
  [[nodiscard]] tl::unexpected<Status> cut_short(std::uint64_t wanted_end) const;

  BytesAt& bytes_;
  const std::uint64_t total_;
  std::uint64_t position_ = 0;  ///< of the next block to be read as a header
  Member current_;
  bool is_behind_end_ = false;
  std::shared_ptr<const PaxAttributes> global_;  ///< of all global pax headers so far
  std::vector<std::uint8_t> piece_;
  std::uint64_t piece_offset_ = 0;
  bool ended_ = false;
};

}  // namespace framewire::dataset::tar
