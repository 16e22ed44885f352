#include <cstring>
#include <transport/batch.hpp>
#include <transport/bytes.hpp>

namespace framewire::transport {
namespace {

constexpr std::size_t kSizesBytes = 2 * sizeof(std::uint16_t);

}  // namespace

bool Batch::add(std::span<const std::byte> head, const std::byte* payload,
                std::uint64_t payload_bytes) noexcept {
  if (payload_bytes > kMaxPayload || payload_bytes > payloads_.size() - payload_bytes_ ||
      kSizesBytes + head.size() > kHeadRoom - head_bytes_) {
    return false;
  }
  const auto bytes = static_cast<std::size_t>(payload_bytes);
  std::byte* const to = heads_.data() + head_bytes_;
  store(to, static_cast<std::uint16_t>(head.size()));
  store(to + sizeof(std::uint16_t), static_cast<std::uint16_t>(bytes));
  std::memcpy(to + kSizesBytes, head.data(), head.size());
  if (bytes > 0) std::memcpy(payloads_.data() + payload_bytes_, payload, bytes);
  head_bytes_ += kSizesBytes + head.size();
  payload_bytes_ += bytes;
  return true;
}

std::optional<BatchReader::Item> BatchReader::next() noexcept {
  if (heads_.size() < kSizesBytes) return std::nullopt;
  const std::size_t head_bytes = load<std::uint16_t>(heads_.data());
  const std::size_t payload_bytes = load<std::uint16_t>(heads_.data() + sizeof(std::uint16_t));
  const auto heads = heads_.subspan(kSizesBytes);
  if (head_bytes < kMinPacketHead || head_bytes > heads.size() ||
      payload_bytes > payloads_.size()) {
    return std::nullopt;
  }
  const Item item{heads.first(head_bytes), payloads_.first(payload_bytes)};
  heads_ = heads.subspan(head_bytes);
  payloads_ = payloads_.subspan(payload_bytes);
  return item;
}

}  // namespace framewire::transport
