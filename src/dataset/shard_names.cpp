#include <batch/list_source.hpp>
#include <dataset/shard_names.hpp>
#include <framewire/batch/files.hpp>
#include <set>
#include <utility>

namespace framewire::dataset {
namespace {

Result<std::vector<NamedShard>> name_as_written(const std::vector<std::string>& paths) {
  std::vector<NamedShard> shards;
  for (const std::string& path : paths) {
    auto name = batch::name_in_list(path);
    if (!name) return fail(name.error());
    shards.push_back({path, std::move(*name)});
  }
  return shards;
}

Result<std::vector<NamedShard>> name_below_folder(const std::vector<std::string>& paths) {
  std::vector<NamedShard> shards;
  const auto source = batch::open_files(paths);
  for (;;) {
    auto input = source->next();
    if (!input) return fail(input.error());
    if (!*input) return shards;
    if ((*input)->error) return fail(*(*input)->error);
    shards.push_back({(*input)->label, (*input)->name});
  }
}

}  // namespace

Result<std::vector<NamedShard>> name_shards(const std::vector<std::string>& paths,
                                            ShardNaming naming) {
  auto shards =
      naming == ShardNaming::kAsWritten ? name_as_written(paths) : name_below_folder(paths);
  if (!shards) return shards;
  std::set<std::string_view> names;
  for (const NamedShard& shard : *shards) {
    if (names.insert(shard.name).second) continue;
    return fail(Status(StatusCode::kInvalidInput, "is named twice").about(shard.path));
  }
  return shards;
}

std::string list_entry(const std::string& path, const std::string& name) {
  const auto written = batch::name_in_list(path);
  if (written && *written == name) return path;
  if (!path.ends_with("/" + name)) return path;
  return path.substr(0, path.size() - name.size()) + "./" + name;
}

}  // namespace framewire::dataset
