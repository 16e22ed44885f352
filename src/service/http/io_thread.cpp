#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <service/http/http1_connection.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;
using asio::generic::stream_protocol;

// How often deadlines are looked at, and so how exact they are.
constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kAnswersAtOnce = 64;
// Requests that are turned away in one tick and have a line in the log each. A line costs as much
// as the rest of such an answer, and there are most of them where there is least time.
constexpr unsigned kLoggedRefusals = 10;

constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nServer: framewire\r\nConnection: close\r\n"
    "Retry-After: 1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\n"
    "too many connections\n";

// Whoever scrapes needs one or two. They do not count among those that clients share.
constexpr std::uint64_t kMaxMetricsConnections = 16;

bool is_loopback(const in6_addr& address) {
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address) != 0;
  return IN6_IS_ADDR_LOOPBACK(&address) != 0 || (mapped && address.s6_addr[12] == 127);
}

std::uint64_t first_eight(const unsigned char* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

Peer peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    (void)::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    // Apart from all prefixes of IPv6 in use: 0000::/32 is reserved.
    const std::uint32_t number = ntohl(address.sin_addr.s_addr);
    return {{std::uint64_t{1} << 32 | number}, text, number >> 24 == 127};
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    (void)::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
    // ::1 and its like begin with zeros, which stand for nobody.
    return {{std::max<std::uint64_t>(first_eight(address.sin6_addr.s6_addr), 1)},
            text,
            is_loopback(address.sin6_addr)};
  }
  return {{}, "unix", storage.ss_family == AF_UNIX};
}

}  // namespace

IoThread::IoThread(SharedState& shared, SnapshotRef snapshot)
    : shared_(shared),
      snapshot_(std::move(snapshot)),
      work_(asio::make_work_guard(context_)),
      timer_(context_),
      answered_(context_) {}

IoThread::~IoThread() = default;

Result<void> IoThread::prepare() {
  // The queue has a descriptor of its own: requests that name it may outlive this thread.
  base::FileDescriptor made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int own = made.valid() ? ::fcntl(made.get(), F_DUPFD_CLOEXEC, 3) : -1;
  if (own < 0) {
    const int error = errno;
    return fail(base::code_of_errno(error), "cannot make an eventfd");
  }
  const auto event = std::make_shared<base::FileDescriptor>(std::move(made));
  answered_.assign(own);
  completions_ = std::make_shared<CompletionQueue>([event] {
    const std::uint64_t one = 1;
    (void)!::write(event->get(), &one, sizeof one);
  });
  return {};
}

Result<void> IoThread::listen(ListeningSocket listener, bool metrics) {
  boost::system::error_code error;
  Acceptor acceptor(context_);
  const stream_protocol protocol(listener.family, listener.family == AF_UNIX ? 0 : IPPROTO_TCP);
  acceptor.assign(protocol, listener.fd.get(), error);
  if (error) {
    return fail(Status(base::code_of_errno(error.value()), error.message()).about(listener.name));
  }
  (void)listener.fd.release();
  listeners_.push_back(
      {std::move(acceptor), {protocol, metrics, listener.tls}, listener.inherited});
  return {};
}

void IoThread::run() noexcept {
  while (!context_.stopped()) {
    // Where a handler throws, which is nearly always since memory ran out, its connection is closed
    // by its deadline, if it has not closed itself, and the others go on.
    try {
      tick();
      context_.run();
    } catch (const std::exception& error) {
      handler_threw(error.what());
    } catch (...) {
      handler_threw("an exception that nobody expected");
    }
  }
  tell_unlogged();
}

void IoThread::handler_threw(const char* what) noexcept {
  try {
    shared_.log.say("error", fmt::format("a handler of a connection failed: {}", what));
  } catch (const std::bad_alloc&) {
    shared_.log.say("error", "a handler of a connection failed: memory ran out");
  }
  accept_anew();
}

