#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <batch/atomic_file.hpp>
#include <batch/file_place.hpp>
#include <batch/names.hpp>
#include <batch/permissions.hpp>
#include <cerrno>
#include <cstring>
#include <dataset/shard_output.hpp>
#include <dataset/tar/header.hpp>
#include <filesystem>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;
using batch::write_error;

tl::unexpected<batch::WriteError> failed(const std::string& path, std::string_view doing,
                                         int error) {
  return tl::unexpected<batch::WriteError>(write_error(path, doing, error));
}

tl::unexpected<batch::WriteError> failed(Status status) {
  return tl::unexpected<batch::WriteError>({std::move(status), false});
}

// The folder of a name below another, made where missing; no link is followed on the way.
tl::expected<base::FileDescriptor, batch::WriteError> open_below(const OutputRoot& root,
                                                                 const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const std::string path = root.path + "/" + name;
  base::FileDescriptor folder(::fcntl(root.folder.get(), F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) return failed(path, "open the folder of", errno);
  for (const fs::path& part : fs::path(name).parent_path()) {
    if (::mkdirat(folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST) {
      return failed(path, "make the folder of", errno);
    }
    base::FileDescriptor next(::openat(folder.get(), part.c_str(), kFlags));
    if (!next.valid()) return failed(path, "open the folder of", errno);
    folder = std::move(next);
  }
  return folder;
}

std::optional<std::uint64_t> size_of(int folder, const std::string& name) {
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(facts.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(facts.st_size);
}

int write_at_offset(int file, std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno != EINTR) return errno;
    if (done > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
  }
  return 0;
}

}  // namespace

Result<OutputRoot> open_output_root(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error && !fs::is_directory(path)) {
    return fail(batch::io_error(path, "make the folder", error.value()));
  }
  auto folder = batch::open_folder_of_ours(path);
  if (!folder) return fail(folder.error());
  // For fsync(), which takes no descriptor that was opened for its path alone.
  base::FileDescriptor readable(::openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid()) return fail(batch::io_error(path, "open the folder", errno));
  return OutputRoot{std::move(readable), path};
}

tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> ShardOutput::open(
    const OutputRoot& outputs, const OutputRoot& manifests, const std::string& name) {
  std::unique_ptr<ShardOutput> made(new ShardOutput());
  ShardOutput& out = *made;
  out.path_ = outputs.path + "/" + name;
  out.manifest_path_ = manifests.path + "/" + manifest_name(name);
  if (auto good = batch::check_name(name); !good) return failed(Status(good.error()));
  out.name_ = fs::path(name).filename().string();
  auto folder = open_below(outputs, name);
  if (!folder) return tl::unexpected<batch::WriteError>(folder.error());
  out.folder_ = std::move(*folder);
  folder = open_below(manifests, name);
  if (!folder) return tl::unexpected<batch::WriteError>(folder.error());
  out.manifest_folder_ = std::move(*folder);
  // In the folder of manifests, since those decide what is done.
  auto claim = batch::TemporaryFile::claim(out.manifest_folder_.get(), out.name_);
  if (!claim.valid() && errno == EWOULDBLOCK) return nullptr;
  if (!claim.valid()) return failed(out.manifest_path_, "create", errno);
  out.claim_.emplace(std::move(claim));
  return made;
}

std::optional<ShardRecord> ShardOutput::earlier() const {
  auto record = read_record(manifest_folder_.get(), manifest_name(name_));
  if (!record || size_of(folder_.get(), name_) != record->bytes_out) return std::nullopt;
  return record;
}

batch::WriteResult ShardOutput::flush() {
  if (!file_) {
    auto file = batch::TemporaryFile::make(folder_.get());
    if (!file.valid()) return failed(path_, "create", errno);
    file_.emplace(std::move(file));
  }
  const std::span<const std::uint8_t> bytes(piece_.data(), filled_);
  if (const int error = write_at_offset(file_->get(), bytes, written_); error != 0) {
    return failed(path_, "write", error);
  }
  written_ += filled_;
  filled_ = 0;
  return {};
}

batch::WriteResult ShardOutput::append(std::span<const std::uint8_t> bytes) {
  piece_.resize(kPieceBytes);
  hash_.add(bytes);
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), piece_.size() - filled_);
    std::memcpy(piece_.data() + filled_, bytes.data(), some);
    filled_ += some;
    bytes = bytes.subspan(some);
    if (filled_ < piece_.size()) break;
    if (auto flushed = flush(); !flushed) return flushed;
  }
  return {};
}

