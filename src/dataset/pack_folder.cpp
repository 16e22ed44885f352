#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <batch/atomic_file.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <batch/temporary_file.hpp>
#include <cerrno>
#include <dataset/lone_manifest.hpp>
#include <dataset/output_root.hpp>
#include <dataset/pack_folder.hpp>
#include <dataset/row_lines.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <store/text.hpp>
#include <system_error>
#include <utility>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;

/// Numbers of shards, of which there are files.
using Numbers = std::set<std::uint64_t>;

tl::unexpected<batch::WriteError> unwritten(const std::string& path, std::string_view doing,
                                            int error) {
  return tl::unexpected<batch::WriteError>(batch::write_error(path, doing, error));
}

// Where the file system does not rename to free names alone, as NFS does not, a second name is
// made, which is never one that is there. Without that, too, nobody else should write these names,
// which the batch has claimed.
int rename_to_free_name(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) == 0) {
    (void)::unlinkat(folder, from.c_str(), 0);
    return 0;
  }
  struct stat ours {};
  struct stat there {};
  if (::fstatat(folder, to.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
    // NFS may have lost the answer to the link that was made.
    const bool is_ours = ::fstatat(folder, from.c_str(), &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
                         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
    if (!is_ours) return EEXIST;
    (void)::unlinkat(folder, from.c_str(), 0);
    return 0;
  }
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 ? 0 : errno;
}

/// Which file it is, of those that a file system has.
struct FileNumber {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileNumber&) const = default;
};

std::optional<FileNumber> file_number(int folder, const std::string& name) {
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return FileNumber{facts.st_dev, facts.st_ino};
}
FileNumber file_number(int file) {
  struct stat facts {};
  (void)::fstat(file, &facts);
  return {facts.st_dev, facts.st_ino};
}

// Takes a file's name away, if it is still that file's; whatever else has come there gets it back.
// @param may_go  asked before, and once nobody finds the file any more
// @return 0, also where nothing has the name; EEXIST where it stays; errno
int remove_if_same(
    int folder, const std::string& name, const FileNumber& file,
    const std::function<bool()>& may_go = [] { return true; }) {
  const auto there = file_number(folder, name);
  if (!there) return 0;
  if (*there != file || !may_go()) return EEXIST;
  // Another process may do the same: only one of them moves that file.
  const auto aside = batch::TemporaryFile::make(folder);
  if (!aside.valid()) return errno;
  if (::renameat(folder, name.c_str(), folder, aside.name().c_str()) != 0) {
    return errno == ENOENT ? 0 : errno;
  }
  if (file_number(folder, aside.name()) == file && may_go()) {
    return ::unlinkat(folder, aside.name().c_str(), 0) == 0 ? 0 : errno;
  }
  (void)rename_to_free_name(folder, aside.name(), name);
  return EEXIST;
}

tl::unexpected<batch::WriteError> packed_elsewhere(const std::string& path) {
  return tl::unexpected<batch::WriteError>(
      {Status(StatusCode::kBusy,
              "has been made meanwhile: another batch packs by this pattern, or by one that gives "
              "the same names; accepted: a pattern for each process, such as 'part-3-%06d.tar'")
           .about(path),
       true});
}

// Where shards lie as their manifests' folder has it, whatever either is called today: "" or
// "../shards/". Bytes that a text of JSON cannot hold are escaped.
std::string way_between(const OutputRoot& manifests, const OutputRoot& outputs) {
  std::error_code error;
  const fs::path from = fs::canonical(manifests.path, error);
  const fs::path to = error ? fs::path() : fs::canonical(outputs.path, error);
  const std::string way = error ? outputs.path : to.lexically_relative(from).string();
  return way == "." ? std::string() : store::percent_encode(way + "/", true);
}

// The numbers of files in a folder. @param after  what follows the shards' names
Result<Numbers> numbers_in(const OutputRoot& root, const ShardPattern& pattern,
                           std::string_view after = {}) {
  Numbers numbers;
  std::error_code error;
  fs::directory_iterator walk(root.path, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    std::string name = walk->path().filename().string();
    if (!name.ends_with(after)) continue;
    name.resize(name.size() - after.size());
    const auto number = pattern.number_of(name);
    if (number) numbers.insert(*number);
  }
  if (error) return fail(batch::io_error(root.path, "read the folder", error.value()));
  return numbers;
}

