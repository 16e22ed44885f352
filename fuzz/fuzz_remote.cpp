// Messages between a server and a client on another host: whatever the bytes, reading gives a
// message that is written as the same head, or a typed error. Texts are read on as what they may
// be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ipc/answer.hpp>
#include <ipc/message.hpp>
#include <ipc/options_text.hpp>
#include <string_view>
#include <vector>

namespace {

using namespace framewire;

void require(bool truth) {
  if (!truth) std::abort();
}

void read_text(const ipc::Message& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.text.data()),
                              message.text.size());
  if (message.head.type == ipc::MessageType::kRequest) {
    require(text.size() <= ipc::kMaxOptionsBytes);
    if (const auto options = ipc::parse_options(text)) {
      const auto back = ipc::parse_options(to_string(*options));
      require(back && ipc::same_options(*back, *options));
    }
    return;
  }
  std::array<std::byte, ipc::kReportBytes> again;
  if (const auto report = ipc::read_report(message.text)) {
    require(ipc::write_report(*report, again) <= again.size());
  }
  if (const auto error = ipc::read_error(message.text)) {
    require(ipc::write_error(*error, again) != 0);
  }
}

void check(std::span<const std::byte> bytes) {
  const auto message = ipc::read_message(bytes);
  if (!message) {
    require(message.error().code() == StatusCode::kInvalidInput ||
            message.error().code() == StatusCode::kUnsupported);
    return;
  }
  const ipc::MessageHead& head = message->head;
  require(ipc::message_bytes(head.text_bytes, head.body_bytes) == bytes.size());
  require(message->text.size() == head.text_bytes && message->body.size() == head.body_bytes);
  const auto made = ipc::make_message(head, message->text, message->body);
  require(
      std::equal(made.all().begin(), made.all().begin() + ipc::kMessageHeadBytes, bytes.begin()));
  require(made.bytes == bytes.size());
  read_text(*message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  if (size < ipc::kMessageHeadBytes) return 0;
  // With the magic number and the version right, what lies behind them is reached.
  std::vector<std::byte> right(bytes.begin(), bytes.end());
  std::array<std::byte, ipc::kMessageHeadBytes> head;
  ipc::encode({}, head);
  std::copy_n(head.begin(), 5, right.begin());
  right[6] = right[7] = std::byte{0};
  std::fill(right.begin() + 52, right.begin() + 64, std::byte{0});
  check(right);
  return 0;
}
