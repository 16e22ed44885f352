#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <base/file_descriptor.hpp>
#include <batch/file_place.hpp>
#include <batch/manifest.hpp>
#include <batch/posix_file.hpp>
#include <batch/row.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Status> not_usable(const std::string& path, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(path));
}

/// Fills `piece` from what the file has at `offset`.
Result<void> read_at(int fd, const std::string& path, std::span<char> piece, off_t offset) {
  while (!piece.empty()) {
    const ssize_t got = ::pread(fd, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(io_error(path, "read the manifest", errno));
    if (got == 0) {
      return fail(Status(StatusCode::kIoError, "became shorter while it was read").about(path));
    }
    piece = piece.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return {};
}

/// The offset one past the last newline, or 0.
Result<off_t> end_of_whole_lines(int fd, const std::string& path, off_t bytes) {
  constexpr off_t kPiece = 4096;
  std::array<char, kPiece> buffer;
  while (bytes > 0) {
    const off_t start = std::max<off_t>(0, bytes - kPiece);
    const auto piece = std::span(buffer).first(static_cast<std::size_t>(bytes - start));
    if (auto read = read_at(fd, path, piece, start); !read) return fail(read.error());
    const auto newline = std::string_view(piece.data(), piece.size()).rfind('\n');
    if (newline != std::string_view::npos) return start + static_cast<off_t>(newline) + 1;
    bytes = start;
  }
  return 0;
}

/// Hands out what whole lines a file has. Of one that is longer than any row only the beginning is
/// in memory, and nothing is handed out.
void for_each_line(std::ifstream& file, const std::function<void(std::string_view)>& take) {
  std::string line;
  std::vector<char> piece(64u << 10);
  bool is_too_long = false;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
    std::string_view text(piece.data(), static_cast<std::size_t>(file.gcount()));
    for (;;) {
      const std::size_t end = text.find('\n');
      is_too_long = is_too_long || text.substr(0, end).size() > kMaxRowBytes - line.size();
      if (!is_too_long) line += text.substr(0, end);
      if (end == std::string_view::npos) break;
      if (!is_too_long) take(line);
      is_too_long = false;
      line.clear();
      text.remove_prefix(end + 1);
    }
  }
  if (!is_too_long && !line.empty()) take(line);
}

/// A line of a file, without its newline.
struct FileLine {
  std::string text;
  bool ended = false;  ///< by a newline, and not by the end of the file or of what a row may have
};

Result<FileLine> read_line(int fd, const std::string& path, off_t start) {
  constexpr std::size_t kPiece = 4096;
  FileLine line;
  while (line.text.size() < kMaxRowBytes) {
    char piece[kPiece];
    const ssize_t got = ::pread(fd, piece, kPiece, start + static_cast<off_t>(line.text.size()));
    if (got < 0) return fail(io_error(path, "read the manifest", errno));
    if (got == 0) break;
    const std::string_view text(piece, static_cast<std::size_t>(got));
    const auto end = text.find('\n');
    line.text += text.substr(0, end);
    line.ended = end != std::string_view::npos;
    if (line.ended) break;
  }
  return line;
}

// A row, or what a full disk or a crash has left of one at the end of the file.
bool is_row_of_ours(const FileLine& line) {
  if (is_row(line.text)) return true;
  return !line.ended && line.text.size() < kMaxRowBytes && is_cut_row(line.text);
}

// Another file, named by mistake or by a link, must never be shortened or added to.
Result<void> check_first_row(int fd, const std::string& path) {
  const auto line = read_line(fd, path, 0);
  if (!line) return fail(line.error());
  if (is_row_of_ours(*line)) return {};
  if (line->ended && is_cut_row(line->text)) {
    // Behind a row that it could not write whole, a writer goes on in a new line.
    const auto next = read_line(fd, path, static_cast<off_t>(line->text.size()) + 1);
    if (!next) return fail(next.error());
    if (next->text.empty() || is_row_of_ours(*next)) return {};
  }
  return not_usable(path,
                    "its first line is no row of a manifest, a JSON object with input, name, "
                    "status and options_hash; accepted: a manifest of an earlier run, or a name "
                    "that is free");
}

// Each writer has a shared lock as long as it lives. @return whether nobody else has one; where the
// file system has no locks, nobody is seen
bool is_only_writer(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  return errno != EWOULDBLOCK || ::flock(fd, LOCK_SH) != 0;
}

// Cuts a torn tail off, or ends it where others may be writing behind it.
Result<void> mend(int fd, const std::string& path, off_t bytes, bool alone) {
  const auto end = end_of_whole_lines(fd, path, bytes);
  if (!end) return fail(end.error());
  if (*end == bytes) return {};
  if (!alone) {
    const int error = write_all(fd, {reinterpret_cast<const std::uint8_t*>("\n"), 1});
    if (error != 0) return fail(io_error(path, "end the torn last line", error));
    return {};
  }
  if (::ftruncate(fd, *end) != 0) {
    return fail(io_error(path, "cut the torn last line off", errno));
  }
  return {};
}

Result<base::FileDescriptor> open_file(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  const auto place = find_file_place(path);
  if (!place) return fail(place.error());
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC;
  base::FileDescriptor file(::openat(place->folder.get(), place->name.c_str(),
                                     flags | (place->magic ? 0 : O_NOFOLLOW), 0666));
  if (!file.valid()) return fail(io_error(path, "open the manifest", errno));
  return file;
}

/// A manifest in a file, with what it said when it was opened.
class ManifestFile final : public Manifest {
 public:
  ManifestFile(ManifestWriter writer, std::optional<DoneIndex> done)
      : writer_(std::move(writer)), done_(std::move(done)) {}
  Result<void> append(const Row& row) override { return writer_.append(row); }
  const DoneIndex* done() const noexcept override { return done_ ? &*done_ : nullptr; }
  std::vector<FileId> files() const override { return {writer_.id()}; }

 private:
  ManifestWriter writer_;
  const std::optional<DoneIndex> done_;
};

}  // namespace