class PackFile final : public PackOutput {
 public:
  /// @param outputs, manifests  live as long as this
  /// @param way   as ShardRecord::path
  /// @param lone  a manifest without its shard, which is replaced
  PackFile(const OutputRoot& outputs, const OutputRoot& manifests, std::string name,
           std::string way, std::optional<FileNumber> lone, std::optional<std::uint32_t> mode,
           batch::TemporaryFile file, batch::TemporaryFile rows)
      : outputs_(outputs),
        manifests_(manifests),
        name_(std::move(name)),
        path_(outputs.path + "/" + name_),
        manifest_path_(manifests.path + "/" + manifest_name(name_)),
        way_(std::move(way)),
        lone_(lone),
        mode_(mode),
        file_(std::move(file)),
        manifest_(std::move(rows)) {}

  // Who is of the one group need not be of the other: then the group gets what everybody gets.
  void narrow(const batch::Permissions& permissions) override {
    if (!permissions_) {
      permissions_ = permissions;
      permissions_->id = {};
      return;
    }
    std::uint32_t& mode = permissions_->mode;
    mode &= permissions.mode;
    if (permissions_->group != permissions.group) mode &= ~(S_IRWXG & ~((mode & S_IRWXO) << 3));
  }

 private:
  batch::WriteResult write(std::span<const std::uint8_t> bytes) override {
    const int error = batch::write_all(file_.get(), bytes);
    return error == 0 ? batch::WriteResult() : unwritten(path_, "write", error);
  }
  batch::WriteResult write_rows(std::span<const std::uint8_t> bytes) override {
    const int error = batch::write_all(manifest_.get(), bytes);
    return error == 0 ? batch::WriteResult() : unwritten(manifest_path_, "write", error);
  }
  batch::WriteResult publish(ShardRecord& record) override {
    record.path = way_;
    if (auto ended = end_rows(record); !ended) return ended;
    if (auto given = give_modes(); !given) return given;
    if (::fsync(file_.get()) != 0) return unwritten(path_, "flush", errno);
    if (::fsync(manifest_.get()) != 0) return unwritten(manifest_path_, "flush", errno);
    return give_names(record);
  }
  batch::WriteResult give_modes() {
    const batch::Permissions* source = permissions_ ? &*permissions_ : nullptr;
    int error =
        batch::give_permissions(file_.get(), source, outputs_.folder.get(), name_, nullptr, mode_);
    if (error != 0) return unwritten(path_, "set the permissions of", error);
    error = batch::give_permissions(manifest_.get(), source, manifests_.folder.get(),
                                    manifest_name(name_), nullptr, mode_);
    if (error != 0) return unwritten(manifest_path_, "set the permissions of", error);
    return {};
  }
  // Whether or not locks keep others away: another's manifest is never replaced, and no shard stays
  // beside one that tells of another shard.
  batch::WriteResult give_names(const ShardRecord& record) {
    const int folder = manifests_.folder.get();
    const std::string manifest = manifest_name(name_);
    int error = replace_lone();
    if (error == 0) error = rename_to_free_name(folder, manifest_.name(), manifest);
    if (error == EEXIST) return packed_elsewhere(manifest_path_);
    if (error != 0) return unwritten(manifest_path_, "rename to", error);
    manifest_.keep();
    error = batch::flush_folder(folder);
    if (error != 0) return unwritten(manifest_path_, "flush the folder of", error);
    error = rename_to_free_name(outputs_.folder.get(), file_.name(), name_);
    if (error != 0) {
      (void)remove_if_same(folder, manifest, file_number(manifest_.get()));
      return error == EEXIST ? packed_elsewhere(path_) : unwritten(path_, "rename to", error);
    }
    file_.keep();
    // Who took this process for dead has taken the manifest away, unless it saw the shard.
    const auto told = read_record(folder, manifest);
    if (!told || told->hash_out != record.hash_out || told->bytes_out != record.bytes_out) {
      (void)remove_if_same(outputs_.folder.get(), name_, file_number(file_.get()));
      return packed_elsewhere(path_);
    }
    error = batch::flush_folder(outputs_.folder.get());
    if (error != 0) return unwritten(path_, "flush the folder of", error);
    return {};
  }

