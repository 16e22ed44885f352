#include <dataset/lone_manifest.hpp>
#include <nlohmann/json.hpp>

namespace framewire::dataset {

std::optional<bool> is_manifest_of(const ShardRecord& record, const MissingShard& shard) {
  if (record.path.empty()) return std::nullopt;
  return record.path == shard.path;
}

bool is_row_of(std::string_view row, const MissingShard& shard) {
  const auto parsed = nlohmann::json::parse(row, nullptr, false);
  if (!parsed.is_object()) return true;
  const auto output = parsed.find("output");
  if (output == parsed.end() || !output->is_string()) return true;
  return output->get_ref<const std::string&>().starts_with(shard.label + ": ");
}

Status is_lone_manifest(const std::string& label) {
  return Status(StatusCode::kInvalidInput,
                "is a manifest without its shard, of another batch or of one that was killed; "
                "accepted: another pattern or --manifest, or --resume of the same batch")
      .about(label);
}

}  // namespace framewire::dataset
