#include <codec/cuda/encode/header_cache.hpp>
#include <codec/cuda/encode/output_header.hpp>
#include <utility>

namespace framewire::codec::cuda {
namespace {

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
  if (const auto found = found_.find(key_); found != found_.end()) {
    ++use_.hits;
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().header;
  }
  Entry made{key_, {head.begin(), head.end()}};
  append_output_header(encode, made.header);
  entries_.push_front(std::move(made));
  try {
    found_.emplace(entries_.front().key, entries_.begin());
  } catch (...) {
    entries_.pop_front();
    throw;
  }
  ++use_.misses;
  use_.bytes += bytes_of(entries_.front());
  return entries_.front().header;
}

void HeaderCache::trim() {
  while (use_.bytes > kMaxBytes) {
    use_.bytes -= bytes_of(entries_.back());
    found_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::uint64_t HeaderCache::bytes_of(const Entry& entry) {
  constexpr std::uint64_t kNodeBytes = 128;  // of list and map
  return entry.key.capacity() + entry.header.capacity() + kNodeBytes;
}

}  // namespace framewire::codec::cuda
