// One packed shard and its manifest on their way: both whole, or neither.
#pragma once

#include <base/running_hash.hpp>
#include <cstdint>
#include <dataset/late_failures.hpp>
#include <dataset/pack_listing.hpp>
#include <dataset/shard_record.hpp>
#include <dataset/tar/header.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset {

/// Makes an archive of new files, in pieces of kPieceBytes, and the rows of its manifest. Until
/// commit() nothing is seen of either. One thread.
class PackOutput {
 public:
  PackOutput() { piece_.reserve(kPieceBytes); }
  PackOutput(const PackOutput&) = delete;
  PackOutput& operator=(const PackOutput&) = delete;
  /// Gives up what was not committed.
  virtual ~PackOutput() = default;

  /// How many bytes a member takes: headers, content and padding.
  [[nodiscard]] static std::uint64_t bytes_of(const tar::Header& header);
  /// Size of the archive so far, with what ends it.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// Appends a regular file. @param header  its size is the content's
  [[nodiscard]] batch::WriteResult append(const tar::Header& header,
                                          std::span<const std::uint8_t> content);
  /// Appends a line to the manifest.
  [[nodiscard]] batch::WriteResult append_row(std::string_view line);
  /// The shard may be read by nobody who may not read this file, too.
  virtual void narrow(const batch::Permissions&) {}

  /// Ends the archive, and makes both known. Replaces no shard that has a manifest.
  /// @param record  bytes_out, hash_out and, in stores, version_out are filled in
  [[nodiscard]] batch::WriteResult commit(ShardRecord& record);

 protected:
  /// Takes the next bytes of the archive.
  [[nodiscard]] virtual batch::WriteResult write(std::span<const std::uint8_t> bytes) = 0;
  /// Takes the next bytes of the manifest.
  [[nodiscard]] virtual batch::WriteResult write_rows(std::span<const std::uint8_t> bytes) = 0;
  /// Makes both known, once all of the archive is written; calls end_rows().
  [[nodiscard]] virtual batch::WriteResult publish(ShardRecord& record) = 0;
  /// Writes the manifest's last line.
  [[nodiscard]] batch::WriteResult end_rows(const ShardRecord& record);

 private:
  static constexpr std::size_t kPieceBytes = 4u << 20;
  static constexpr std::size_t kRowBytes = 64 * 1024;

  [[nodiscard]] batch::WriteResult add(std::span<const std::uint8_t> bytes);
  [[nodiscard]] batch::WriteResult flush();
  [[nodiscard]] batch::WriteResult flush_rows();

  std::vector<std::uint8_t> piece_;
  std::uint64_t written_ = 0;  ///< without the piece
  std::string rows_;
  base::RunningHash hash_;
};

/// Where packed shards and their manifests go. One thread, but for label().
class PackOutputs {
 public:
  PackOutputs() = default;
  PackOutputs(const PackOutputs&) = delete;
  PackOutputs& operator=(const PackOutputs&) = delete;
  virtual ~PackOutputs() = default;

  /// What messages and rows call a shard. Any thread.
  [[nodiscard]] virtual std::string label(const std::string& name) const = 0;
  /// Called once, before open(): reads the manifests of the pattern's shards.
  /// @return invalid_input for shards that may not be gone on from: without resume, made with other
  ///         options, or without a manifest that fits; io_error; what a store says
  [[nodiscard]] virtual Result<EarlierPacks> read_earlier(const EarlierPackOptions& options) = 0;
  /// @param name  without '/'
  [[nodiscard]] virtual tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> open(
      const std::string& name) = 0;
  /// Adds rows to the manifest of a shard that is there, as LateFailures does. The manifest is
  /// replaced in one step; the shard stays as it is.
  [[nodiscard]] virtual batch::WriteResult add_failures(const std::string& name,
                                                        std::span<const FailedRowLine> rows) = 0;
};

}  // namespace framewire::dataset
