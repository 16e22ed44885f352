#include <algorithm>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/peer/parts.hpp>

namespace framewire::transport::peer {
namespace {

constexpr auto kPart = static_cast<std::byte>(kLinkKinds);
constexpr auto kFree = static_cast<std::byte>(kLinkKinds + 1);

static_assert(kPartHeadBytes >= kMinPacketHead, "links below drop what is shorter than a packet");

bool makes_sense(const PartHead& head) {
  if (head.slot >= 32 || head.total == 0 || head.part_bytes == 0) return false;
  if (head.offset >= head.total || head.offset % head.part_bytes != 0) return false;
  if (head.total > head.part_bytes && head.part_bytes < kMinPartBytes) return false;
  return head.bytes == std::min(head.part_bytes, head.total - head.offset);
}

}  // namespace

std::size_t encode(const PartHead& head, std::span<const std::byte> packet, HeadBuffer& out) {
  out[0] = kPart;
  out[1] = static_cast<std::byte>(head.told ? 2 : head.landed ? 1 : 0);
  store(&out[2], head.slot);
  store(&out[3], head.told ? head.arrivals : std::uint8_t{0});
  store(&out[4], head.told ? head.number : 0);
  store(&out[8], head.message);
  store(&out[16], head.total);
  store(&out[24], head.offset);
  store(&out[32], head.part_bytes);
  store(&out[40], head.bytes);
  std::memcpy(&out[kPartHeadBytes], packet.data(), packet.size());
  return kPartHeadBytes + packet.size();
}

std::size_t encode(const FreeSlots& free, HeadBuffer& out) {
  std::fill_n(out.begin(), kPartHeadBytes, std::byte{0});
  out[0] = kFree;
  store(&out[8], free.staged);
  store(&out[12], free.landed);
  return kPartHeadBytes;
}

bool is_part(std::span<const std::byte> head) {
  return head.size() >= kPartHeadBytes && head[0] == kPart;
}

bool is_free(std::span<const std::byte> head) {
  return head.size() == kPartHeadBytes && head[0] == kFree;
}

Result<PartHead> decode_part(std::span<const std::byte> bytes) {
  PartHead head;
  const auto flags = load<std::uint8_t>(&bytes[1]);
  head.landed = flags != 0;
  head.told = flags == 2;
  head.number = load<std::uint32_t>(&bytes[4]);
  head.slot = load<std::uint8_t>(&bytes[2]);
  head.arrivals = load<std::uint8_t>(&bytes[3]);
  head.message = load<std::uint64_t>(&bytes[8]);
  head.total = load<std::uint64_t>(&bytes[16]);
  head.offset = load<std::uint64_t>(&bytes[24]);
  head.part_bytes = load<std::uint64_t>(&bytes[32]);
  head.bytes = load<std::uint64_t>(&bytes[40]);
  const bool tells = head.number != 0 || head.arrivals != 0;
  if (flags > 2 || (!head.told && tells) || !makes_sense(head)) {
    return fail(StatusCode::kInvalidInput, "a part that belongs to no message");
  }
  return head;
}

FreeSlots decode_free(std::span<const std::byte> head) {
  return {load<std::uint32_t>(&head[8]), load<std::uint32_t>(&head[12])};
}

}  // namespace framewire::transport::peer
