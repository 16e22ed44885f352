#include <dataset/object_shard.hpp>
#include <new>
#include <utility>

namespace framewire::dataset {
namespace {

ShardInput::Facts facts_of(const store::ObjectStore& store, const store::ObjectInfo& object) {
  ShardInput::Facts facts;
  facts.path = store.label(object.key);
  facts.bytes = object.bytes;
  facts.mtime_ns = object.mtime_ns;
  facts.version = object.etag;
  return facts;
}

}  // namespace

ObjectShard::ObjectShard(std::shared_ptr<store::ObjectStore> store, store::ObjectInfo object,
                         PieceCache& cache)
    : ShardInput(facts_of(*store, object)),
      store_(std::move(store)),
      reader_(cache, *store_, std::move(object)) {}

Result<std::size_t> ObjectShard::read_at(std::uint64_t offset, std::span<std::uint8_t> into) {
  // What is still in memory is of no use: the shard is not written.
  if (auto lost = this->lost()) return fail(std::move(*lost));
  auto got = reader_.read_at(offset, into);
  if (got) return got;
  Status error = got.error().subject().empty()
                     ? Status(got.error().code(), got.error().message()).about(path())
                     : got.error();
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = std::move(error);
  return fail(*lost_);
}

// Without room nothing is read ahead.
void ObjectShard::read_ahead(std::uint64_t offset) noexcept {
  try {
    reader_.read_ahead(offset);
  } catch (const std::bad_alloc&) {
  }
}

std::optional<Status> ObjectShard::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace framewire::dataset
