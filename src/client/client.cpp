#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <client/local_session.hpp>
#include <client/remote_session.hpp>
#include <client/retries.hpp>
#include <framewire/client.hpp>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace framewire {
using client::Order;

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<client::ServerSession> made) : session(std::move(made)) {}
  ~Impl() {
    outstanding.wait_for_all();
    session->close();
    if (thread_.joinable()) thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start() {
    auto started = base::start_thread("fw-client", [of = session] { of->receive(); });
    if (!started) return fail(std::move(started.error()));
    thread_ = std::move(*started);
    return {};
  }

  Order make_order(EngineRequest& request) {
    Order order;
    order.jpeg = request.jpeg;
    order.options = session->options().find(request.options);
    if (request.completions != nullptr) order.completion.emplace_back().tag = request.tag;
    order.completions = std::move(request.completions);
    order.done = std::move(request.done);
    order.sink = std::move(request.sink);
    order.stop = std::move(request.stop);
    order.ticket = outstanding.begin_request();
    return order;
  }
  static void give_back(Order& order, EngineRequest& request) {
    request.completions = std::move(order.completions);
    request.done = std::move(order.done);
    request.sink = std::move(order.sink);
    request.stop = std::move(order.stop);
  }
  /// Where memory runs out for those that are left they are answered: others are under way.
  void submit(std::span<Order> orders) const {
    try {
      while (!orders.empty()) orders = orders.subspan(session->submit(orders, true, {}));
    } catch (const std::bad_alloc&) {
      for (Order& order : orders) client::answer(order, fail(base::no_memory()));
    }
  }

  /// An `on_room` that the destructor waits for until it has been called, or let go: what it
  /// submits is to be answered by the server.
  std::function<void()> counted(std::function<void()> on_room) {
    if (!on_room) return {};
    auto ticket = std::make_shared<client::Outstanding::Ticket>(outstanding.begin_call());
    return [call = std::move(on_room), ticket = std::move(ticket)] { call(); };
  }

  client::Outstanding outstanding;
  const std::shared_ptr<client::ServerSession> session;

 private:
  std::thread thread_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::connect(const std::string& path, const ClientOptions& options) {
  auto made = client::LocalSession::connect({path, options});
  if (!made) return fail(made.error());
  return begin(std::move(*made));
}

Result<Client> Client::connect(const std::string& address, const transport::SessionOptions& session,
                               const ClientOptions& options) {
  auto made = client::RemoteSession::connect({address, session, options});
  if (!made) return fail(made.error());
  return begin(std::move(*made));
}

Result<Client> Client::begin(std::shared_ptr<client::ServerSession> session) {
  auto impl = std::make_unique<Impl>(std::move(session));
  if (auto started = impl->start(); !started) return fail(std::move(started.error()));
  return Client(std::move(impl));
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
  order.ticket = impl_->outstanding.begin_request();
  impl_->submit({&order, 1});
}

std::size_t Client::try_submit(std::span<EngineRequest> requests, std::function<void()> on_room) {
  std::vector<Order> orders;
  orders.reserve(requests.size());
  std::function<void()> counted = impl_->counted(std::move(on_room));
  for (EngineRequest& request : requests) orders.push_back(impl_->make_order(request));
  const std::size_t taken = impl_->session->submit(orders, false, std::move(counted));
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

void Client::drain() { impl_->outstanding.wait_for_earlier(); }
std::optional<Status> Client::lost() const { return impl_->session->lost(); }
bool Client::draining() const noexcept { return impl_->session->draining(); }

void client::Retries::stop(Client& client) noexcept { client.impl_->session->stop_retrying(); }

}  // namespace framewire
