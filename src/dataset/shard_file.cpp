#include <fcntl.h>
#include <sys/stat.h>
#include <base/nanoseconds.hpp>
#include <base/read_file.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/shard_file.hpp>

namespace framewire::dataset {

Result<std::unique_ptr<ShardInput>> ShardFile::open(const std::string& path) {
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0) {
    return fail(batch::io_error(path, "open", errno));
  }
  if (!S_ISREG(about.st_mode)) {
    return fail(Status(StatusCode::kInvalidInput, "is no regular file; accepted: tar archives")
                    .about(path));
  }
  Facts facts;
  facts.path = path;
  facts.bytes = static_cast<std::uint64_t>(about.st_size);
  facts.mtime_ns = base::to_nanoseconds(about.st_mtim);
  facts.permissions = batch::permissions_of(file.get(), about);
  return std::unique_ptr<ShardInput>(new ShardFile(std::move(facts), std::move(file)));
}

Result<std::size_t> ShardFile::read_at(std::uint64_t offset, std::span<std::uint8_t> into) {
  const auto got = base::read_full_at(file_.get(), offset, into);
  if (!got) return fail(batch::io_error(path(), "read", got.error()));
  return *got;
}

void ShardFile::read_ahead(std::uint64_t offset) noexcept {
  if (offset + kAheadBytes / 2 < asked_ || asked_ >= bytes()) return;
  if (asked_ < offset) asked_ = offset;
  (void)::posix_fadvise(file_.get(), static_cast<off_t>(asked_), static_cast<off_t>(kAheadBytes),
                        POSIX_FADV_WILLNEED);
  asked_ += kAheadBytes;
}

}  // namespace framewire::dataset
