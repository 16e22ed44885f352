#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
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
Result<LocalPeer> connect_to(const std::string& path, base::Clock::time_point deadline) {
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
    if (error != EAGAIN || base::Clock::now() >= deadline) {
      return fail(Status(error == EAGAIN ? StatusCode::kBusy : StatusCode::kIoError,
                         fmt::format("cannot connect: {}", std::generic_category().message(error)))
                      .about(path));
    }
    constexpr auto kPause = std::chrono::milliseconds(2);
    std::this_thread::sleep_for(kPause);
  }
}

/// What the server has made for us.
Result<ipc::SharedPages> greet(const LocalPeer& peer, const ClientOptions& options,
                               base::Clock::time_point deadline) {
  ipc::Hello hello;
  hello.slots = options.slots;
  hello.input_bytes = options.input_bytes;
  hello.output_bytes = options.output_bytes;
  if (auto sent = peer.send(std::as_bytes(std::span(&hello, 1))); !sent) {
    return fail(StatusCode::kPeerLost, "the server has closed the connection");
  }
  ipc::Word word;
  auto message = peer.receive(std::as_writable_bytes(std::span(&word, 1)), deadline);
  if (!message) return fail(message.error());
  if (auto accepted = ipc::read_word(word); !accepted) return fail(accepted.error());
  if (word.version != ipc::kVersion) {
    return fail(
        StatusCode::kUnsupported,
        fmt::format("the server speaks version {}, this client {}", word.version, ipc::kVersion));
  }
  if (!message->files[0].valid()) return lied("no memory came along");
  // All of it will be in use: a server that gives more than was asked for would fill this machine.
  const auto most = [](std::uint64_t asked) {
    return std::max(asked, ipc::kMinAreaBytes) + ipc::kPageBytes - 1;
  };
  if (word.slots > hello.slots || word.input_bytes > most(hello.input_bytes) ||
      word.output_bytes > most(hello.output_bytes)) {
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

Result<std::shared_ptr<Session>> open_session(const LocalPlace& place,
                                              base::Clock::time_point deadline, bool holds_back) {
  auto peer = connect_to(place.path, deadline);
  if (!peer) return fail(peer.error());
  auto pages = greet(*peer, place.options, deadline);
  if (!pages) return fail(pages.error());
  base::refuse_files(peer->fd());  // there are no more to come
  Session::Settings settings;
  settings.holds_back = holds_back;
  settings.patience = place.patience;
  return std::make_shared<Session>(std::move(*pages), std::move(*peer), settings);
}

}  // namespace framewire::client
