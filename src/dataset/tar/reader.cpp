#include <fmt/format.h>
#include <algorithm>
#include <dataset/tar/reader.hpp>

namespace framewire::dataset::tar {
namespace {

/// What is read at once where members are small, and where the last one was not: then the next
/// header is far, and what lies between would be read for nothing.
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kSmallPieceBytes = 4096;
/// pax and GNU headers that may precede one member: each of the kinds once, and their repetitions
/// by programs that append.
constexpr int kMaxExtendedHeaders = 16;

bool has_content(char type) {
  switch (type) {
    case kHardLink:
    case kSymbolicLink:
    case kCharacterDevice:
    case kBlockDevice:
    case kDirectory:
    case kFifo:
      return false;  // whatever size the header states, as GNU tar and Python read it
    default:
      return true;
  }
}

std::string_view compressor_of(TarBlock block) {
  if (block[0] == 0x1F && block[1] == 0x8B) return "gzip";
  if (block[0] == 0x28 && block[1] == 0xB5 && block[2] == 0x2F && block[3] == 0xFD) return "zstd";
  if (block[0] == 0xFD && block[1] == '7' && block[2] == 'z') return "xz";
  if (block[0] == 'B' && block[1] == 'Z' && block[2] == 'h') return "bzip2";
  return "";
}

}  // namespace

bool Member::is_file() const noexcept {
  switch (header.type) {
    case kRegular:
    case kRegularV7:
    case kContiguous:
      return !sparse;
    default:
      return false;
  }
}

tl::unexpected<Status> Reader::cut_short(std::uint64_t wanted_end) const {
  const std::string what = current_.header.name.empty()
                               ? std::string("a header")
                               : fmt::format("the member {}", current_.header.name);
  return fail(
      Status(StatusCode::kInvalidInput,
             fmt::format("the archive is cut short: {} goes on to byte {}, and there are {}", what,
                         wanted_end, total_))
          .at(current_.begin));
}

Result<void> Reader::fill(std::uint64_t offset) {
  const bool far = offset > piece_offset_ + piece_.size() + kPieceBytes;
  const std::uint64_t wanted =
      std::min<std::uint64_t>(far ? kSmallPieceBytes : kPieceBytes, total_ - offset);
  piece_.resize(static_cast<std::size_t>(wanted));
  piece_offset_ = offset;
  const auto got = bytes_.read_at(offset, piece_);
  if (!got) {
    piece_.clear();
    return fail(got.error());
  }
  piece_.resize(*got);
  return {};
}

Result<TarBlock> Reader::block_at(std::uint64_t offset) {
  if (offset > total_ || total_ - offset < kBlockBytes) return cut_short(offset + kBlockBytes);
  const auto holds = [&] {
    return offset >= piece_offset_ && offset - piece_offset_ + kBlockBytes <= piece_.size();
  };
  if (!holds()) {
    if (auto filled = fill(offset); !filled) return fail(filled.error());
    if (!holds()) return cut_short(offset + kBlockBytes);
  }
  return TarBlock(piece_.data() + (offset - piece_offset_), kBlockBytes);
}

// One block of zeros at the very end is what some programs leave.
Result<bool> Reader::at_end() {
  const auto block = block_at(position_);
  if (!block) {
    if (position_ == total_ && block.error().code() == StatusCode::kInvalidInput) {
      return fail(Status(StatusCode::kInvalidInput,
                         "the archive is cut short: it lacks the blocks of zeros that end it")
                      .at(position_));
    }
    return fail(block.error());
  }
  if (!is_zero(*block)) return false;
  if (position_ + kBlockBytes == total_) return true;
  const auto second = block_at(position_ + kBlockBytes);
  if (!second) return fail(second.error());
  if (is_zero(*second)) {
    is_behind_end_ = true;
    if (auto good = check_end(); !good) return fail(good.error());
    return true;
  }
  return fail(Status(StatusCode::kInvalidInput, "a lone block of zeros lies where a header should")
                  .at(position_));
}

// @return the first byte that is not zero, or `end`
Result<std::uint64_t> Reader::pass_zeros(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end;) {
    if (at < piece_offset_ || at - piece_offset_ >= piece_.size()) {
      if (auto filled = fill(at); !filled) return fail(filled.error());
      if (piece_.empty()) return cut_short(end);
    }
    const auto some = std::span(piece_).subspan(static_cast<std::size_t>(at - piece_offset_));
    const auto other = std::ranges::find_if(some, [](std::uint8_t byte) { return byte != 0; });
    at += static_cast<std::uint64_t>(other - some.begin());
    if (other != some.end()) return std::min(at, end);
  }
  return end;
}