  // Its process may live after all: then its shard has come meanwhile, or comes now.
  int replace_lone() const {
    if (!lone_) return 0;
    return remove_if_same(manifests_.folder.get(), manifest_name(name_), *lone_, [this] {
      return !file_number(outputs_.folder.get(), name_).has_value();
    });
  }

  const OutputRoot& outputs_;
  const OutputRoot& manifests_;
  const std::string name_;
  const std::string path_;
  const std::string manifest_path_;
  const std::string way_;
  const std::optional<FileNumber> lone_;
  const std::optional<std::uint32_t> mode_;
  batch::TemporaryFile file_;
  batch::TemporaryFile manifest_;
  std::optional<batch::Permissions> permissions_;  ///< of all inputs together
};

class PackFolder final : public PackOutputs {
 public:
  PackFolder(const PackFolderOptions& options, OutputRoot outputs, OutputRoot manifests,
             batch::TemporaryFile claim)
      : options_(options),
        outputs_(std::move(outputs)),
        manifests_(std::move(manifests)),
        way_(way_between(manifests_, outputs_)),
        claim_(std::move(claim)) {}

  std::string label(const std::string& name) const override { return outputs_.path + "/" + name; }

  Result<EarlierPacks> read_earlier(const EarlierPackOptions& options) override {
    EarlierPacks earlier;
    const auto shards = numbers_in(outputs_, options_.pattern);
    if (!shards) return fail(shards.error());
    if (auto good = check_manifests(options, *shards); !good) return fail(good.error());
    for (const std::uint64_t number : *shards) {
      const std::string name = options_.pattern.name(number);
      auto record = read_record(manifests_.folder.get(), manifest_name(name));
      std::error_code error;
      const std::uint64_t bytes = fs::file_size(label(name), error);
      if (record && (error || bytes != record->bytes_out)) record.reset();
      if (auto good = check_earlier(label(name), record, options); !good) {
        return fail(good.error());
      }
      const auto rows = read_rows(
          manifests_.folder.get(), manifest_name(name), manifests_.path + "/" + manifest_name(name),
          [&](std::string_view row) { add_earlier_row(row, options.retry_failed, earlier); });
      if (!rows) return fail(rows.error());
      earlier.next = number + 1;
    }
    return earlier;
  }

