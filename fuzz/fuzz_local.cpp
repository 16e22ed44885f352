// A local client that writes what it likes into the memory that it shares with the server, and
// greets as it likes: no byte outside of that memory is touched, and every connection ends.
//
// The input is a list of commands, a byte each with their arguments; see write(). All is written
// before the server looks, and its engine works on the thread that serves: what one input does it
// does again.
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <base/wake_event.hpp>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <framewire/engine.hpp>
#include <fuzz/input.hpp>
#include <ipc/answer.hpp>
#include <ipc/greeting.hpp>
#include <ipc/options_text.hpp>
#include <ipc/shared_pages.hpp>
#include <memory>
#include <service/local/connection.hpp>
#include <service/pictures/picture_engine.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <utility>

namespace {

using namespace framewire;
using service::local::FairShare;
using service::local::LocalClientConnection;

constexpr ipc::AreaSizes kSizes{4, 64 << 10, 64 << 10};

void require(bool truth) {
  if (!truth) std::abort();
}

std::uint64_t take_number(Input& input) {
  switch (input.take() % 4) {
    case 0:
      return input.take();
    case 1: {
      const std::uint64_t high = input.take() << 8;
      return high | input.take();
    }
    case 2:
      return ~std::uint64_t{0} - input.take();
    default:
      return std::uint64_t{1} << (input.take() % 64);
  }
}

/// Writes what the commands say. @return entries in the ring, as the client tells
std::uint64_t write(ipc::SharedPages& pages, Input& input) {
  const auto ring = pages.submissions();
  std::uint64_t submitted = 0;
  const auto put = [&](const ipc::Submission& entry) {
    constexpr std::size_t kWords = sizeof entry / sizeof(std::uint64_t);
    const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(entry);
    auto& place = ring.at(submitted++);
    for (std::size_t i = 0; i < kWords; ++i) place[i] = words[i];
  };
  while (!input.left.empty()) {
    switch (input.take() % 6) {
      case 0: {  // an entry
        ipc::Submission entry;
        entry.command = static_cast<std::uint32_t>(input.take() % 5);
        entry.slot = static_cast<std::uint32_t>(take_number(input));
        entry.offset = take_number(input);
        entry.bytes = take_number(input);
        entry.options_bytes = static_cast<std::uint32_t>(take_number(input));
        // What only a service's own front is believed.
        entry.waited_ms = static_cast<std::uint32_t>(entry.bytes);
        entry.client = entry.offset;
        put(entry);
        break;
      }
      case 1: {  // a request that could be right
        ipc::Submission entry;
        entry.command = 1;
        entry.slot = static_cast<std::uint32_t>(input.take() % kSizes.slots);
        entry.bytes = input.take() * 8;
        entry.options_bytes = static_cast<std::uint32_t>(input.take() % 40);
        put(entry);
        break;
      }
      case 2: {  // text of options
        const auto text = pages.options(static_cast<std::uint32_t>(input.take() % kSizes.slots));
        const std::size_t wanted = input.take() % 64;
        const std::size_t bytes = std::min(wanted, input.left.size());
        std::memcpy(text.data(), input.left.data(), bytes);
        input.left = input.left.subspan(bytes);
        break;
      }
      case 3: {  // bytes of an input
        const std::size_t at = input.take() * 4;
        pages.input()[at] = static_cast<std::uint8_t>(input.take());
        break;
      }
      case 4:
        pages.control().received = take_number(input);
        break;
      default:
        submitted += input.take() % 32;
        break;
    }
  }
  return submitted;
}

void serve(Input input) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.callers_thread = true;
  static Engine engine = Engine::make(options).value();
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
          0);
  auto pages = ipc::SharedPages::make(kSizes).value();
  const base::FileDescriptor file(::dup(pages.fd()));
  auto client = ipc::SharedPages::open(file, kSizes).value();
  const auto jpeg = jpeg::tiny::baseline();
  std::memcpy(client.input().data(), jpeg.data(), jpeg.size());
  client.control().submitted = write(client, input);
  auto memory = engine.register_memory(pages.input_with_guard()).value();
  FairShare share;
  service::OwnEngine pictures(engine);
  service::ClientCounters counters;
  LocalClientConnection connection({pictures, share, counters, Limits{}}, 0, std::move(pages),
                                   std::move(memory),
                                   transport::shared::LocalPeer(base::FileDescriptor(ends[0])),
                                   std::make_shared<base::WakeEvent>());
  ::close(ends[1]);  // gone once all has been taken
  const Status end = connection.run();
  require(end.code() == StatusCode::kPeerLost || end.code() == StatusCode::kInvalidInput);
  require(client.control().completed <= client.control().submitted);
}

void read(std::span<const std::byte> bytes) {
  if (bytes.size() == sizeof(ipc::Hello)) {
    ipc::Hello hello;
    std::memcpy(&hello, bytes.data(), sizeof hello);
    (void)ipc::check(hello);
    const auto layout = ipc::Layout::make({hello.slots, hello.input_bytes, hello.output_bytes});
    require(!layout || layout->total > layout->output);
  }
  if (bytes.size() == sizeof(ipc::Word)) {
    ipc::Word word;
    std::memcpy(&word, bytes.data(), sizeof word);
    if (const auto said = ipc::read_word(word); !said) {
      require(said.error().message().size() <= ipc::Word::kMaxText);
    }
  }
  if (const auto report = ipc::read_report(bytes)) {
    std::array<std::byte, ipc::kReportBytes> again;
    require(ipc::write_report(*report, again) == bytes.size() || bytes.size() > again.size());
  }
  (void)ipc::read_error(bytes);
  if (bytes.size() <= ipc::kMaxOptionsBytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const auto options = ipc::parse_options(text)) {
      const auto back = ipc::parse_options(to_string(*options));
      require(back && ipc::same_options(*back, *options));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.empty()) return 0;
  if (std::to_integer<int>(bytes[0]) % 2 == 0) {
    serve({bytes.subspan(1)});
  } else {
    read(bytes.subspan(1));
  }
  return 0;
}
