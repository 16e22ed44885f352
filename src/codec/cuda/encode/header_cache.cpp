#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/encode/output_header.hpp>

namespace framewire::codec::cuda {
namespace {

/// Some thousand headers; a batch has up to 512 images.
constexpr std::size_t kMaxBytes = 4u << 20;

template <typename T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::span<const std::uint8_t> HeaderCache::get(std::span<const std::uint8_t> head,
                                               const plan::EncodePlan& encode) {
  key_.clear();
  append(key_, encode.width_px);
  append(key_, encode.height_px);
  append(key_, encode.model);
  append(key_, encode.component_count);
  append(key_, encode.h);
  append(key_, encode.v);
  append(key_, encode.quality);
  append(key_, encode.optimize_huffman);
  append(key_, encode.restart_interval_mcus);
  key_.append(reinterpret_cast<const char*>(head.data()), head.size());
  const auto [found, added] = headers_.try_emplace(key_);
  if (added) {
    found->second.assign(head.begin(), head.end());
    append_output_header(encode, found->second);
    bytes_ += found->second.size() + key_.size();
  }
  return found->second;
}

void HeaderCache::trim() {
  if (bytes_ <= kMaxBytes) return;
  headers_.clear();
  bytes_ = 0;
}

}  // namespace framewire::codec::cuda
