#include <fmt/format.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/peer/handover.hpp>
#include <utility>

namespace framewire::transport::peer {
namespace {

constexpr std::uint32_t kMaxSlots = 32;
constexpr std::uint64_t kMaxSlotBytes = std::uint64_t{1} << 30;

ReceiveBuffers without(std::string why) {
  ReceiveBuffers buffers;
  buffers.why = std::move(why);
  return buffers;
}

// Our receive buffer, whose memory nothing else uses.
Result<std::unique_ptr<ReceiveBuffer>> make_ours(const HandoverOptions& options) {
  auto ours = std::make_unique<ReceiveBuffer>();
  ours->devices = options.devices;
  ours->owner = options.device;
  ours->slots = options.slots;
  ours->slot_bytes = options.slot_bytes;
  ours->arrival_words = kArrivalWords;
  auto memory = options.devices->share(options.device, ours->bytes());
  if (!memory) return fail(memory.error());
  ours->memory = std::move(*memory);
  return ours;
}

// The peer's, if it has one and our device reaches it.
void take_theirs(ReceiveBuffers& buffers, const ReceiveBufferMessage& message,
                 const base::FileDescriptor& file, const HandoverOptions& options) {
  auto theirs = std::make_unique<ReceiveBuffer>();
  theirs->slots = message.slots;
  theirs->slot_bytes = message.slot_bytes;
  theirs->arrival_words = message.arrival_words;
  if (!file.valid() || message.slots == 0) {
    buffers.why = "the peer has no receive buffer for us";
    return;
  }
  const int owner = find_device(*options.devices, message.device);
  if (owner < 0) {
    buffers.why = "the peer's GPU is not visible to this process; see CUDA_VISIBLE_DEVICES";
    return;
  }
  const Reach reach = options.devices->reach(options.device, owner);
  if (reach == Reach::kNone) {
    buffers.why = fmt::format("GPU {} has no peer access to GPU {}", options.device, owner);
    return;
  }
  auto memory = options.devices->import(owner, options.device, file.get(), theirs->bytes());
  if (!memory) {
    buffers.why = memory.error().message();
    return;
  }
  theirs->memory = std::move(*memory);
  theirs->devices = options.devices;
  theirs->owner = owner;
  theirs->user = options.device;
  // A device that waited for itself would hold up what it waits for; one that writes a word to an
  // odd address is lost to the process.
  if (reach == Reach::kSame || message.arrival_layout != kArrivalLayout ||
      theirs->slot_bytes % sizeof(std::uint64_t) != 0) {
    theirs->arrival_words = 0;
  }
  buffers.theirs = std::move(theirs);
  buffers.reach = reach;
}

}  // namespace

std::array<std::byte, kReceiveBufferMessageBytes> encode(const ReceiveBufferMessage& message) {
  std::array<std::byte, kReceiveBufferMessageBytes> bytes{};
  std::copy(message.device.begin(), message.device.end(), bytes.begin());
  store(&bytes[16], message.slots);
  store(&bytes[20], message.arrival_words);
  store(&bytes[22], message.arrival_layout);
  store(&bytes[24], message.slot_bytes);
  return bytes;
}

Result<ReceiveBufferMessage> decode_receive_buffer(
    std::span<const std::byte, kReceiveBufferMessageBytes> bytes) {
  ReceiveBufferMessage message;
  std::copy_n(bytes.begin(), message.device.size(), message.device.begin());
  message.slots = load<std::uint32_t>(&bytes[16]);
  message.arrival_words = load<std::uint16_t>(&bytes[20]);
  message.arrival_layout = load<std::uint16_t>(&bytes[22]);
  message.slot_bytes = load<std::uint64_t>(&bytes[24]);
  const bool has_one = message.slots != 0;
  if (message.slots > kMaxSlots ||
      (has_one && (message.slot_bytes < kMinPartBytes || message.slot_bytes > kMaxSlotBytes))) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("a receive buffer of {} slots of {} bytes; at most {} of {} to {}",
                    message.slots, message.slot_bytes, kMaxSlots, kMinPartBytes, kMaxSlotBytes));
  }
  return message;
}

ReceiveBuffers hand_over(const shared::LocalPeer& peer, const HandoverOptions& options,
                         base::Clock::time_point deadline) {
  ReceiveBuffers buffers;
  auto ours = make_ours(options);
  if (ours) {
    buffers.ours = std::move(*ours);
  } else {
    buffers.why = ours.error().message();
  }
  ReceiveBufferMessage message;
  std::vector<int> files;
  auto words = Words::make(*options.devices);
  if (const ReceiveBuffer* const buffer = buffers.ours.get(); buffer != nullptr) {
    message.device = buffer->devices->id(buffer->owner);
    message.slots = buffer->slots;
    message.arrival_words = static_cast<std::uint16_t>(buffer->arrival_words);
    message.arrival_layout = kArrivalLayout;
    message.slot_bytes = buffer->slot_bytes;
    files.push_back(buffer->memory->fd());
    if (words) files.push_back((*words)->fd());
  }
  if (auto sent = peer.send(encode(message), files); !sent) return without(sent.error().message());
  std::array<std::byte, kReceiveBufferMessageBytes> bytes;
  const auto received = peer.receive(bytes, deadline);
  if (!received) return without(received.error().message());
  const auto theirs = decode_receive_buffer(bytes);
  if (!theirs) return without(theirs.error().message());
  take_theirs(buffers, *theirs, received->files[0], options);
  if (buffers.theirs && files.size() == 2) buffers.theirs->words = std::move(*words);
  if (buffers.ours && received->files[1].valid()) {
    if (auto read = Words::open(received->files[1])) buffers.ours->words = std::move(*read);
  }
  return buffers;
}

}  // namespace framewire::transport::peer