Result<ManifestWriter> ManifestWriter::open(const std::string& path, OpenManifest mode) {
  auto file = open_file(path);
  if (!file) return fail(file.error());
  const bool alone = is_only_writer(file->get());
  struct stat facts {};
  if (::fstat(file->get(), &facts) != 0) return fail(io_error(path, "examine", errno));
  if (S_ISREG(facts.st_mode) && facts.st_size != 0) {
    if (auto ours = check_first_row(file->get(), path); !ours) return fail(ours.error());
    if (mode == OpenManifest::kNew) {
      return not_usable(path, "has rows already; give --resume to continue it, or another name");
    }
    if (auto mended = mend(file->get(), path, facts.st_size, alone); !mended) {
      return fail(mended.error());
    }
  }
  if (alone) (void)::flock(file->get(), LOCK_SH);
  return ManifestWriter(std::move(*file), path);
}

Result<void> ManifestWriter::append(const Row& row) {
  std::string line = to_json_line(row);
  const std::lock_guard lock(mutex_);
  if (torn_) line.insert(line.begin(), '\n');
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(line.data());
  const int error = write_all(file_.get(), {bytes, line.size()});
  torn_ = error != 0;
  if (error != 0) {
    return fail(io_error(path_, "add a row to the manifest", error));
  }
  return {};
}

FileId ManifestWriter::id() const {
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino};
}

Result<DoneIndex> read_done_index(const std::string& path) {
  DoneIndex index;
  std::error_code error;
  if (!fs::exists(path, error)) return index;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(io_error(path, "read the manifest", errno));
  for_each_line(file, [&](std::string_view line) {
    if (const auto row = parse_row(line)) index.add(*row);
  });
  if (file.bad()) return fail(io_error(path, "read the manifest", errno));
  index.seal();
  return index;
}

Result<std::unique_ptr<Manifest>> open_manifest(const std::string& path, OpenManifest mode) {
  auto writer = ManifestWriter::open(path, mode);
  if (!writer) return fail(writer.error());
  std::optional<DoneIndex> done;
  if (mode == OpenManifest::kResume) {
    auto read = read_done_index(path);
    if (!read) return fail(read.error());
    done = std::move(*read);
  }
  return std::make_unique<ManifestFile>(std::move(*writer), std::move(done));
}

}  // namespace framewire::batch
