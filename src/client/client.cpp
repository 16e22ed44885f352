#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <base/moment.hpp>
#include <base/passed_files.hpp>
#include <base/thread_name.hpp>
#include <cerrno>
#include <client/remote_session.hpp>
#include <client/session.hpp>
#include <cstring>
#include <framewire/client.hpp>
#include <ipc/greeting.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace framewire {
namespace {

using client::Order;
using transport::shared::LocalPeer;

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Tries again where so many wait to be accepted that the system takes no more.
Result<LocalPeer> connect_to(const std::string& path, base::Clock::time_point deadline) {
  const auto address = address_of(path);
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
  if (!message->files[0].valid()) {
    return fail(StatusCode::kInvalidInput, "the server has handed over no memory");
  }
  return ipc::SharedPages::open(message->files[0],
                                {word.slots, word.input_bytes, word.output_bytes});
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<client::ServerSession> made)
      : session(std::move(made)), thread_([of = session] {
          base::name_thread("fw-client");
          of->receive();
        }) {}
  ~Impl() {
    session->drain();
    session->close();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Order make_order(EngineRequest& request) {
    Order order;
    order.jpeg = request.jpeg;
    order.options = session->options().find(request.options);
    if (request.completions != nullptr) order.completion.emplace_back().tag = request.tag;
    order.completions = std::move(request.completions);
    order.done = std::move(request.done);
    order.sink = std::move(request.sink);
    order.stop = std::move(request.stop);
    return order;
  }
  static void give_back(Order& order, EngineRequest& request) {
    request.completions = std::move(order.completions);
    request.done = std::move(order.done);
    request.sink = std::move(order.sink);
    request.stop = std::move(order.stop);
  }
  void submit(std::span<Order> orders) const {
    while (!orders.empty()) orders = orders.subspan(session->submit(orders, true, {}));
  }

  const std::shared_ptr<client::ServerSession> session;

 private:
  std::thread thread_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::connect(const std::string& path, const ClientOptions& options) {
  const auto deadline = base::moment_after(options.timeout);
  auto peer = connect_to(path, deadline);
  if (!peer) return fail(peer.error());
  auto pages = greet(*peer, options, deadline);
  if (!pages) return fail(pages.error());
  base::refuse_files(peer->fd());  // there are no more to come
  return begin(std::make_shared<client::Session>(std::move(*pages), std::move(*peer)));
}

Result<Client> Client::connect(const std::string& address, const transport::SessionOptions& session,
                               const ClientOptions& options) {
  auto made = client::RemoteSession::connect({address, session, options});
  if (!made) return fail(made.error());
  return begin(std::move(*made));
}

Result<Client> Client::begin(std::shared_ptr<client::ServerSession> session) {
  try {
    return Client(std::make_unique<Impl>(std::move(session)));
  } catch (const std::system_error& error) {
    return fail(StatusCode::kBusy,
                fmt::format("cannot start the client's thread: {}", error.code().message()));
  }
}

Result<InputSlice> Client::input_slice(std::size_t bytes) {
  return impl_->session->input_slice(bytes);
}

void Client::submit(std::span<const std::uint8_t> jpeg, const ResizeOptions& options,
                    Callback done) {
  EngineRequest request{jpeg, options, std::move(done)};
  submit({&request, 1});
}

std::future<Result<Resized>> Client::submit(std::span<const std::uint8_t> jpeg,
                                            const ResizeOptions& options) {
  auto promise = std::make_shared<std::promise<Result<Resized>>>();
  auto future = promise->get_future();
  submit(jpeg, options,
         [promise](Result<Resized> result) { promise->set_value(std::move(result)); });
  return future;
}

void Client::submit(std::span<EngineRequest> requests) {
  std::vector<Order> orders;
  orders.reserve(requests.size());
  for (EngineRequest& request : requests) orders.push_back(impl_->make_order(request));
  impl_->submit(orders);
}

void Client::submit_view(std::span<const std::uint8_t> jpeg, const ResizeOptions& options,
                         ViewCallback done) {
  Order order;
  order.jpeg = jpeg;
  order.options = impl_->session->options().find(options);
  order.view = std::move(done);
  impl_->submit({&order, 1});
}

std::size_t Client::try_submit(std::span<EngineRequest> requests, std::function<void()> on_room) {
  std::vector<Order> orders;
  orders.reserve(requests.size());
  for (EngineRequest& request : requests) orders.push_back(impl_->make_order(request));
  const std::size_t taken = impl_->session->submit(orders, false, std::move(on_room));
  for (std::size_t i = taken; i < orders.size(); ++i) Impl::give_back(orders[i], requests[i]);
  return taken;
}

Result<void> Client::try_submit(EngineRequest& request, std::function<void()> on_room) {
  if (try_submit({&request, 1}, std::move(on_room)) == 1) return {};
  return fail(StatusCode::kBusy,
              "as many requests as the client has slots or room for are unanswered");
}

Result<Resized> Client::resize(std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
  return submit(jpeg, options).get();
}

void Client::drain() { impl_->session->drain(); }
std::optional<Status> Client::lost() const { return impl_->session->lost(); }
bool Client::draining() const noexcept { return impl_->session->draining(); }

}  // namespace framewire