Result<void> Reader::check_end() {
  const std::uint64_t end = total_ - position_ > kMaxEndBytes ? position_ + kMaxEndBytes : total_;
  const auto zeros = pass_zeros(position_, end);
  if (!zeros) return fail(zeros.error());
  if (*zeros == total_) return {};
  if (*zeros == end) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("more than {} bytes of zeros end the archive, as in a file that "
                                   "was made in its full size and not filled; accepted: up to {}",
                                   kMaxEndBytes, kMaxEndBytes))
                    .at(position_));
  }
  current_.begin = *zeros;
  return fail(Status(StatusCode::kInvalidInput,
                     "something follows the zeros that end the archive; accepted: one archive, "
                     "and nothing but zeros behind it (tar --concatenate joins several to one)")
                  .at(*zeros));
}

Result<Header> Reader::header_at(std::uint64_t offset) {
  const auto block = block_at(offset);
  if (!block) return fail(block.error());
  auto header = parse_header(*block);
  if (header) return header;
  const std::string_view compressor = offset == 0 ? compressor_of(*block) : "";
  if (!compressor.empty()) {
    return fail(
        Status(StatusCode::kUnsupported,
               fmt::format("is compressed by {}; accepted: tar archives as they are", compressor))
            .at(0));
  }
  return fail(Status(header.error()).at(offset));
}

