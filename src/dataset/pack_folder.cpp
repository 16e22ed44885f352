#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <batch/atomic_file.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <batch/temporary_file.hpp>
#include <cerrno>
#include <dataset/output_root.hpp>
#include <dataset/pack_folder.hpp>
#include <dataset/row_lines.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
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

// Also where the file system cannot do both in one step: nobody else writes these names, which the
// batch has claimed.
int rename_to_free_name(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat facts {};
  if (::fstatat(folder, to.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 ? 0 : errno;
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
  PackFile(const OutputRoot& outputs, const OutputRoot& manifests, std::string name,
           std::optional<std::uint32_t> mode, batch::TemporaryFile file, batch::TemporaryFile rows)
      : outputs_(outputs),
        manifests_(manifests),
        name_(std::move(name)),
        path_(outputs.path + "/" + name_),
        manifest_path_(manifests.path + "/" + manifest_name(name_)),
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
    if (auto ended = end_rows(record); !ended) return ended;
    if (auto given = give_modes(); !given) return given;
    if (::fsync(file_.get()) != 0) return unwritten(path_, "flush", errno);
    if (::fsync(manifest_.get()) != 0) return unwritten(manifest_path_, "flush", errno);
    return give_names();
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
  batch::WriteResult give_names() {
    const int folder = manifests_.folder.get();
    const std::string manifest = manifest_name(name_);
    if (::renameat(folder, manifest_.name().c_str(), folder, manifest.c_str()) != 0) {
      return unwritten(manifest_path_, "rename to", errno);
    }
    manifest_.keep();
    int error = batch::flush_folder(folder);
    if (error != 0) return unwritten(manifest_path_, "flush the folder of", error);
    error = rename_to_free_name(outputs_.folder.get(), file_.name(), name_);
    if (error != 0) {
      ::unlinkat(folder, manifest.c_str(), 0);
      return unwritten(path_, "rename to", error);
    }
    file_.keep();
    error = batch::flush_folder(outputs_.folder.get());
    if (error != 0) return unwritten(path_, "flush the folder of", error);
    return {};
  }

  const OutputRoot& outputs_;
  const OutputRoot& manifests_;
  const std::string name_;
  const std::string path_;
  const std::string manifest_path_;
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
  /// shard got its name. The latter is replaced.
  Result<void> check_manifests(const EarlierPackOptions& options, const Numbers& shards) const {
    const auto manifests = numbers_in(manifests_, options_.pattern, manifest_name(""));
    if (!manifests) return fail(manifests.error());
    for (const std::uint64_t number : *manifests) {
      const std::string name = options_.pattern.name(number);
      const std::string path = manifests_.path + "/" + manifest_name(name);
      if (shards.contains(number)) continue;
      bool ours = options.resume && read_record(manifests_.folder.get(), manifest_name(name));
      const auto rows =
          read_rows(manifests_.folder.get(), manifest_name(name), path,
                    [&](std::string_view row) { ours = ours && tells_of(row, name); });
      if (!rows) return fail(rows.error());
      if (ours) continue;
      return fail(Status(StatusCode::kInvalidInput,
                         "is a manifest without its shard, of another batch or of one that was "
                         "killed; accepted: another pattern or --manifest, or --resume of the "
                         "same batch")
                      .about(path));
    }
    return {};
  }
  /// Whether a row tells of a shard of this batch, or of a picture that is in none.
  bool tells_of(std::string_view row, const std::string& name) const {
    const auto parsed = nlohmann::json::parse(row, nullptr, false);
    if (!parsed.is_object()) return true;
    const auto output = parsed.find("output");
    if (output == parsed.end() || !output->is_string()) return true;
    return output->get_ref<const std::string&>().starts_with(label(name) + ": ");
  }

  tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> open(
      const std::string& name) override {
    auto file = batch::TemporaryFile::make(outputs_.folder.get());
    if (!file.valid()) return unwritten(label(name), "create", errno);
    auto rows = batch::TemporaryFile::make(manifests_.folder.get());
    if (!rows.valid()) {
      return unwritten(manifests_.path + "/" + manifest_name(name), "create", errno);
    }
    return std::make_unique<PackFile>(outputs_, manifests_, name, options_.mode, std::move(file),
                                      std::move(rows));
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
  const batch::TemporaryFile claim_;
};

}  // namespace

Result<std::unique_ptr<PackOutputs>> open_pack_folder(const PackFolderOptions& options) {
  auto outputs = open_output_root(options.pattern.folder());
  if (!outputs) return fail(outputs.error());
  auto manifests = open_output_root(options.manifests);
  if (!manifests) return fail(manifests.error());
  const std::string& pattern = options.pattern.text();
  auto claim = batch::TemporaryFile::claim(manifests->folder.get(), options.pattern.last_part());
  if (!claim.valid() && errno == EWOULDBLOCK) {
    return fail(Status(StatusCode::kBusy,
                       "another batch packs by this pattern; accepted: a pattern for each process, "
                       "such as 'part-3-%06d.tar'")
                    .about(pattern));
  }
  if (!claim.valid()) {
    const int error = errno;
    const std::string name = batch::claim_name(options.pattern.last_part());
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
