// A shard that lies in an object store.
#pragma once

#include <cstdint>
#include <dataset/piece_cache.hpp>
#include <dataset/shard_input.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <store/object_store.hpp>

namespace framewire::dataset {

/// Reads one version of an object in large ranges, ahead of who walks through it. Any error of the
/// store is an error of the whole shard, whose rest may be there at another time.
class ObjectShard final : public ShardInput {
 public:
  /// @param cache   lives as long as this
  /// @param object  as it was found: the version that is read
  ObjectShard(std::shared_ptr<store::ObjectStore> store, store::ObjectInfo object,
              PieceCache& cache);

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset,
                                            std::span<std::uint8_t> into) override;
  void read_ahead(std::uint64_t offset) noexcept override;
  void release_before(std::uint64_t offset) noexcept override { reader_.release_before(offset); }
  [[nodiscard]] std::optional<Status> lost() const override;

 private:
  const std::shared_ptr<store::ObjectStore> store_;
  PieceCache::Reader reader_;
  mutable std::mutex mutex_;
  std::optional<Status> lost_;  ///< the first error
};

}  // namespace framewire::dataset