  /// A manifest without its shard is another batch's, or that of one that was killed before the
  /// shard got its name. The latter is replaced. Its process may live, and give the shard its name
  /// yet: replace_lone() sees that. A lock on the manifest tells nothing, since whoever may read
  /// the file may hold one.
  Result<void> check_manifests(const EarlierPackOptions& options, const Numbers& shards) {
    const auto manifests = numbers_in(manifests_, options_.pattern, manifest_name(""));
    if (!manifests) return fail(manifests.error());
    for (const std::uint64_t number : *manifests) {
      const std::string name = options_.pattern.name(number);
      const std::string path = manifests_.path + "/" + manifest_name(name);
      if (shards.contains(number)) continue;
      const auto file = file_number(manifests_.folder.get(), manifest_name(name));
      const auto ours = options.resume ? is_ours(name, path) : Result<bool>(false);
      if (!ours) return fail(ours.error());
      if (!*ours || !file) return fail(is_lone_manifest(path));
      lone_[name] = *file;
    }
    return {};
  }
  /// Whether a manifest tells of a shard of this batch.
  [[nodiscard]] Result<bool> is_ours(const std::string& name, const std::string& path) const {
    const int folder = manifests_.folder.get();
    const MissingShard shard{label(name), path_of(name)};
    const auto record = read_record(folder, manifest_name(name));
    if (!record) return false;
    if (const auto ours = is_manifest_of(*record, shard)) return *ours;
    bool ours = true;
    const auto rows = read_rows(folder, manifest_name(name), path, [&](std::string_view row) {
      ours = ours && is_row_of(row, shard);
    });
    if (!rows) return fail(rows.error());
    return ours;
  }
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return way_ + store::percent_encode(name, true);
  }

  tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> open(
      const std::string& name) override {
    auto file = batch::TemporaryFile::make(outputs_.folder.get());
    if (!file.valid()) return unwritten(label(name), "create", errno);
    auto rows = batch::TemporaryFile::make(manifests_.folder.get());
    if (!rows.valid()) {
      return unwritten(manifests_.path + "/" + manifest_name(name), "create", errno);
    }
    const auto lone = lone_.find(name);
    return std::make_unique<PackFile>(
        outputs_, manifests_, name, path_of(name),
        lone == lone_.end() ? std::nullopt : std::optional(lone->second), options_.mode,
        std::move(file), std::move(rows));
  }

  batch::WriteResult add_failures(const std::string& name,
                                  std::span<const FailedRowLine> rows) override {
    const int folder = manifests_.folder.get();
    const std::string manifest = manifest_name(name);
    const std::string path = manifests_.path + "/" + manifest;
    auto file = batch::TemporaryFile::make(folder);
    if (!file.valid()) return unwritten(path, "create", errno);
    if (auto made = write_with_failures(manifest, path, rows, file.get()); !made) return made;
    if (::fsync(file.get()) != 0) return unwritten(path, "flush", errno);
    if (::renameat(folder, file.name().c_str(), folder, manifest.c_str()) != 0) {
      return unwritten(path, "rename to", errno);
    }
    file.keep();
    const int error = batch::flush_folder(folder);
    return error == 0 ? batch::WriteResult() : unwritten(path, "flush the folder of", error);
  }

 private:
  /// Writes a manifest with more rows, and gives it the permissions of the one that is there.
  batch::WriteResult write_with_failures(const std::string& manifest, const std::string& path,
                                         std::span<const FailedRowLine> rows, int file) const {
    constexpr std::size_t kPieceBytes = 64 * 1024;
    LateFailures failures(rows);
    std::string piece;
    int error = 0;
    const auto flush = [&] {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(piece.data());
      if (error == 0) error = batch::write_all(file, {bytes, piece.size()});
      piece.clear();
    };
    const auto read = read_rows(manifests_.folder.get(), manifest, path, [&](std::string_view row) {
      piece += failures.take(row);
      if (piece.size() >= kPieceBytes) flush();
    });
    if (!read) return tl::unexpected<batch::WriteError>({read.error(), false});
    if (!failures.complete()) {
      return tl::unexpected<batch::WriteError>({is_no_manifest(path), false});
    }
    flush();
    if (error != 0) return unwritten(path, "write", error);
    struct stat facts {};
    const int folder = manifests_.folder.get();
    if (::fstatat(folder, manifest.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      return unwritten(path, "examine", errno);
    }
    error = batch::give_permissions(file, nullptr, folder, manifest, &facts, options_.mode);
    return error == 0 ? batch::WriteResult() : unwritten(path, "set the permissions of", error);
  }

  const PackFolderOptions options_;
  const OutputRoot outputs_;
  const OutputRoot manifests_;
  const std::string way_;                   ///< from the manifests to the shards
  std::map<std::string, FileNumber> lone_;  ///< manifests that are replaced, by their shards' names
  const batch::TemporaryFile claim_;
};

}  // namespace

Result<std::unique_ptr<PackOutputs>> open_pack_folder(const PackFolderOptions& options) {
  auto outputs = open_output_root(options.pattern.folder());
  if (!outputs) return fail(outputs.error());
  auto manifests = open_output_root(options.manifests);
  if (!manifests) return fail(manifests.error());
  const std::string& pattern = options.pattern.text();
  auto claim = batch::TemporaryFile::claim(manifests->folder.get(), options.pattern.claim_label());
  if (!claim.valid() && errno == EWOULDBLOCK) {
    return fail(Status(StatusCode::kBusy,
                       "another batch packs by this pattern; accepted: a pattern for each process, "
                       "such as 'part-3-%06d.tar'")
                    .about(pattern));
  }
  if (!claim.valid()) {
    const int error = errno;
    const std::string name = batch::claim_name(options.pattern.claim_label());
    return fail(batch::io_error(manifests->path + "/" + name, "claim the shards by", error));
  }
  if (options.resume) {
    for (const OutputRoot* root : {&*outputs, &*manifests}) {
      if (auto removed = batch::remove_stale_temporaries(root->path); !removed) {
        return fail(removed.error());
      }
    }
  }
  return std::make_unique<PackFolder>(options, std::move(*outputs), std::move(*manifests),
                                      std::move(claim));
}

}  // namespace framewire::dataset