tl::expected<ShardOutput::Copied, batch::WriteError> ShardOutput::copy(
    ShardFile& from, std::uint64_t begin, std::uint64_t end, std::optional<Status>& problem) {
  piece_.resize(kPieceBytes);
  while (begin < end) {
    const auto some =
        static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, piece_.size() - filled_));
    const std::span<std::uint8_t> into(piece_.data() + filled_, some);
    const auto got = from.read_at(begin, into);
    if (!got || *got != some) {
      problem = got ? batch::io_error(from.path(), "read: the file has become shorter", EIO)
                    : got.error();
      return Copied::kUnreadable;
    }
    hash_.add(into);
    filled_ += some;
    begin += some;
    if (filled_ < piece_.size()) continue;
    if (auto flushed = flush(); !flushed) return tl::unexpected<batch::WriteError>(flushed.error());
  }
  return Copied::kAll;
}

void ShardOutput::mark(OutputMark& mark) const {
  mark.position = written_ + filled_;
  hash_.copy_to(mark.hash);
}

// Bytes that the file has already are written over, or cut off in the end.
void ShardOutput::rewind(const OutputMark& mark) {
  if (mark.position >= written_) {
    filled_ = static_cast<std::size_t>(mark.position - written_);
  } else {
    written_ = mark.position;
    filled_ = 0;
  }
  mark.hash.copy_to(hash_);
}

batch::WriteResult ShardOutput::append_row(std::string_view line) {
  rows_ += line;
  if (rows_.size() < kRowBytes) return {};
  return flush_rows();
}

batch::WriteResult ShardOutput::flush_rows() {
  if (!manifest_) {
    auto file = batch::TemporaryFile::make(manifest_folder_.get());
    if (!file.valid()) return failed(manifest_path_, "create", errno);
    manifest_.emplace(std::move(file));
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows_.data());
  if (const int error = batch::write_all(manifest_->get(), {bytes, rows_.size()}); error != 0) {
    return failed(manifest_path_, "write", error);
  }
  rows_.clear();
  return {};
}

batch::WriteResult ShardOutput::finish_archive() {
  const std::vector<std::uint8_t> end(2 * tar::kBlockBytes);
  if (auto appended = append(end); !appended) return appended;
  if (auto flushed = flush(); !flushed) return flushed;
  if (::ftruncate(file_->get(), static_cast<off_t>(written_)) != 0) {
    return failed(path_, "cut", errno);
  }
  if (::fsync(file_->get()) != 0) return failed(path_, "flush", errno);
  return {};
}

// What lies in the output's place now may be replaced only where it is a file, and no input.
batch::WriteResult ShardOutput::check_place(const Commit& how) const {
  struct stat facts {};
  if (::fstatat(folder_.get(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed(path_, "examine", errno);
  }
  if (how.inputs != nullptr && how.inputs->contains({facts.st_dev, facts.st_ino})) {
    return failed(Status(StatusCode::kInvalidInput,
                         "is an input of this batch; accepted: another output folder")
                      .about(path_));
  }
  if (S_ISREG(facts.st_mode)) return {};
  return failed(Status(StatusCode::kIoError,
                       "is no file, and is not replaced; accepted: a file, or a name that is free")
                    .about(path_));
}

// The old manifest goes first: it must never tell of the new output.
batch::WriteResult ShardOutput::publish(const Commit& how) {
  const std::string manifest = manifest_name(name_);
  const int error =
      batch::give_permissions(file_->get(), how.source, folder_.get(), name_, nullptr, how.mode);
  if (error != 0) return failed(path_, "set the permissions of", error);
  const int manifest_error = batch::give_permissions(
      manifest_->get(), how.source, manifest_folder_.get(), manifest, nullptr, how.mode);
  if (manifest_error != 0) return failed(manifest_path_, "set the permissions of", manifest_error);
  if (::unlinkat(manifest_folder_.get(), manifest.c_str(), 0) != 0 && errno != ENOENT) {
    return failed(manifest_path_, "replace", errno);
  }
  if (::renameat(folder_.get(), file_->name().c_str(), folder_.get(), name_.c_str()) != 0) {
    return failed(path_, "rename to", errno);
  }
  file_->keep();
  if (::fsync(folder_.get()) != 0) return failed(path_, "flush the folder of", errno);
  if (::renameat(manifest_folder_.get(), manifest_->name().c_str(), manifest_folder_.get(),
                 manifest.c_str()) != 0) {
    return failed(manifest_path_, "rename to", errno);
  }
  manifest_->keep();
  if (::fsync(manifest_folder_.get()) != 0) {
    return failed(manifest_path_, "flush the folder of", errno);
  }
  return {};
}

batch::WriteResult ShardOutput::commit(ShardRecord& record, const Commit& how) {
  if (auto finished = finish_archive(); !finished) return finished;
  record.bytes_out = written_;
  record.hash_out = hash_.value();
  rows_ += to_json_line(record);
  if (auto flushed = flush_rows(); !flushed) return flushed;
  if (::fsync(manifest_->get()) != 0) return failed(manifest_path_, "flush", errno);
  if (auto free = check_place(how); !free) return free;
  return publish(how);
}

}  // namespace framewire::dataset