bool IoThread::logs_refusal() noexcept {
  if (++refusals_ <= kLoggedRefusals) return true;
  ++unlogged_;
  return false;
}

void IoThread::tell_unlogged() noexcept try {
  refusals_ = 0;
  if (unlogged_ == 0) return;
  shared_.log.say("warning",
                  fmt::format("{} requests that were turned away have no line", unlogged_));
  unlogged_ = 0;
} catch (...) {  // memory ran out: told with the next ones
}

bool IoThread::post(std::function<void()> task) {
  try {
    asio::post(context_, std::move(task));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void IoThread::give_snapshot(SnapshotRef snapshot) noexcept {
  const std::lock_guard lock(next_snapshot_mutex_);
  next_snapshot_.swap(snapshot);
  has_next_snapshot_.store(true, std::memory_order_release);
}

const SnapshotRef& IoThread::take_snapshot() noexcept {
  if (has_next_snapshot_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(next_snapshot_mutex_);
    has_next_snapshot_.store(false, std::memory_order_relaxed);
    snapshot_ = std::move(next_snapshot_);
  }
  return snapshot_;
}

// What was thrown may have come from taking a socket, before its handler was called: then nobody
// accepts any more. The next tick begins anew.
void IoThread::accept_anew() noexcept {
  for (Listener& listener : listeners_) {
    boost::system::error_code ignored;
    if (!listener.accepting || !listener.acceptor.is_open()) continue;
    ++listener.round;
    listener.accepting = false;
    listener.acceptor.cancel(ignored);
  }
}

void IoThread::accept(std::size_t index) {
  if (listeners_[index].accepting) return;
  listeners_[index].acceptor.async_accept(
      [this, index, round = listeners_[index].round](const boost::system::error_code& error,
                                                     Socket socket) {
        on_accept(index, round, error, std::move(socket));
      });
  listeners_[index].accepting = true;
}

void IoThread::on_accept(std::size_t index, std::uint64_t round,
                         const boost::system::error_code& error, Socket socket) {
  if (round != listeners_[index].round) {
    if (!error) adopt(std::move(socket), listeners_[index].arrival);
    return;
  }
  listeners_[index].accepting = false;
  if (!listeners_[index].acceptor.is_open()) {
    // Accepted just before the listener was closed: a client that counts on an answer.
    if (!error) adopt(std::move(socket), listeners_[index].arrival);
    return;
  }
  const bool none_left = error == boost::system::errc::too_many_files_open ||
                         error == boost::system::errc::too_many_files_open_in_system ||
                         error == boost::system::errc::no_buffer_space ||
                         error == boost::system::errc::not_enough_memory;
  // Where descriptors have run out, accepting again at once would only spin: the next tick does.
  if (none_left) return make_room_for_descriptors();
  // The next one first: adopt() may throw.
  accept(index);
  if (!error) adopt(std::move(socket), listeners_[index].arrival);
}

void IoThread::adopt(Socket socket, const Arrival& arrival) {
  const bool metrics = arrival.metrics;
  Peer peer = peer_of(socket.native_handle());
  peer.metrics_listener = metrics;
  const std::uint64_t for_metrics = shared_.metrics_connections.load();
  const bool full = metrics
                        ? for_metrics >= kMaxMetricsConnections
                        : shared_.connections.load() >= settings().max_connections + for_metrics;
  if (full && !make_room(metrics, peer.client)) {
    if (hand_on(socket, arrival, peer.client)) return;
    if (!make_room_for(arrival, peer.client)) {
      if (!metrics) shared_.metrics.refused_connections.add();
      // Under TLS an answer would cost what there is too much of.
      if (!arrival.tls) refuse(std::move(socket));
      return;
    }
  }
  std::unique_ptr<TlsSession> tls;
  if (arrival.tls) {
    const bool too_many = shared_.handshakes.load() >= shared_.settings.max_handshakes;
    if (too_many && !make_room_for_handshake(socket, arrival)) return;
    if ((tls = begin_tls(socket.native_handle())) == nullptr) return;
  }
  const int on = 1;
  (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto connection = std::make_shared<Http1Connection>(
      *this, SocketStream(std::move(socket), std::move(tls)), std::move(peer));
  connections_.emplace(connection.get(), connection);
  connection->start();
}

// @return null where there is no memory
std::unique_ptr<TlsSession> IoThread::begin_tls(int fd) {
  const auto context = shared_.tls.get();
  return context == nullptr ? nullptr : TlsSession::make(*context, fd);
}

void IoThread::handshake_begins(Connection& connection, ClientKey client) {
  handshakes_.add(&connection, client);
  shared_.handshakes.fetch_add(1);
  most_handshakes_.store(handshakes_.most_of_one(), std::memory_order_relaxed);
}

void IoThread::handshake_ends(const Connection& connection) noexcept {
  if (!handshakes_.remove(&connection)) return;
  shared_.handshakes.fetch_sub(1);
  most_handshakes_.store(handshakes_.most_of_one(), std::memory_order_relaxed);
}

// The socket has just been accepted, so that the answer finds room without waiting.
void IoThread::refuse(Socket socket) noexcept {
  (void)::send(socket.native_handle(), kTooManyConnections.data(), kTooManyConnections.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
  // Closed with bytes unread, a socket resets the connection, and the answer with it.
  char unread[4096];
  (void)!::recv(socket.native_handle(), unread, sizeof unread, MSG_DONTWAIT);
  (void)::shutdown(socket.native_handle(), SHUT_WR);
}

void IoThread::forget(const Connection& connection) noexcept {
  handshake_ends(connection);
  connections_.erase(&connection);
}

void IoThread::replace(const Connection& before, const std::shared_ptr<Connection>& after) {
  connections_.emplace(after.get(), after);
  forget(before);
}

void IoThread::post_drain() {
  (void)post([this] { drain(); });
}

// Connections that the system has accepted, and this thread not yet, would be reset with their
// listener.
void IoThread::accept_what_waits(Listener& listener) {
  boost::system::error_code error;
  listener.acceptor.non_blocking(true, error);
  while (!error) {
    Socket socket(context_);
    listener.acceptor.accept(socket, error);
    if (error) return;
    try {
      adopt(std::move(socket), listener.arrival);
    } catch (const std::bad_alloc&) {
      return;  // nobody could be told
    }
  }
}

void IoThread::drain() {
  boost::system::error_code ignored;
  for (Listener& listener : listeners_) {
    listener.acceptor.cancel(ignored);
    // Whoever handed it over keeps it open, and starts another server for those.
    if (!listener.inherited) accept_what_waits(listener);
    listener.acceptor.close(ignored);
  }
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->drain();
  // Behind the handlers that are ready, of connections accepted meanwhile among them.
  if (!post([this] { shared_.drained_threads.fetch_add(1); })) shared_.drained_threads.fetch_add(1);
}

void IoThread::post_close_all() {
  (void)post([this] {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [key, connection] : connections_) all.push_back(connection);
    for (const auto& connection : all) connection->close();
  });
}

void IoThread::tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
  // Whatever could not be begun again for want of memory, or of descriptors, is begun again here.
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i].acceptor.is_open()) accept(i);
  }
  wait_for_answers();
  if (completions_->size() != 0) take_answers();
  const auto now = Connection::Clock::now();
  (void)take_snapshot();
  last_tick_ns_.store(now.time_since_epoch().count());
  tell_unlogged();
  std::vector<std::shared_ptr<Connection>> late;
  for (const auto& [key, connection] : connections_) {
    if (connection->deadline() <= now) late.push_back(connection);
  }
  for (const auto& connection : late) connection->tick(now);
  make_way(now);
  find_stalled(now);
  count_waiting();
}

