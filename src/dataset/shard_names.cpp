#include <dataset/shard_names.hpp>
#include <framewire/batch/files.hpp>
#include <set>

namespace framewire::dataset {

Result<std::vector<NamedShard>> name_shards(const std::vector<std::string>& paths) {
  std::vector<NamedShard> shards;
  std::set<std::string> names;
  const auto source = batch::open_files(paths);
  for (;;) {
    auto input = source->next();
    if (!input) return fail(input.error());
    if (!*input) return shards;
    if ((*input)->error) return fail(*(*input)->error);
    if (!names.insert((*input)->name).second) {
      return fail(Status(StatusCode::kInvalidInput, "is named twice").about((*input)->label));
    }
    shards.push_back({(*input)->label, (*input)->name});
  }
}

}  // namespace framewire::dataset
