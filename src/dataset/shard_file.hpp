// A shard that lies in a file.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstdint>
#include <dataset/tar/bytes_at.hpp>
#include <framewire/batch/source.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>

namespace framewire::dataset {

/// An open shard. read_at() may be called by any number of threads at once: it is pread().
class ShardFile final : public tar::BytesAt {
 public:
  /// Opens a regular file, without ever blocking.
  /// @return io_error; invalid_input for folders, devices and pipes
  [[nodiscard]] static Result<std::unique_ptr<ShardFile>> open(const std::string& path);

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset,
                                            std::span<std::uint8_t> into) override;
  /// Has the kernel read on from `offset`, in pieces of kAheadBytes, if it does not yet.
  void read_ahead(std::uint64_t offset) noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t mtime_ns() const noexcept { return mtime_ns_; }
  [[nodiscard]] const batch::Permissions& permissions() const noexcept { return permissions_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

 private:
  ShardFile() = default;
  /// Beyond what the kernel reads ahead by itself, which stops at every jump between members.
  static constexpr std::uint64_t kAheadBytes = 16u << 20;

  std::string path_;
  base::FileDescriptor file_;
  std::uint64_t bytes_ = 0;
  std::int64_t mtime_ns_ = 0;
  batch::Permissions permissions_;
  std::uint64_t asked_ = 0;  ///< up to this offset; one thread
};

}  // namespace framewire::dataset