std::string_view IoThread::date() {
  const std::int64_t second = ::time(nullptr);
  if (second != date_second_) {
    date_ = http_date(second);
    date_second_ = second;
  }
  return date_;
}

void IoThread::submit(PictureJob job) {
  to_hand_in_.push_back(std::move(job));
  if (handing_in_) return;
  // After the handlers that are ready now: what they bring goes to the engine together.
  try {
    asio::post(context_, [this] { hand_in(); });
  } catch (...) {
    to_hand_in_.pop_back();
    throw;
  }
  handing_in_ = true;
}

void IoThread::hand_in() {
  handing_in_ = false;
  std::vector<PictureJob> group;
  group.swap(to_hand_in_);
  std::vector<EngineRequest> requests;
  std::size_t taken = 0;
  const std::uint64_t first_tag = next_tag_;
  next_tag_ += group.size();
  const auto now = std::chrono::steady_clock::now();
  try {
    requests.reserve(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      EngineRequest request;
      request.jpeg = group[i].jpeg;
      request.options = group[i].options;
      request.stop = group[i].stop;
      request.client = group[i].client.key;
      request.claim = group[i].claim;
      request.completions = completions_;
      request.tag = first_tag + i;
      handed_in_.try_emplace(request.tag).first->second = {std::move(group[i]), now};
      requests.push_back(std::move(request));
    }
    taken = shared_.engine.try_submit(requests);
  } catch (const std::bad_alloc&) {
    taken = 0;  // none was handed in
  }
  shared_.metrics.images_begun.add(taken);
  for (std::size_t i = taken; i < group.size(); ++i) {
    const auto found = handed_in_.find(first_tag + i);
    const bool is_there = found != handed_in_.end() && found->second.job.done != nullptr;
    const PictureJob job = std::move(is_there ? found->second.job : group[i]);
    if (found != handed_in_.end()) handed_in_.erase(found);
    job.done(fail(StatusCode::kBusy, "the engine has no room"));
  }
}

