#include <fmt/format.h>
#include <algorithm>
#include <ipc/message.hpp>
#include <transport/bytes.hpp>

namespace framewire::ipc {
namespace {

using transport::load;
using transport::store;

constexpr std::uint32_t kMagic = 0x52435746;  // "FWCR"
constexpr std::uint8_t kMessageVersion = 1;   ///< as kVersion in greeting.hpp, for other hosts

// Where fields lie; what lies between and behind them is zero.
enum At : std::size_t {
  kAtMagic = 0,
  kAtVersion = 4,
  kAtType = 5,
  kAtZero = 6,
  kAtSlot = 8,
  kAtSlots = 12,
  kAtNumber = 16,
  kAtText = 24,
  kAtInput = 28,
  kAtOutput = 36,
  kAtBody = 44,
  kAtRest = 52,
};

/// Which fields a type has.
struct Fields {
  bool request = false;  ///< slot and number
  bool slots = false;
  bool text = false;
  bool body = false;
  bool input = false;
  bool output = false;
};

constexpr Fields fields_of(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return {.slots = true, .output = true};
    case MessageType::kWelcome:
      return {.slots = true, .input = true};
    case MessageType::kRequest:
    case MessageType::kResized:
      return {.request = true, .text = true, .body = true};
    case MessageType::kCancel:
      return {.request = true};
    case MessageType::kFailed:
      return {.request = true, .text = true};
    case MessageType::kEnd:
      return {.text = true};
    case MessageType::kDraining:
      break;
  }
  return {};
}

tl::unexpected<Status> lied(std::string what) {
  return fail(StatusCode::kInvalidInput, std::move(what));
}

Result<void> check_fields(const MessageHead& head) {
  const Fields has = fields_of(head.type);
  const bool extra = (!has.request && (head.slot != 0 || head.number != 0)) ||
                     (!has.slots && head.slots != 0) || (!has.text && head.text_bytes != 0) ||
                     (!has.body && head.body_bytes != 0) || (!has.input && head.input_bytes != 0) ||
                     (!has.output && head.output_bytes != 0);
  const bool missing = (has.request && head.number == 0) || (has.slots && head.slots == 0) ||
                       (has.input && head.input_bytes == 0) ||
                       (has.output && head.output_bytes == 0);
  if (!extra && !missing) return {};
  return lied(fmt::format("a message of type {} with fields of others, or without its own",
                          static_cast<unsigned>(head.type)));
}

Result<MessageHead> decode(std::span<const std::byte, kMessageHeadBytes> bytes) {
  if (load<std::uint32_t>(&bytes[kAtMagic]) != kMagic) {
    return lied("what came is no message of Framewire's");
  }
  const auto version = load<std::uint8_t>(&bytes[kAtVersion]);
  if (version != kMessageVersion) {
    return fail(
        StatusCode::kUnsupported,
        fmt::format("the other end speaks version {}, this one {}", version, kMessageVersion));
  }
  const auto type = load<std::uint8_t>(&bytes[kAtType]);
  const auto rest = bytes.subspan<kAtRest>();
  const bool zeros = load<std::uint16_t>(&bytes[kAtZero]) == 0 &&
                     std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; });
  if (type < static_cast<std::uint8_t>(MessageType::kHello) ||
      type > static_cast<std::uint8_t>(MessageType::kEnd) || !zeros) {
    return lied(fmt::format("a message of type {}, or with bytes set that mean nothing", type));
  }
  MessageHead head;
  head.type = static_cast<MessageType>(type);
  head.slot = load<std::uint32_t>(&bytes[kAtSlot]);
  head.number = load<std::uint64_t>(&bytes[kAtNumber]);
  head.slots = load<std::uint32_t>(&bytes[kAtSlots]);
  head.text_bytes = load<std::uint32_t>(&bytes[kAtText]);
  head.body_bytes = load<std::uint64_t>(&bytes[kAtBody]);
  head.input_bytes = load<std::uint64_t>(&bytes[kAtInput]);
  head.output_bytes = load<std::uint64_t>(&bytes[kAtOutput]);
  if (auto good = check_fields(head); !good) return fail(good.error());
  return head;
}

}  // namespace

void encode(const MessageHead& head, std::span<std::byte, kMessageHeadBytes> out) noexcept {
  std::ranges::fill(out, std::byte{0});
  store(&out[kAtMagic], kMagic);
  store(&out[kAtVersion], kMessageVersion);
  store(&out[kAtType], static_cast<std::uint8_t>(head.type));
  store(&out[kAtSlot], head.slot);
  store(&out[kAtNumber], head.number);
  store(&out[kAtSlots], head.slots);
  store(&out[kAtText], head.text_bytes);
  store(&out[kAtBody], head.body_bytes);
  store(&out[kAtInput], head.input_bytes);
  store(&out[kAtOutput], head.output_bytes);
}

OutgoingMessage make_message(MessageHead head, std::span<const std::byte> text,
                             std::span<const std::uint8_t> body) {
  head.text_bytes = static_cast<std::uint32_t>(text.size());
  head.body_bytes = body.size();
  OutgoingMessage made;
  made.bytes = body_offset(text.size()) + body.size();
  made.memory = std::make_unique_for_overwrite<std::byte[]>(made.bytes);
  const std::span<std::byte> all = made.all();
  encode(head, all.first<kMessageHeadBytes>());
  // Not std::ranges::copy(): libstdc++ 12 copies byte by byte from what is const.
  const auto end = std::copy(text.begin(), text.end(), all.begin() + kMessageHeadBytes);
  // What pads the text carries nothing of what the memory held before.
  std::fill(end, all.begin() + static_cast<std::ptrdiff_t>(body_offset(text.size())), std::byte{0});
  const std::span<const std::byte> bytes = std::as_bytes(body);
  std::copy(bytes.begin(), bytes.end(), all.subspan(body_offset(text.size())).begin());
  return made;
}

Result<Message> read_message(std::span<const std::byte> bytes) {
  return read_message(bytes, bytes);
}

Result<Message> read_message(std::span<const std::byte> front, std::span<const std::byte> bytes) {
  if (front.size() < kMessageHeadBytes) {
    return lied(fmt::format("a message of {} bytes; accepted: {} or more", bytes.size(),
                            kMessageHeadBytes));
  }
  auto head = decode(front.first<kMessageHeadBytes>());
  if (!head) return fail(head.error());
  const std::size_t most =
      std::min(front.size() - kMessageHeadBytes,
               head->type == MessageType::kRequest ? kMaxOptionsBytes : kMaxMessageTextBytes);
  // Compared before they are added up, so that nothing wraps.
  if (head->text_bytes > most || head->body_bytes > bytes.size() ||
      message_bytes(head->text_bytes, head->body_bytes) != bytes.size()) {
    return lied(fmt::format("a message of {} bytes that says it has {} of text and {} more",
                            bytes.size(), head->text_bytes, head->body_bytes));
  }
  Message message;
  message.head = *head;
  message.text = front.subspan(kMessageHeadBytes, head->text_bytes);
  const auto body = bytes.subspan(body_offset(head->text_bytes));
  message.body = {reinterpret_cast<const std::uint8_t*>(body.data()), body.size()};
  return message;
}

}  // namespace framewire::ipc
