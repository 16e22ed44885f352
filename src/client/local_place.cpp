#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/moment.hpp>
#include <base/passed_files.hpp>
#include <base/unix_address.hpp>
#include <cerrno>
#include <client/lied.hpp>
#include <client/local_place.hpp>
#include <ipc/greeting.hpp>
#include <system_error>
#include <thread>
#include <utility>

namespace framewire::client {
namespace {

using transport::shared::LocalPeer;

/// Tries again where so many wait to be accepted that the system takes no more.
Result<LocalPeer> connect_to(const std::string& path, base::Clock::time_point deadline,
                             const std::stop_token& stop) {
  const auto address = base::unix_address(path);
  if (!address) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("found a socket's path of {} bytes; accepted: 1 to {}",
                                   path.size(), sizeof(sockaddr_un::sun_path) - 1))
                    .about("server"));
  }
  for (;;) {
    base::FileDescriptor socket(
        ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.valid() && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address),
                                    sizeof *address) == 0) {
      return LocalPeer(std::move(socket));
    }
    const int error = errno;
    if (error != EAGAIN || base::Clock::now() >= deadline || stop.stop_requested()) {
      return fail(Status(error == EAGAIN ? StatusCode::kBusy : StatusCode::kIoError,
                         fmt::format("cannot connect: {}", std::generic_category().message(error)))
                      .about(path));
    }
    constexpr auto kPause = std::chrono::milliseconds(2);
    std::this_thread::sleep_for(kPause);
  }
}

/// Waits for the server's word in short pieces, to notice a stop.
Result<LocalPeer::Message> receive_word(const LocalPeer& peer, ipc::Word& word,
                                        base::Clock::time_point deadline,
                                        const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPiece{100};
  while (true) {
    const auto end = std::min(deadline, base::moment_after(kPiece));
    auto message = peer.receive(std::as_writable_bytes(std::span(&word, 1)), end);
    const bool is_late = !message && message.error().code() == StatusCode::kDeadline;
    if (!is_late || end == deadline || stop.stop_requested()) return message;
  }
}

/// Whether a server may give so many bytes. All of them will be in use: one that gives more than
/// was asked for would fill this machine. With less, inputs would fail as too large, as if that
/// were their fault; every server gives what is asked for up to the usual.
bool may_give(std::uint64_t given, std::uint64_t asked, std::uint64_t usual) noexcept {
  const std::uint64_t max = std::max(asked, ipc::kMinAreaBytes);
  // To whole pages; a client may ask for as much as the type holds, so nothing is added to it.
  return given >= std::min(asked, usual) && (given <= max || given - max < ipc::kPageBytes);
}

/// What the server has made for us.
Result<ipc::SharedPages> greet(const LocalPeer& peer, const ClientOptions& options,
                               base::Clock::time_point deadline, const std::stop_token& stop) {
  ipc::Hello hello;
  hello.slots = options.slots;
  hello.input_bytes = options.input_bytes;
  hello.output_bytes = options.output_bytes;
  if (auto sent = peer.send(std::as_bytes(std::span(&hello, 1))); !sent) {
    return fail(StatusCode::kPeerLost, "the server has closed the connection");
  }
  ipc::Word word;
  auto message = receive_word(peer, word, deadline, stop);
  if (!message && message.error().code() == StatusCode::kInvalidInput) {
    return lied(message.error().message());
  }
  if (!message) return fail(message.error());
  if (auto accepted = ipc::read_word(word); !accepted) return fail(accepted.error());
  if (word.version != ipc::kVersion) {
    return fail(
        StatusCode::kUnsupported,
        fmt::format("the server speaks version {}, this client {}", word.version, ipc::kVersion));
  }
  if (!message->files[0].valid()) return lied("no memory came along");
  if (word.slots == 0 || word.slots > hello.slots ||
      !may_give(word.input_bytes, hello.input_bytes, ClientOptions{}.input_bytes) ||
      !may_give(word.output_bytes, hello.output_bytes, ClientOptions{}.output_bytes)) {
    return lied(fmt::format("{} slots and {} + {} bytes, of {} slots and {} + {} bytes asked for",
                            word.slots, word.input_bytes, word.output_bytes, hello.slots,
                            hello.input_bytes, hello.output_bytes));
  }
  auto pages =
      ipc::SharedPages::open(message->files[0], {word.slots, word.input_bytes, word.output_bytes});
  if (!pages && pages.error().code() == StatusCode::kInvalidInput) {
    return lied(pages.error().message());
  }
  return pages;
}

}  // namespace

Result<std::shared_ptr<LocalConnection>> open_connection(const LocalPlace& place,
                                                         base::Clock::time_point deadline,
                                                         HoldBack hold_back,
                                                         const std::stop_token& stop) {
  auto peer = connect_to(place.path, deadline, stop);
  if (!peer) return fail(peer.error());
  auto pages = greet(*peer, place.options, deadline, stop);
  if (!pages) return fail(Status(pages.error()).about(place.path));
  base::refuse_files(peer->fd());  // there are no more to come
  LocalConnection::Settings settings;
  settings.hold_back = hold_back;
  settings.patience = place.patience;
  return std::make_shared<LocalConnection>(std::move(*pages), std::move(*peer), settings);
}

}  // namespace framewire::client
