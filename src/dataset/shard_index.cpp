#include <fmt/format.h>
#include <openssl/evp.h>
#include <algorithm>
#include <dataset/sample_key.hpp>
#include <dataset/shard_index.hpp>
#include <dataset/tar/reader.hpp>
#include <memory>
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

Result<std::string> md5_of(tar::BytesAt& bytes) {
  constexpr std::size_t kPieceBytes = 1u << 20;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(),
                                                                       &EVP_MD_CTX_free);
  if (digest == nullptr || EVP_DigestInit_ex(digest.get(), EVP_md5(), nullptr) != 1) {
    return fail(StatusCode::kInternal, "this OpenSSL gives no MD5");
  }
  std::vector<std::uint8_t> piece(kPieceBytes);
  for (std::uint64_t offset = 0;;) {
    const auto got = bytes.read_at(offset, piece);
    if (!got) return fail(got.error());
    EVP_DigestUpdate(digest.get(), piece.data(), *got);
    offset += *got;
    if (*got < piece.size()) break;
  }
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(digest.get(), out, &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", out[i]);
  return text;
}

}  // namespace framewire::dataset
