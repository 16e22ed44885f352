#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <batch/atomic_file.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/pack_output.hpp>
#include <utility>

namespace framewire::dataset {
namespace {

constexpr std::uint64_t kEndBytes = 2 * tar::kBlockBytes;

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

}  // namespace

tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> PackOutput::open(
    const OutputRoot& outputs, const OutputRoot& manifests, const std::string& name) {
  auto file = batch::TemporaryFile::make(outputs.folder.get());
  if (!file.valid()) return unwritten(outputs.path + "/" + name, "create", errno);
  auto rows = batch::TemporaryFile::make(manifests.folder.get());
  if (!rows.valid()) {
    return unwritten(manifests.path + "/" + manifest_name(name), "create", errno);
  }
  return std::unique_ptr<PackOutput>(
      new PackOutput(outputs, manifests, name, std::move(file), std::move(rows)));
}

PackOutput::PackOutput(const OutputRoot& outputs, const OutputRoot& manifests, std::string name,
                       batch::TemporaryFile file, batch::TemporaryFile rows)
    : outputs_(outputs),
      manifests_(manifests),
      name_(std::move(name)),
      path_(outputs.path + "/" + name_),
      manifest_path_(manifests.path + "/" + manifest_name(name_)),
      file_(std::move(file)),
      manifest_(std::move(rows)) {
  piece_.reserve(kPieceBytes);
}

std::uint64_t PackOutput::bytes_of(const tar::Header& header) {
  // A size beyond 2^63 is no size of a member in memory.
  return tar::encode_header(header).size() + tar::padded(header.size).value_or(UINT64_MAX / 2);
}

std::uint64_t PackOutput::bytes() const noexcept { return written_ + piece_.size() + kEndBytes; }

batch::WriteResult PackOutput::append(const tar::Header& header,
                                      std::span<const std::uint8_t> content) {
  if (auto added = add(tar::encode_header(header)); !added) return added;
  if (auto added = add(content); !added) return added;
  const std::uint64_t padding = *tar::padded(content.size()) - content.size();
  return add(std::vector<std::uint8_t>(static_cast<std::size_t>(padding)));
}

batch::WriteResult PackOutput::add(std::span<const std::uint8_t> bytes) {
  hash_.add(bytes);
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kPieceBytes - piece_.size());
    piece_.insert(piece_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(some));
    bytes = bytes.subspan(some);
    if (piece_.size() < kPieceBytes) break;
    if (auto flushed = flush(); !flushed) return flushed;
  }
  return {};
}

batch::WriteResult PackOutput::flush() {
  if (const int error = batch::write_all(file_.get(), piece_); error != 0) {
    return unwritten(path_, "write", error);
  }
  written_ += piece_.size();
  piece_.clear();
  return {};
}

batch::WriteResult PackOutput::append_row(std::string_view line) {
  rows_ += line;
  if (rows_.size() < kRowBytes) return {};
  return flush_rows();
}

batch::WriteResult PackOutput::flush_rows() {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows_.data());
  if (const int error = batch::write_all(manifest_.get(), {bytes, rows_.size()}); error != 0) {
    return unwritten(manifest_path_, "write", error);
  }
  rows_.clear();
  return {};
}

// Who is of the one group need not be of the other: then the group gets what everybody gets.
void PackOutput::narrow(const batch::Permissions& permissions) {
  if (!permissions_) {
    permissions_ = permissions;
    permissions_->id = {};
    return;
  }
  std::uint32_t& mode = permissions_->mode;
  mode &= permissions.mode;
  if (permissions_->group != permissions.group) mode &= ~(S_IRWXG & ~((mode & S_IRWXO) << 3));
}

batch::WriteResult PackOutput::commit(ShardRecord& record, std::optional<std::uint32_t> mode) {
  if (auto added = add(std::vector<std::uint8_t>(kEndBytes)); !added) return added;
  if (auto flushed = flush(); !flushed) return flushed;
  record.bytes_out = written_;
  record.hash_out = hash_.value();
  rows_ += to_json_line(record);
  if (auto flushed = flush_rows(); !flushed) return flushed;
  if (auto given = give_modes(mode); !given) return given;
  if (::fsync(file_.get()) != 0) return unwritten(path_, "flush", errno);
  if (::fsync(manifest_.get()) != 0) return unwritten(manifest_path_, "flush", errno);
  return publish();
}

batch::WriteResult PackOutput::give_modes(std::optional<std::uint32_t> mode) {
  const batch::Permissions* source = permissions_ ? &*permissions_ : nullptr;
  int error =
      batch::give_permissions(file_.get(), source, outputs_.folder.get(), name_, nullptr, mode);
  if (error != 0) return unwritten(path_, "set the permissions of", error);
  error = batch::give_permissions(manifest_.get(), source, manifests_.folder.get(),
                                  manifest_name(name_), nullptr, mode);
  if (error != 0) return unwritten(manifest_path_, "set the permissions of", error);
  return {};
}

batch::WriteResult PackOutput::publish() {
  const int folder = manifests_.folder.get();
  const std::string manifest = manifest_name(name_);
  if (::renameat(folder, manifest_.name().c_str(), folder, manifest.c_str()) != 0) {
    return unwritten(manifest_path_, "rename to", errno);
  }
  manifest_.keep();
  if (::fsync(folder) != 0) return unwritten(manifest_path_, "flush the folder of", errno);
  const int error = rename_to_free_name(outputs_.folder.get(), file_.name(), name_);
  if (error != 0) {
    ::unlinkat(folder, manifest.c_str(), 0);
    return unwritten(path_, "rename to", error);
  }
  file_.keep();
  if (::fsync(outputs_.folder.get()) != 0) return unwritten(path_, "flush the folder of", errno);
  return {};
}

}  // namespace framewire::dataset
