#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/wire/control.hpp>

namespace framewire::transport::wire {
namespace {

constexpr std::size_t kMaxLinks = 8;
constexpr std::size_t kMaxLinkName = 32;
constexpr std::size_t kMaxBlob = 8 * 1024;
constexpr std::size_t kMaxRefusalText = 512;

void put_text(std::vector<std::byte>& out, std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), from, from + text.size());
}

template <std::integral T>
void put(std::vector<std::byte>& out, T value) {
  std::array<std::byte, sizeof(T)> bytes;
  store(bytes.data(), value);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Reads fields one after the other; after one that is missing all others are missing, too.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::integral T>
  T take() {
    const auto part = take_bytes(sizeof(T));
    return part.empty() ? T{} : load<T>(part.data());
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size()) {
      short_ = true;
      bytes_ = {};
      return {};
    }
    const auto part = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return part;
  }
  [[nodiscard]] bool complete() const { return !short_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool short_ = false;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void encode(const FrameHead& head, std::span<std::byte, kFrameHeadBytes> out) noexcept {
  out[0] = std::byte{'F'};
  out[1] = std::byte{'W'};
  out[2] = std::byte{kProtocolVersion};
  out[3] = static_cast<std::byte>(head.type);
  store(out.data() + 4, head.body_bytes);
  store(out.data() + 8, head.payload_bytes);
}

Result<FrameHead> decode_frame_head(std::span<const std::byte, kFrameHeadBytes> bytes) {
  if (bytes[0] != std::byte{'F'} || bytes[1] != std::byte{'W'}) {
    return fail(StatusCode::kInvalidInput, "the peer does not speak Framewire's protocol");
  }
  if (bytes[2] != std::byte{kProtocolVersion}) {
    return fail(StatusCode::kUnsupported,
                fmt::format("the peer speaks version {} of the protocol; this is version {}",
                            std::to_integer<int>(bytes[2]), kProtocolVersion));
  }
  const auto type = std::to_integer<std::uint8_t>(bytes[3]);
  FrameHead head;
  head.type = static_cast<FrameType>(type);
  head.body_bytes = load<std::uint32_t>(bytes.data() + 4);
  head.payload_bytes = load<std::uint64_t>(bytes.data() + 8);
  const bool payload_fits = head.type == FrameType::kPacket ? head.payload_bytes <= kMaxPayloadBytes
                                                            : head.payload_bytes == 0;
  if (type < 1 || type > 6 || head.body_bytes > kMaxBodyBytes || !payload_fits) {
    return fail(StatusCode::kInvalidInput, fmt::format("a frame of type {} with {} and {} bytes",
                                                       type, head.body_bytes, head.payload_bytes));
  }
  return head;
}

std::vector<std::byte> encode(const Greeting& greeting) {
  std::vector<std::byte> out;
  put(out, greeting.epoch);
  put(out, greeting.capacity);
  put(out, static_cast<std::uint8_t>(greeting.links.size()));
  for (const LinkOffer& link : greeting.links) {
    put(out, static_cast<std::uint8_t>(link.name.size()));
    put_text(out, link.name);
    put(out, static_cast<std::uint16_t>(link.blob.size()));
    out.insert(out.end(), link.blob.begin(), link.blob.end());
  }
  return out;
}

Result<Greeting> decode_greeting(std::span<const std::byte> body) {
  MessageReader reader(body);
  Greeting greeting;
  greeting.epoch = reader.take<std::uint32_t>();
  greeting.capacity = reader.take<std::uint32_t>();
  const auto count = reader.take<std::uint8_t>();
  bool good = count <= kMaxLinks && greeting.capacity >= 1 && greeting.capacity <= kMaxCapacity;
  for (int i = 0; good && i < count; ++i) {
    LinkOffer& link = greeting.links.emplace_back();
    link.name = text_of(reader.take_bytes(reader.take<std::uint8_t>()));
    const auto blob = reader.take_bytes(reader.take<std::uint16_t>());
    link.blob.assign(blob.begin(), blob.end());
    good = !link.name.empty() && link.name.size() <= kMaxLinkName && link.blob.size() <= kMaxBlob;
  }
  if (!good || !reader.complete()) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a malformed greeting of {} bytes", body.size()));
  }
  return greeting;
}

std::vector<std::byte> encode(const Rendezvous& rendezvous) {
  std::vector<std::byte> out;
  for (const auto* part : {&rendezvous.place, &rendezvous.client_token, &rendezvous.server_token}) {
    out.insert(out.end(), part->begin(), part->end());
  }
  return out;
}

Result<Rendezvous> decode_rendezvous(std::span<const std::byte> body) {
  Rendezvous rendezvous;
  if (body.size() != 3 * rendezvous.place.size()) {
    return fail(StatusCode::kInvalidInput, fmt::format("a rendezvous of {} bytes", body.size()));
  }
  std::copy_n(body.begin(), 16, rendezvous.place.begin());
  std::copy_n(body.begin() + 16, 16, rendezvous.client_token.begin());
  std::copy_n(body.begin() + 32, 16, rendezvous.server_token.begin());
  return rendezvous;
}

std::vector<std::byte> encode_met(bool met) { return {static_cast<std::byte>(met)}; }

Result<bool> decode_met(std::span<const std::byte> body) {
  if (body.size() == 1 && body[0] <= std::byte{1}) return body[0] == std::byte{1};
  return fail(StatusCode::kInvalidInput,
              fmt::format("a malformed answer to a rendezvous, of {} bytes", body.size()));
}

std::vector<std::byte> encode_refusal(const Status& status) {
  std::vector<std::byte> out;
  put(out, static_cast<std::uint8_t>(status.code()));
  put_text(out, std::string_view(status.message()).substr(0, kMaxRefusalText));
  return out;
}

Status decode_refusal(std::span<const std::byte> body) {
  MessageReader reader(body);
  const auto code = reader.take<std::uint8_t>();
  auto rest = body.empty() ? body : body.subspan(1);
  std::string text = text_of(rest.first(std::min(rest.size(), kMaxRefusalText)));
  // The text may end up on a terminal.
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, '?');
  const bool known = code <= static_cast<std::uint8_t>(StatusCode::kInternal);
  return {known ? static_cast<StatusCode>(code) : StatusCode::kDenied, "the peer refused: " + text};
}

Result<Frame> read_frame(ByteStream& stream, base::Clock::time_point deadline) {
  std::array<std::byte, kFrameHeadBytes> bytes;
  if (auto got = read_all(stream, bytes, deadline); !got) return fail(got.error());
  const auto head = decode_frame_head(bytes);
  if (!head) return fail(head.error());
  if (head->payload_bytes != 0) {
    return fail(StatusCode::kInvalidInput, "a packet before the greeting");
  }
  Frame frame;
  frame.type = head->type;
  frame.body.resize(head->body_bytes);
  if (auto got = read_all(stream, frame.body, deadline); !got) return fail(got.error());
  return frame;
}

Result<void> write_frame(ByteStream& stream, FrameType type, std::span<const std::byte> body,
                         base::Clock::time_point deadline) {
  std::vector<std::byte> bytes(kFrameHeadBytes);
  encode({type, static_cast<std::uint32_t>(body.size()), 0},
         std::span<std::byte, kFrameHeadBytes>(bytes));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return write_all(stream, bytes, deadline);
}

}  // namespace framewire::transport::wire
