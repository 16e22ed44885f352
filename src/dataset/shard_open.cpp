#include <sys/stat.h>
#include <algorithm>
#include <batch/input_error.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_shard.hpp>
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

bool is_another_shard(const std::string& recorded, const std::string& path) {
  if (recorded == path || store::is_remote_url(path)) return false;
  std::error_code error;
  const auto folder = [&](const std::string& name) {
    return std::filesystem::absolute(name, error).lexically_normal().parent_path().filename();
  };
  if (folder(recorded) == folder(path)) return false;
  struct stat one {};
  struct stat other {};
  const bool both = ::stat(recorded.c_str(), &one) == 0 && ::stat(path.c_str(), &other) == 0;
  return both && (one.st_dev != other.st_dev || one.st_ino != other.st_ino);
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
