#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/running_hash.hpp>
#include <batch/atomic_file.hpp>
#include <batch/file_place.hpp>
#include <batch/identity.hpp>
#include <batch/names.hpp>
#include <batch/permissions.hpp>
#include <batch/temporary_file.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dataset/folder_outputs.hpp>
#include <dataset/output_root.hpp>
#include <dataset/tar/header.hpp>
#include <filesystem>
#include <limits>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;
using batch::write_error;

/// A time as a folder's file system has it.
using FileTime = std::pair<std::time_t, long>;

FileTime modified(const struct stat& facts) {
  return {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

// By the clock of the file system, which other hosts' files are dated by. Never, where it has none.
FileTime file_time_now(int folder) {
  const auto file = batch::TemporaryFile::make(folder);
  struct stat facts {};
  if (file.valid() && ::fstat(file.get(), &facts) == 0) return modified(facts);
  return {std::numeric_limits<std::time_t>::max(), 0};
}

/// How far an output has come: to go back to.
struct OutputMark {
  std::uint64_t position = 0;
  base::RunningHash hash;
};

class FolderOutput final : public ShardOutput {
 public:
  [[nodiscard]] static tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> open(
      const OutputRoot& outputs, const OutputRoot& manifests, const FolderOutputsOptions& options,
      FileTime since, const std::string& name);

  Result<std::optional<Earlier>> earlier() override;
  void begin_sample() override;
  batch::WriteResult drop_sample() override;
  batch::WriteResult append(std::span<const std::uint8_t> bytes) override;
  tl::expected<Copied, batch::WriteError> copy(ShardInput& from, std::uint64_t begin,
                                               std::uint64_t end,
                                               std::optional<Status>& problem) override;
  batch::WriteResult append_row(std::string_view line) override;
  tl::expected<Committed, batch::WriteError> commit(ShardRecord& record,
                                                    const batch::Permissions* source) override;

 private:
  /// A call for some twenty outputs of 20 KB, and little enough to stay in a core's cache until it
  /// is written; each shard in work has one such piece.
  static constexpr std::size_t kPieceBytes = 512u << 10;
  static constexpr std::size_t kRowBytes = 64 * 1024;

  FolderOutput(const FolderOutputsOptions& options, FileTime since)
      : options_(options), since_(since) {}
  [[nodiscard]] batch::WriteResult flush();
  [[nodiscard]] batch::WriteResult flush_rows();
  [[nodiscard]] batch::WriteResult finish_archive();
  [[nodiscard]] batch::WriteResult check_place() const;
  [[nodiscard]] batch::WriteResult publish(const batch::Permissions* source);

  const FolderOutputsOptions& options_;
  const FileTime since_;
  std::string path_;           ///< of the output, for messages
  std::string manifest_path_;  ///< likewise
  std::string name_;           ///< last part of the output's name
  bool in_root_ = false;       ///< it is all of the output's name
  base::FileDescriptor folder_;
  base::FileDescriptor manifest_folder_;
  std::optional<batch::TemporaryFile> claim_;
  std::optional<batch::TemporaryFile> file_;
  std::optional<batch::TemporaryFile> manifest_;
  std::vector<std::uint8_t> piece_;
  std::size_t filled_ = 0;
  std::uint64_t written_ = 0;  ///< offset of the piece in the file
  OutputMark mark_;            ///< where the sample begins
  std::string rows_;
  base::RunningHash hash_;
};

tl::unexpected<batch::WriteError> failed(const std::string& path, std::string_view doing,
                                         int error) {
  return tl::unexpected<batch::WriteError>(write_error(path, doing, error));
}

tl::unexpected<batch::WriteError> failed(Status status) {
  return tl::unexpected<batch::WriteError>({std::move(status), false});
}

tl::unexpected<batch::WriteError> not_made(const std::string& path, std::string_view doing,
                                           int error, bool in_root) {
  return tl::unexpected<batch::WriteError>(batch::make_error(path, doing, error, in_root));
}

// The folder of a name below another, made where missing; no link is followed on the way, and no
// mount is entered, by the rule of outputs that are files.
tl::expected<base::FileDescriptor, batch::WriteError> open_below(const OutputRoot& root,
                                                                 const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const std::string path = root.path + "/" + name;
  base::FileDescriptor folder(::fcntl(root.folder.get(), F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) return failed(path, "open the folder of", errno);
  const auto home = batch::identify(folder.get(), root.path);
  if (!home) return failed(home.error());
  bool in_root = true;
  for (const fs::path& part : fs::path(name).parent_path()) {
    // A folder that is there needs no right to make it.
    if (::mkdirat(folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST) {
      return not_made(path, "make the folder of", errno, in_root);
    }
    in_root = false;
    base::FileDescriptor next(::openat(folder.get(), part.c_str(), kFlags));
    if (!next.valid()) return failed(path, "open the folder of", errno);
    const auto identity = batch::identify(next.get(), path);
    if (!identity) return failed(identity.error());
    if (identity->mount != home->mount) {
      return failed(batch::leads_to_mount(path, part.native()));
    }
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

tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> FolderOutput::open(
    const OutputRoot& outputs, const OutputRoot& manifests, const FolderOutputsOptions& options,
    FileTime since, const std::string& name) {
  std::unique_ptr<FolderOutput> made(new FolderOutput(options, since));
  FolderOutput& out = *made;
  out.path_ = outputs.path + "/" + name;
  out.manifest_path_ = manifests.path + "/" + manifest_name(name);
  if (auto good = batch::check_name(name); !good) return failed(Status(good.error()));
  out.name_ = fs::path(name).filename().string();
  out.in_root_ = out.name_ == name;
  auto folder = open_below(outputs, name);
  if (!folder) return tl::unexpected<batch::WriteError>(folder.error());
  out.folder_ = std::move(*folder);
  folder = open_below(manifests, name);
  if (!folder) return tl::unexpected<batch::WriteError>(folder.error());
  out.manifest_folder_ = std::move(*folder);
  // In the folder of manifests, since those decide what is done.
  auto claim = batch::TemporaryFile::claim(out.manifest_folder_.get(), out.name_);
  if (!claim.valid() && errno == EWOULDBLOCK) return nullptr;
  if (!claim.valid()) {
    const int error = errno;
    const std::string claimed = batch::claim_name(out.name_);
    const fs::path path = fs::path(out.manifest_path_).parent_path() / claimed;
    // One that is there is another user's, or no file: no fault of the folder.
    const bool is_there =
        ::faccessat(out.manifest_folder_.get(), claimed.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return not_made(path.string(), "claim the shard by", error, out.in_root_ && !is_there);
  }
  out.claim_.emplace(std::move(claim));
  if (auto free = out.check_place(); !free) return tl::unexpected<batch::WriteError>(free.error());
  return made;
}

Result<std::optional<ShardOutput::Earlier>> FolderOutput::earlier() {
  const std::string manifest = manifest_name(name_);
  auto record = read_record(manifest_folder_.get(), manifest);
  if (!record || size_of(folder_.get(), name_) != record->bytes_out) return std::nullopt;
  struct stat facts {};
  // What is of the future was made before a clock was put back.
  const bool meanwhile =
      ::fstatat(manifest_folder_.get(), manifest.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
      modified(facts) > since_ && modified(facts) <= file_time_now(manifest_folder_.get());
  return Earlier{std::move(*record), meanwhile};
}

batch::WriteResult FolderOutput::flush() {
  if (!file_) {
    auto file = batch::TemporaryFile::make(folder_.get());
    if (!file.valid()) return not_made(path_, "create", errno, in_root_);
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

batch::WriteResult FolderOutput::append(std::span<const std::uint8_t> bytes) {
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

tl::expected<ShardOutput::Copied, batch::WriteError> FolderOutput::copy(
    ShardInput& from, std::uint64_t begin, std::uint64_t end, std::optional<Status>& problem) {
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

void FolderOutput::begin_sample() {
  mark_.position = written_ + filled_;
  hash_.copy_to(mark_.hash);
}

// Bytes that the file has already are written over, or cut off in the end.
batch::WriteResult FolderOutput::drop_sample() {
  if (mark_.position >= written_) {
    filled_ = static_cast<std::size_t>(mark_.position - written_);
  } else {
    written_ = mark_.position;
    filled_ = 0;
  }
  mark_.hash.copy_to(hash_);
  return {};
}

batch::WriteResult FolderOutput::append_row(std::string_view line) {
  rows_ += line;
  if (rows_.size() < kRowBytes) return {};
  return flush_rows();
}

batch::WriteResult FolderOutput::flush_rows() {
  if (!manifest_) {
    auto file = batch::TemporaryFile::make(manifest_folder_.get());
    if (!file.valid()) return not_made(manifest_path_, "create", errno, in_root_);
    manifest_.emplace(std::move(file));
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows_.data());
  if (const int error = batch::write_all(manifest_->get(), {bytes, rows_.size()}); error != 0) {
    return failed(manifest_path_, "write", error);
  }
  rows_.clear();
  return {};
}

batch::WriteResult FolderOutput::finish_archive() {
  const std::vector<std::uint8_t> end(2 * tar::kBlockBytes);
  if (auto appended = append(end); !appended) return appended;
  if (auto flushed = flush(); !flushed) return flushed;
  if (::ftruncate(file_->get(), static_cast<off_t>(written_)) != 0) {
    return failed(path_, "cut", errno);
  }
  if (::fsync(file_->get()) != 0) return failed(path_, "flush", errno);
  return {};
}

// What lies in the output's place now may be replaced only where it is a file, and no input; in the
// manifest's place, only a manifest.
batch::WriteResult FolderOutput::check_place() const {
  const auto is_free = may_replace_manifest(manifest_folder_.get(), manifest_name(name_));
  if (!is_free) return failed(batch::io_error(manifest_path_, "read", is_free.error()));
  if (!*is_free) return failed(is_no_manifest(manifest_path_));
  struct stat facts {};
  if (::fstatat(folder_.get(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed(path_, "examine", errno);
  }
  if (options_.inputs.contains({facts.st_dev, facts.st_ino})) {
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
batch::WriteResult FolderOutput::publish(const batch::Permissions* source) {
  const std::string manifest = manifest_name(name_);
  int error =
      batch::give_permissions(file_->get(), source, folder_.get(), name_, nullptr, options_.mode);
  if (error != 0) return failed(path_, "set the permissions of", error);
  error = batch::give_permissions(manifest_->get(), source, manifest_folder_.get(), manifest,
                                  nullptr, options_.mode);
  if (error != 0) return failed(manifest_path_, "set the permissions of", error);
  if (::unlinkat(manifest_folder_.get(), manifest.c_str(), 0) != 0 && errno != ENOENT) {
    return failed(manifest_path_, "replace", errno);
  }
  if (::renameat(folder_.get(), file_->name().c_str(), folder_.get(), name_.c_str()) != 0) {
    return failed(path_, "rename to", errno);
  }
  file_->keep();
  error = batch::flush_folder(folder_.get());
  if (error != 0) return failed(path_, "flush the folder of", error);
  if (::renameat(manifest_folder_.get(), manifest_->name().c_str(), manifest_folder_.get(),
                 manifest.c_str()) != 0) {
    return failed(manifest_path_, "rename to", errno);
  }
  manifest_->keep();
  error = batch::flush_folder(manifest_folder_.get());
  if (error != 0) return failed(manifest_path_, "flush the folder of", error);
  return {};
}

tl::expected<ShardOutput::Committed, batch::WriteError> FolderOutput::commit(
    ShardRecord& record, const batch::Permissions* source) {
  const auto committed = [&]() -> batch::WriteResult {
    if (auto finished = finish_archive(); !finished) return finished;
    record.bytes_out = written_;
    record.hash_out = hash_.value();
    rows_ += to_json_line(record);
    if (auto flushed = flush_rows(); !flushed) return flushed;
    if (::fsync(manifest_->get()) != 0) return failed(manifest_path_, "flush", errno);
    if (auto free = check_place(); !free) return free;
    return publish(source);
  }();
  if (!committed) return tl::unexpected<batch::WriteError>(committed.error());
  return Committed::kWritten;
}

class FolderOutputs final : public ShardOutputs {
 public:
  FolderOutputs(FolderOutputsOptions options, OutputRoot outputs, OutputRoot manifests)
      : options_(std::move(options)),
        outputs_(std::move(outputs)),
        manifests_(std::move(manifests)),
        opened_(file_time_now(manifests_.folder.get())) {}

  std::string label(const std::string& name) const override { return outputs_.path + "/" + name; }

  Result<std::optional<std::string>> find_manifest(const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      struct stat facts {};
      const std::string manifest = manifest_name(name);
      const int found =
          ::fstatat(manifests_.folder.get(), manifest.c_str(), &facts, AT_SYMLINK_NOFOLLOW);
      if (found == 0) return manifests_.path + "/" + manifest;
    }
    return std::nullopt;
  }

  Result<void> resume(const std::vector<std::string>&) override {
    for (const OutputRoot* root : {&outputs_, &manifests_}) {
      if (auto removed = batch::remove_stale_temporaries(root->path); !removed) {
        return fail(removed.error());
      }
    }
    return {};
  }

  tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> open(
      const std::string& name) override {
    return FolderOutput::open(outputs_, manifests_, options_, opened_, name);
  }

 private:
  const FolderOutputsOptions options_;
  const OutputRoot outputs_;
  const OutputRoot manifests_;
  const FileTime opened_;
};

}  // namespace

Result<std::unique_ptr<ShardOutputs>> open_folder_outputs(FolderOutputsOptions options) {
  auto outputs = open_output_root(options.outputs);
  if (!outputs) return fail(outputs.error());
  auto manifests = open_output_root(options.manifests);
  if (!manifests) return fail(manifests.error());
  return std::make_unique<FolderOutputs>(std::move(options), std::move(*outputs),
                                         std::move(*manifests));
}

}  // namespace framewire::dataset
