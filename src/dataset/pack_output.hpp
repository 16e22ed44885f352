// One packed shard and its manifest on their way: both whole, or neither.
#pragma once

#include <batch/temporary_file.hpp>
#include <cstdint>
#include <dataset/shard_output.hpp>
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

/// Writes an archive of new files to a temporary one, in pieces of kPieceBytes, and rows to
/// another. commit() gives both their names, the shard's last: a shard without its manifest is
/// never seen, and a manifest without its shard is one that a later batch may replace. One thread.
class PackOutput {
 public:
  /// @param outputs, manifests  live as long as this
  /// @param name                in both folders, without '/'
  /// @return as batch::write_error()
  [[nodiscard]] static tl::expected<std::unique_ptr<PackOutput>, batch::WriteError> open(
      const OutputRoot& outputs, const OutputRoot& manifests, const std::string& name);

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
  void narrow(const batch::Permissions& permissions);

  /// Ends the archive, flushes both files to the disk, and gives them their names. Replaces no
  /// shard. @param record  bytes_out and hash_out are filled in
  /// @param mode  of both files, whatever the inputs'
  [[nodiscard]] batch::WriteResult commit(ShardRecord& record, std::optional<std::uint32_t> mode);

 private:
  static constexpr std::size_t kPieceBytes = 4u << 20;
  static constexpr std::size_t kRowBytes = 64 * 1024;

  PackOutput(const OutputRoot& outputs, const OutputRoot& manifests, std::string name,
             batch::TemporaryFile file, batch::TemporaryFile rows);
  [[nodiscard]] batch::WriteResult add(std::span<const std::uint8_t> bytes);
  [[nodiscard]] batch::WriteResult flush();
  [[nodiscard]] batch::WriteResult flush_rows();
  [[nodiscard]] batch::WriteResult give_modes(std::optional<std::uint32_t> mode);
  [[nodiscard]] batch::WriteResult publish();

  const OutputRoot& outputs_;
  const OutputRoot& manifests_;
  const std::string name_;
  const std::string path_;           ///< for messages
  const std::string manifest_path_;  ///< likewise
  batch::TemporaryFile file_;
  batch::TemporaryFile manifest_;
  std::vector<std::uint8_t> piece_;
  std::uint64_t written_ = 0;  ///< without the piece
  std::string rows_;
  RunningHash hash_;
  std::optional<batch::Permissions> permissions_;  ///< of all inputs together
};

}  // namespace framewire::dataset
