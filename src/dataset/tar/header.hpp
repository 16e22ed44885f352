// One header block of a tar archive: POSIX.1-2017 "pax", ustar interchange format, and GNU's ways.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <dataset/tar/pax.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::dataset::tar {

inline constexpr std::size_t kBlockBytes = 512;
using TarBlock = std::span<const std::uint8_t, kBlockBytes>;

/// The `typeflag` field.
enum TypeFlag : char {
  kRegular = '0',
  kRegularV7 = '\0',
  kHardLink = '1',
  kSymbolicLink = '2',
  kCharacterDevice = '3',
  kBlockDevice = '4',
  kDirectory = '5',
  kFifo = '6',
  kContiguous = '7',
  kGnuLongLink = 'K',  ///< the content is the next member's link target
  kGnuLongName = 'L',  ///< the content is the next member's name
  kGnuSparse = 'S',    ///< the content lacks holes that the header lists
  kPaxGlobal = 'g',    ///< the content is attributes of all members after it
  kPaxNext = 'x',      ///< the content is attributes of the next member
};

/// The fields of a header block.
struct Header {
  std::string name;  ///< with ustar's prefix
  char type = kRegular;
  std::uint64_t size = 0;  ///< bytes of content
  std::uint32_t mode = 0;  ///< twelve bits
  std::uint64_t user = 0;
  std::uint64_t group = 0;
  std::int64_t mtime_s = 0;  ///< since 1970
  std::string user_name;
  std::string group_name;
  bool more_sparse_blocks =
      false;  ///< kGnuSparse: a block of holes lies between header and content
};

/// Whether all bytes are zero, as in the two blocks that end an archive.
[[nodiscard]] bool is_zero(TarBlock block) noexcept;

/// Reads a header block. Numbers are octal digits or GNU's base 256.
/// @return invalid_input for a wrong checksum, or a number that is none, negative or beyond 2^63 −
/// 1
[[nodiscard]] Result<Header> parse_header(TarBlock block);

/// Bytes of content rounded up to whole blocks; nothing beyond 2^63 − 1.
[[nodiscard]] std::optional<std::uint64_t> padded(std::uint64_t size) noexcept;

/// The header blocks of a regular file, all of them: ustar where everything fits into its fields, a
/// pax header before it where something does not, or where a global pax header says otherwise. The
/// same for the same arguments.
/// @param header  type, more_sparse_blocks are not looked at
/// @param global  what global pax headers before it say, which wins over ustar's fields; may be
/// null
[[nodiscard]] std::vector<std::uint8_t> encode_header(const Header& header,
                                                      const PaxAttributes* global = nullptr);

}  // namespace framewire::dataset::tar