Result<std::string> Reader::read_content(const Header& header) {
  if (header.size > kMaxExtendedBytes) {
    return fail(
        Status(StatusCode::kTooLarge, fmt::format("an extended header has {} bytes; accepted: {}",
                                                  header.size, kMaxExtendedBytes))
            .at(position_));
  }
  const std::uint64_t content = position_ + kBlockBytes;
  const std::uint64_t end = content + *padded(header.size);
  if (end > total_) return cut_short(end);
  std::string text(static_cast<std::size_t>(header.size), '\0');
  const auto got =
      bytes_.read_at(content, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  if (!got) return fail(got.error());
  if (*got != text.size()) return cut_short(end);
  return text;
}

Result<PaxAttributes> Reader::read_attributes(const Header& header) {
  const auto text = read_content(header);
  if (!text) return fail(text.error());
  auto attributes = parse_records(*text);
  if (!attributes) return fail(Status(attributes.error()).at(position_));
  return attributes;
}

Result<void> Reader::read_extended(const Header& header, Extended& extended) {
  if (header.type == kPaxNext) {
    auto attributes = read_attributes(header);
    if (!attributes) return fail(attributes.error());
    extended.attributes = std::move(*attributes);
  } else {
    const auto text = read_content(header);
    if (!text) return fail(text.error());
    if (header.type == kGnuLongName) extended.gnu_name = text->substr(0, text->find('\0'));
  }
  extended.any = true;
  position_ += kBlockBytes + *padded(header.size);
  return {};
}

// Of a size of all members GNU tar makes another archive than bsdtar and Python.
Result<void> Reader::read_global(const Header& header) {
  const auto attributes = read_attributes(header);
  if (!attributes) return fail(attributes.error());
  if (attributes->size) {
    return fail(Status(StatusCode::kUnsupported,
                       "a global pax header states a size, which is that of all members after it; "
                       "accepted: sizes in the members' own headers")
                    .at(position_));
  }
  PaxAttributes all = global_ ? *global_ : PaxAttributes();
  all.update(*attributes);
  const auto bytes_of = [](const auto& text) { return text ? text->size() : 0; };
  if (bytes_of(all.path) + bytes_of(all.sparse_name) + bytes_of(all.user_name) +
          bytes_of(all.group_name) >
      kMaxGlobalNamesBytes) {
    return fail(
        Status(StatusCode::kTooLarge,
               fmt::format("global pax headers give all members names of more than {} bytes",
                           kMaxGlobalNamesBytes))
            .at(position_));
  }
  global_ = std::make_shared<const PaxAttributes>(std::move(all));
  return {};
}

// Between the header and the content of GNU's old sparse format.
Result<void> Reader::pass_sparse_blocks() {
  constexpr std::size_t kMoreOffset = 504;
  for (bool more = true; more; current_.content += kBlockBytes) {
    const auto block = block_at(current_.content);
    if (!block) return fail(block.error());
    more = (*block)[kMoreOffset] != 0;
  }
  return {};
}

void Reader::apply(const Extended& extended, Header& header) {
  PaxAttributes all = global_ ? *global_ : PaxAttributes();
  if (extended.gnu_name) all.path = extended.gnu_name;
  all.update(extended.attributes);
  if (all.path) header.name = *all.path;
  if (all.sparse_name) header.name = *all.sparse_name;
  if (all.size) header.size = *all.size;
  if (all.mtime_s) header.mtime_s = *all.mtime_s;
  if (all.user) header.user = *all.user;
  if (all.group) header.group = *all.group;
  if (all.user_name) header.user_name = *all.user_name;
  if (all.group_name) header.group_name = *all.group_name;
  current_.sparse = current_.sparse || all.sparse;
}

Result<void> Reader::finish(Header header, const Extended& extended) {
  current_.sparse = header.type == kGnuSparse;
  current_.global = global_;
  if (header.type != kPaxGlobal) apply(extended, header);
  if (header.name.size() + header.user_name.size() + header.group_name.size() > kMaxNamesBytes) {
    return fail(Status(StatusCode::kTooLarge,
                       fmt::format("a member's names have more than {} bytes", kMaxNamesBytes))
                    .at(current_.begin));
  }
  // A folder, as archives older than ustar have it.
  if (header.type == kRegularV7 && header.name.ends_with('/')) header.type = kDirectory;
  if (!has_content(header.type)) header.size = 0;
  current_.content = position_ + kBlockBytes;
  const bool more_sparse_blocks = header.more_sparse_blocks;
  current_.header = std::move(header);
  if (more_sparse_blocks) {
    if (auto passed = pass_sparse_blocks(); !passed) return fail(passed.error());
  }
  const auto bytes = padded(current_.header.size);
  if (!bytes || *bytes > total_ || current_.content > total_ - *bytes) {
    return cut_short(bytes ? current_.content + *bytes : current_.header.size);
  }
  current_.end = position_ = current_.content + *bytes;
  return {};
}

Result<std::optional<Member>> Reader::next() {
  if (ended_) return std::nullopt;
  current_ = {};
  current_.begin = position_;
  ended_ = true;  // unless a member is found
  const auto end = at_end();
  if (!end) return fail(end.error());
  if (*end) return std::nullopt;
  Extended extended;
  for (int headers = 0; headers <= kMaxExtendedHeaders; ++headers) {
    auto header = header_at(position_);
    if (!header) return fail(header.error());
    switch (header->type) {
      case kPaxNext:
      case kGnuLongName:
      case kGnuLongLink:
        if (auto read = read_extended(*header, extended); !read) return fail(read.error());
        continue;
      case kPaxGlobal:
        if (extended.any) {
          return fail(Status(StatusCode::kUnsupported,
                             "a global pax header lies between a member and its extended header; "
                             "accepted: global headers before those")
                          .at(position_));
        }
        if (auto read = read_global(*header); !read) return fail(read.error());
        break;
      default:
        break;
    }
    if (auto finished = finish(std::move(*header), extended); !finished) {
      return fail(finished.error());
    }
    ended_ = false;
    return current_;
  }
  return fail(
      Status(StatusCode::kInvalidInput,
             fmt::format("more than {} extended headers precede one member", kMaxExtendedHeaders))
          .at(current_.begin));
}

Result<std::span<const std::uint8_t>> Reader::peek(const Member& member) {
  if (member.header.size == 0) return std::span<const std::uint8_t>();
  const auto block = block_at(member.content);
  if (!block) return fail(block.error());
  return block->first(std::min<std::size_t>(
      kBlockBytes,
      static_cast<std::size_t>(std::min<std::uint64_t>(member.header.size, kBlockBytes))));
}

}  // namespace framewire::dataset::tar