void IoThread::wait_for_answers() {
  if (waiting_for_answers_) return;
  answered_.async_wait(Event::wait_read, [this](const boost::system::error_code& error) {
    waiting_for_answers_ = false;
    if (error) return;
    std::uint64_t count = 0;
    (void)!::read(answered_.native_handle(), &count, sizeof count);
    wait_for_answers();
    take_answers();
  });
  waiting_for_answers_ = true;
}

void IoThread::take_answers() {
  while (true) {
    // Where memory runs out here no answer is lost; the next one brings this back.
    auto answers = completions_->take(kAnswersAtOnce, std::chrono::microseconds(0));
    for (Completion& completion : answers) answer(completion.tag, std::move(completion.result));
    if (answers.size() < kAnswersAtOnce) return;
  }
}

void IoThread::answer(std::uint64_t tag, Result<Resized> result) noexcept {
  const auto found = handed_in_.find(tag);
  if (found == handed_in_.end()) return;
  HandedIn picture = std::move(found->second);
  handed_in_.erase(found);
  shared_.metrics.images_ended.add();
  if (result) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - picture.begun;
    const CodecKind named = picture.job.options.codec;
    const CodecKind asked = named == CodecKind::kAuto ? shared_.settings.defaults.codec : named;
    shared_.metrics.picture_made(asked, shared_.has_device, result->report, elapsed.count());
  }
  if (!result && result.error().code() == StatusCode::kDeviceLost && try_again(picture.job)) return;
  picture.job.done(std::move(result));
}

// On another device or the CPU: the engine gives a lost one no more.
bool IoThread::try_again(PictureJob& job) noexcept {
  if (job.is_retry) return false;
  job.is_retry = true;
  job.claim = nullptr;  // it was this one's
  try {
    to_hand_in_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    job.is_retry = false;
    return false;
  }
  shared_.metrics.device_retries.add();
  if (handing_in_) return true;
  hand_in();
  return true;
}

}  // namespace framewire::service::http
