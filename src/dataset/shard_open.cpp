#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <batch/input_error.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_shard.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/shard_file.hpp>
#include <dataset/shard_open.hpp>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace framewire::dataset {

Result<std::vector<NamedShard>> name_all_shards(const std::vector<std::string>& words,
                                                ShardNaming naming, StoreSet* stores) {
  const auto is_url = [](const std::string& path) { return store::is_remote_url(path); };
  if (std::ranges::none_of(words, is_url)) return name_shards(words, naming);
  const auto file = std::ranges::find_if_not(words, is_url);
  if (file != words.end()) {
    return fail(Status(StatusCode::kInvalidInput,
                       "is a file, and other shards lie in a store; accepted: either")
                    .about(*file));
  }
  return name_object_shards(words, *stores);
}

namespace {

std::string folder_of(const std::string& path) {
  if (store::is_remote_url(path)) {
    return std::filesystem::path(path).parent_path().filename().string();
  }
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error).lexically_normal();
  return whole.parent_path().filename().string();
}

// What refuses us for good tells nothing: such an object counts as gone.
Result<bool> is_object_there(const std::string& path, StoreSet* stores) {
  const auto url = store::parse_object_url(path);
  if (!url || stores == nullptr) return false;
  const auto gone = [](const Status& error) -> Result<bool> {
    const bool passing = error.code() != StatusCode::kDenied && is_store_fault(error);
    if (passing) return fail(error);
    return false;
  };
  const auto store = stores->get(url->bucket);
  if (!store) return gone(batch::about_label(store.error(), path));
  const auto object = (*store)->find(url->key);
  if (!object) return gone(object.error());
  return object->has_value();
}

// Whether the path of a record leads to something else than the path of now.
Result<bool> is_there_beside(const std::string& recorded, const std::string& path,
                             StoreSet* stores) {
  if (store::is_remote_url(recorded)) return is_object_there(recorded, stores);
  struct stat one {};
  struct stat other {};
  if (::stat(recorded.c_str(), &one) != 0) return false;
  if (store::is_remote_url(path) || ::stat(path.c_str(), &other) != 0) return true;
  return one.st_dev != other.st_dev || one.st_ino != other.st_ino;
}

}  // namespace

Result<bool> is_another_shard(const ShardRecord& recorded, const ShardInput::Facts& now,
                              StoreSet* stores) {
  if (recorded.input == now.path) return false;
  if (!now.version.empty() && recorded.version == now.version) return false;
  const bool same_kind = store::is_remote_url(recorded.input) == store::is_remote_url(now.path);
  const bool same_folder = !same_kind || folder_of(recorded.input) == folder_of(now.path);
  if (same_folder && recorded.bytes_in == now.bytes) return false;
  return is_there_beside(recorded.input, now.path, stores);
}

Status belongs_to_another(const std::string& label, const ShardRecord& recorded,
                          const std::string& path) {
  return Status(StatusCode::kInvalidInput,
                fmt::format("was made of {}, which is there still, and is not replaced by what {} "
                            "becomes; accepted: another OUT_DIR, or both shards in one batch, "
                            "which names them apart",
                            recorded.input, path))
      .about(label);
}

Result<std::unique_ptr<ShardInput>> open_shard_input(const NamedShard& shard, StoreSet* stores,
                                                     PieceCache& cache) {
  if (stores == nullptr || !store::is_remote_url(shard.path)) return ShardFile::open(shard.path);
  const auto url = store::parse_object_url(shard.path);
  if (!url) return fail(url.error());
  auto store = stores->get(url->bucket);
  if (!store) return fail(batch::about_label(store.error(), store::without_query(shard.path)));
  std::optional<store::ObjectInfo> object = shard.object;
  if (!object) {
    auto found = (*store)->find(url->key);
    if (!found) return fail(found.error());
    object = std::move(*found);
  }
  if (!object) {
    return fail(Status(StatusCode::kInvalidInput, "is not there")
                    .about(std::string(store::without_query(shard.path))));
  }
  return std::make_unique<ObjectShard>(std::move(*store), std::move(*object), cache);
}

}  // namespace framewire::dataset
