#include <fmt/format.h>
#include <algorithm>
#include <dataset/sample_key.hpp>
#include <dataset/shard_index.hpp>
#include <dataset/tar/reader.hpp>
#include <nlohmann/json.hpp>

namespace framewire::dataset {

Result<ShardIndex> index_shard(tar::BytesAt& bytes, std::uint64_t total) {
  ShardIndex index;
  tar::Reader reader(bytes, total);
  std::string last_key;
  for (;;) {
    const auto member = reader.next();
    if (!member) return fail(member.error());
    if (!*member) return index;
    const tar::Header& header = (*member)->header;
    if ((*member)->sparse) {
      return fail(Status(StatusCode::kUnsupported,
                         fmt::format("the member {} is sparse; accepted: members that are stored "
                                     "whole",
                                     header.name))
                      .at((*member)->begin));
    }
    const SampleName name = split_sample_name(header.name);
    if (!(*member)->is_file() || name.key.empty()) continue;
    if (index.samples.empty() || name.key != last_key) index.samples.emplace_back();
    last_key = name.key;
    index.samples.back().push_back(
        {std::string(name.extension), (*member)->content, header.size, header.name});
  }
}

Result<std::string> to_dali_index(const ShardIndex& index) {
  std::string text = fmt::format("v1.2 {}\n", index.samples.size());
  for (const auto& sample : index.samples) {
    for (const IndexEntry& entry : sample) {
      if (entry.name.find_first_of(" \t\n\v\f\r") != std::string::npos || entry.extension.empty()) {
        return fail(StatusCode::kUnsupported,
                    fmt::format("the member {} has white space in its name, or nothing after its "
                                "dot; DALI's index has no way to write that",
                                entry.name));
      }
      text += fmt::format("{}{} {} {} {}", &entry == &sample.front() ? "" : " ", entry.extension,
                          entry.offset, entry.size, entry.name);
    }
    text += '\n';
  }
  return text;
}

std::string to_wids_index(std::vector<WidsShard> shards) {
  std::ranges::sort(shards, {}, &WidsShard::url);
  nlohmann::ordered_json json = {{"__kind__", "wids-shard-index-v1"}, {"wids_version", 1}};
  json["shardlist"] = nlohmann::ordered_json::array();
  for (const WidsShard& shard : shards) {
    json["shardlist"].push_back({{"url", shard.url},
                                 {"md5sum", shard.md5},
                                 {"nsamples", shard.samples},
                                 {"filesize", shard.bytes}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace framewire::dataset
