// A shard that lies in a file.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstdint>
#include <dataset/shard_input.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>

namespace framewire::dataset {

/// Reads by pread(). An error of the disk is that of the member alone.
class ShardFile final : public ShardInput {
 public:
  /// Opens a regular file, without ever blocking.
  /// @return io_error; invalid_input for folders, devices and pipes
  [[nodiscard]] static Result<std::unique_ptr<ShardInput>> open(const std::string& path);

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset,
                                            std::span<std::uint8_t> into) override;
  /// Has the kernel read on from `offset`, in pieces of kAheadBytes, if it does not yet.
  void read_ahead(std::uint64_t offset) noexcept override;
  void release_before(std::uint64_t) noexcept override {}
  [[nodiscard]] std::optional<Status> lost() const override { return std::nullopt; }

 private:
  ShardFile(Facts facts, base::FileDescriptor file)
      : ShardInput(std::move(facts)), file_(std::move(file)) {}
  /// Beyond what the kernel reads ahead by itself, which stops at every jump between members.
  static constexpr std::uint64_t kAheadBytes = 16u << 20;

  const base::FileDescriptor file_;
  std::uint64_t asked_ = 0;  ///< up to this offset; one thread
};

}  // namespace framewire::dataset
