// Streams of a batch with Huffman codes of their own, or under a bound on their bytes.
#include <algorithm>
#include <codec/cuda/batch_plan.hpp>
#include <codec/cuda/output_header.hpp>
#include <cstddef>

namespace framewire::codec::cuda {
namespace {

/// DRI and SOS, behind which no table may come (append_output_header() ends with them).
std::uint32_t bytes_behind_tables(const plan::EncodePlan& encode) {
  return static_cast<std::uint32_t>(8 + 2 * encode.component_count +
                                    (encode.restart_interval_mcus > 0 ? 6 : 0));
}

template <typename T>
std::span<const std::uint8_t> as_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

void BatchPlan::add_own_codes(const plan::EncodePlan& encode, EncodeDesc& desc) {
  if (!encode.optimize_huffman) return;
  desc.tail_bytes = bytes_behind_tables(encode);
  desc.optimal = own_code_bytes_;
  own_code_bytes_ += (sizeof(OptimalCodes) + 15) / 16 * 16;
}

void BatchPlan::add_search(const plan::EncodePlan& encode, EncodeDesc& desc) {
  if (encode.max_bytes == 0) return;
  SizeSearch search;
  search.max_bytes = encode.max_bytes;
  search.stream = static_cast<std::uint32_t>(encodes.size());
  search.quality = static_cast<std::uint32_t>(std::clamp(encode.quality, 1, 100));
  search.high = search.quality - 1;
  // Quantisers that no other stream shares, since the search writes them.
  const auto table = static_cast<std::uint32_t>(reciprocals_.size() / 64);
  const QualityTables& all = all_quality_tables();
  const auto from = all.reciprocals.begin() + static_cast<std::ptrdiff_t>(search.quality) * 128;
  reciprocals_.insert(reciprocals_.end(), from, from + 128);
  for (std::uint32_t i = 0; i < desc.plane_count; ++i)
    desc.planes[i].quantiser = table + desc.planes[i].code;
  search.tables = table * 64 * sizeof(float);
  std::vector<std::uint8_t> body;
  append_output_header(encode, body);
  search.dqt = desc.header_bytes - static_cast<std::uint32_t>(body.size());
  search.dqt_count = encode.model == plan::OutputModel::kYcbcr ? 2 : 1;
  encode_lists.searches.push_back(search);
  encode_lists.streams.push_back(search.stream);
  desc.search = static_cast<std::uint32_t>(encode_lists.searches.size());
  encode_lists.quality_reciprocals = stage_once(as_bytes(all.reciprocals));
  encode_lists.quality_quantisers = stage_once(as_bytes(all.quantisers));
}

void BatchPlan::relocate_streams(std::uint64_t data, std::uint64_t raw, std::uint64_t stuffed) {
  for (EncodeDesc& encode : encodes) {
    encode.header += data;
    encode.raw += raw;
    encode.stuffed += stuffed;
    encode.codes = offsets_.codes;
    if (encode.tail_bytes == 0) continue;
    encode.optimal += offsets_.own_codes;
    encode.codes = encode.optimal + offsetof(OptimalCodes, codes);
  }
  for (SizeSearch& search : encode_lists.searches) search.tables += offsets_.reciprocals;
  encode_lists.quality_reciprocals += data;
  encode_lists.quality_quantisers += data;
}

}  // namespace framewire::codec::cuda
