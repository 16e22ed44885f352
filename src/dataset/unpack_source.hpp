// Pictures out of tar shards, each a file of its own afterwards.
#pragma once

#include <atomic>
#include <batch/names.hpp>
#include <cstdint>
#include <dataset/shard_open.hpp>
#include <dataset/tar/reader.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace framewire::dataset {

/// What is taken out of shards.
struct UnpackOptions {
  batch::Shard part;  ///< of the shards, by their place in the list
  /// Extensions of members that become files as they are, while pictures are listed.
  std::vector<std::string> sidecars;
  batch::Sink* sink = nullptr;  ///< where those go; outlives the source. Null: they are passed over
  bool resume = false;          ///< those that are there in their size are left alone
  std::shared_ptr<StoreSet> stores{};    ///< null: files alone
  std::uint64_t store_bytes = 1u << 30;  ///< of shards that are read from stores
  /// Set where a store did not hand out what another try may have. Outlives the source.
  std::atomic<bool>* unreachable = nullptr;
};

/// A source of the pictures in shards, shard by shard. A member is named as its archive says,
/// without "./" in front; it has an error where that name leads anywhere else than below a folder,
/// was met before, or is that of a shard. Links, folders and devices are passed over. What cannot
/// be read of a shard is one input with an error; the next shard follows. Memory: about 50 bytes a
/// name, and of shards in stores what the options say.
class UnpackSource final : public batch::Source {
 public:
  /// @param shards  paths or URLs of objects, without braces or wildcards
  UnpackSource(std::vector<NamedShard> shards, UnpackOptions options);
  ~UnpackSource() override;

  [[nodiscard]] Result<std::optional<batch::Input>> next() override;
  [[nodiscard]] Result<std::unique_ptr<batch::OpenInput>> open(
      const batch::Input& input) const override;
  [[nodiscard]] bool checks_names() const noexcept override { return true; }

  /// Members other than pictures that were written. After the run.
  [[nodiscard]] std::uint64_t sidecars_written() const noexcept { return sidecars_written_; }

 private:
  /// A shard that is open, as long as any of its pictures is in work.
  struct OpenShard {
    explicit OpenShard(std::unique_ptr<ShardInput> opened);
    std::unique_ptr<ShardInput> file;
    std::optional<batch::Permissions> permissions;  ///< unset in stores: anybody may read it
  };
  struct ListedPicture;  ///< what an Input takes along
  class UnpackedMember;

  [[nodiscard]] Result<void> open_shard(const NamedShard& shard);
  void note_lost(const Status& error) const;
  [[nodiscard]] Result<std::optional<batch::Input>> take(const tar::Member& member);
  [[nodiscard]] bool is_jpeg(const tar::Member& member);
  [[nodiscard]] std::optional<Status> fault_of(const tar::Member& member, const std::string& name);
  [[nodiscard]] batch::WriteResult write_sidecar(const tar::Member& member, const std::string& name,
                                                 const std::string& label);
  [[nodiscard]] static batch::Input failed(std::string label, std::string name,
                                           const Status& error);

  const std::vector<NamedShard> shards_;
  const UnpackOptions options_;
  PieceCache pieces_;  ///< of shards in stores
  std::size_t next_shard_ = 0;
  std::shared_ptr<OpenShard> shard_;  ///< that is being listed
  std::optional<tar::Reader> reader_;
  batch::NameSet names_;
  std::unordered_set<std::string> inputs_;  ///< paths and URLs of the shards
  std::uint64_t sidecars_written_ = 0;
};

}  // namespace framewire::dataset
