// A client or a server played by hand: it offers what a test writes, and takes what it is told to.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <framewire/transport.hpp>
#include <functional>
#include <ipc/answer.hpp>
#include <ipc/message.hpp>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::service::remote::test {

/// One end of a channel over which messages go, a server's or a client's.
class PlayedEnd {
 public:
  using Bytes = std::vector<std::byte>;

  explicit PlayedEnd(transport::Channel channel) : channel_(std::move(channel)) {}

  [[nodiscard]] transport::Channel& channel() { return channel_; }

  [[nodiscard]] static Bytes make(const ipc::MessageHead& head, std::string_view text = {},
                                  std::span<const std::uint8_t> body = {}) {
    const auto made = ipc::make_message(head, std::as_bytes(std::span(text)), body);
    return {made.all().begin(), made.all().end()};
  }
  /// The head alone, whatever it says.
  [[nodiscard]] static Bytes only_head(const ipc::MessageHead& head) {
    Bytes bytes(ipc::kMessageHeadBytes);
    ipc::encode(head, std::span(bytes).first<ipc::kMessageHeadBytes>());
    return bytes;
  }
  [[nodiscard]] static Bytes hello(std::uint32_t slots = 4, std::uint64_t output_bytes = 1u << 20) {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kHello;
    head.slots = slots;
    head.output_bytes = output_bytes;
    return make(head);
  }
  [[nodiscard]] static Bytes welcome(std::uint32_t slots = 4,
                                     std::uint64_t input_bytes = 1u << 20) {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kWelcome;
    head.slots = slots;
    head.input_bytes = input_bytes;
    return make(head);
  }
  [[nodiscard]] static Bytes draining() {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kDraining;
    return make(head);
  }
  [[nodiscard]] static Bytes request(std::uint32_t slot, std::uint64_t number,
                                     std::span<const std::uint8_t> jpeg,
                                     std::string_view options = "size=20x") {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kRequest;
    head.slot = slot;
    head.number = number;
    return make(head, options, jpeg);
  }

  /// The answer to a request: "unsupported: no".
  [[nodiscard]] static Bytes refusal(const ipc::Message& request) {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kFailed;
    head.slot = request.head.slot;
    head.number = request.head.number;
    std::array<std::byte, 1000> text;
    const auto bytes = ipc::write_error({StatusCode::kUnsupported, "no"}, text);
    return make(head, {reinterpret_cast<const char*>(text.data()), bytes});
  }

  void offer(Bytes bytes) {
    transport::OfferOptions options;
    options.direction = transport::Direction::kGet;
    options.ttl_ms = options.work_ms = 600'000;
    Bytes& kept = offered_.emplace_back(std::move(bytes));
    (void)channel_.offer(transport::Region::view(kept), 0, kept.size(), options);
  }
  /// Offers some memory under a length that nothing has been sent of.
  void offer_length(std::size_t bytes) { offer(Bytes(bytes)); }

  /// Progress, until it is true or the channel is lost. @return whether it is true
  bool until(const std::function<bool()>& true_at_last) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!true_at_last()) {
      if (channel_.lost() || std::chrono::steady_clock::now() > end) return false;
      if (!channel_.progress()) channel_.idle(5);
    }
    return true;
  }
  /// Fetches the next message; nothing where none comes.
  std::optional<ipc::Message> next() { return next_slowly({}); }
  /// The same, with pauses and signs of life while it comes, for so long.
  std::optional<ipc::Message> next_slowly(std::chrono::milliseconds time) {
    const auto direction = transport::Direction::kGet;
    if (!until([&] { return channel_.credits(direction) != 0; })) return std::nullopt;
    const auto lease = channel_.take_lease(direction).value();
    Bytes& bytes = received_.emplace_back(lease.length_bytes);
    const auto transfer =
        channel_.get(lease, transport::Region::view(bytes), 0, bytes.size()).value();
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end && !channel_.lost()) {
      offer(draining());
      (void)channel_.progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(70));
    }
    if (!until([&] { return channel_.done(transfer); })) return std::nullopt;
    if (!channel_.take_result(transfer)) return std::nullopt;
    auto message = ipc::read_message(bytes);
    return message ? std::optional(*message) : std::nullopt;
  }
  /// Greets as a client. @return whether it was welcome
  bool greet(std::uint32_t slots = 4) {
    offer(hello(slots));
    const auto answer = next();
    return answer && answer->head.type == ipc::MessageType::kWelcome;
  }
  /// The last word of a server: messages before it are dropped.
  std::optional<Status> last_word() {
    while (const auto message = next()) {
      if (message->head.type == ipc::MessageType::kEnd) return ipc::read_error(message->text);
    }
    return std::nullopt;
  }

 private:
  // Before the channel, which goes first.
  std::list<Bytes> offered_;
  std::list<Bytes> received_;
  transport::Channel channel_;
};

}  // namespace framewire::service::remote::test
