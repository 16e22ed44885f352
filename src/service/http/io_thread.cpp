#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <algorithm>
#include <base/thread_name.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

namespace asio = boost::asio;
using asio::generic::stream_protocol;

// How often deadlines are looked at, and so how exact they are.
constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kAnswersAtOnce = 64;

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

IoThread::IoThread(SharedState& shared)
    : shared_(shared),
      work_(asio::make_work_guard(context_)),
      timer_(context_),
      answered_(context_) {}

IoThread::~IoThread() = default;

Result<void> IoThread::prepare() {
  // The queue has a descriptor of its own: requests that name it may outlive this thread.
  const auto event =
      std::make_shared<base::FileDescriptor>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int own = event->valid() ? ::fcntl(event->get(), F_DUPFD_CLOEXEC, 3) : -1;
  if (own < 0) return fail(StatusCode::kIoError, "cannot make an eventfd");
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
  acceptor.assign(stream_protocol(listener.family, listener.family == AF_UNIX ? 0 : IPPROTO_TCP),
                  listener.fd.get(), error);
  if (error) {
    return fail(Status(StatusCode::kIoError, error.message()).about(listener.name));
  }
  (void)listener.fd.release();
  listeners_.push_back({std::move(acceptor), metrics});
  return {};
}

void IoThread::run() noexcept {
  base::name_thread("fw-http");
  while (!context_.stopped()) {
    // What a handler throws is memory that ran out: the connection concerned is closed by its
    // deadline, if it has not closed itself, and the others go on.
    try {
      tick();
      context_.run();
    } catch (...) {
      shared_.log.say("error", "a handler ran out of memory");
    }
  }
}

bool IoThread::post(std::function<void()> task) {
  try {
    asio::post(context_, std::move(task));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void IoThread::accept(std::size_t index) {
  if (listeners_[index].accepting) return;
  listeners_[index].acceptor.async_accept(
      [this, index](const boost::system::error_code& error, Socket socket) {
        on_accept(index, error, std::move(socket));
      });
  listeners_[index].accepting = true;
}

void IoThread::on_accept(std::size_t index, const boost::system::error_code& error, Socket socket) {
  listeners_[index].accepting = false;
  if (!listeners_[index].acceptor.is_open()) {
    // Accepted just before the listener was closed: a client that counts on an answer.
    if (!error) adopt(std::move(socket), listeners_[index].metrics);
    return;
  }
  const bool none_left = error == boost::system::errc::too_many_files_open ||
                         error == boost::system::errc::too_many_files_open_in_system ||
                         error == boost::system::errc::no_buffer_space ||
                         error == boost::system::errc::not_enough_memory;
  // Where descriptors have run out, accepting again at once would only spin: the next tick does.
  if (none_left) {
    (void)make_room(false);
    return;
  }
  // The next one first: adopt() may throw.
  accept(index);
  if (!error) adopt(std::move(socket), listeners_[index].metrics);
}

void IoThread::adopt(Socket socket, bool metrics) {
  const std::uint64_t for_metrics = shared_.metrics_connections.load();
  const bool full =
      metrics ? for_metrics >= kMaxMetricsConnections
              : shared_.connections.load() >= shared_.settings.max_connections + for_metrics;
  if (full && !make_room(metrics)) {
    if (!metrics) shared_.metrics.refused_connections.add();
    refuse(std::move(socket));
    return;
  }
  const int on = 1;
  (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Peer peer = peer_of(socket.native_handle());
  peer.metrics_listener = metrics;
  auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(peer));
  connections_.emplace(connection.get(), connection);
  connection->start();
}

// Of a socket that has just been accepted, so that the answer finds room without waiting.
void IoThread::refuse(Socket socket) noexcept {
  (void)::send(socket.native_handle(), kTooManyConnections.data(), kTooManyConnections.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
  // Closed with bytes unread, a socket resets the connection, and the answer with it.
  char unread[4096];
  (void)!::recv(socket.native_handle(), unread, sizeof unread, MSG_DONTWAIT);
  (void)::shutdown(socket.native_handle(), SHUT_WR);
}

// Closes the connection that has waited longest without a whole request. Connections of other
// threads are theirs to close: each thread has about as many.
bool IoThread::make_room(bool metrics) {
  Connection* oldest = nullptr;
  for (const auto& [key, connection] : connections_) {
    const bool earlier = oldest == nullptr || connection->deadline() < oldest->deadline();
    const bool same = connection->metrics_listener() == metrics;
    if (same && connection->between_requests() && earlier) oldest = connection.get();
  }
  if (oldest == nullptr) return false;
  oldest->close();
  return true;
}

void IoThread::forget(const Connection& connection) noexcept { connections_.erase(&connection); }

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
      adopt(std::move(socket), listener.metrics);
    } catch (const std::bad_alloc&) {
      return;  // nobody could be told
    }
  }
}

void IoThread::drain() {
  boost::system::error_code ignored;
  for (Listener& listener : listeners_) {
    listener.acceptor.cancel(ignored);
    accept_what_waits(listener);
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
  std::vector<std::shared_ptr<Connection>> late;
  for (const auto& [key, connection] : connections_) {
    if (connection->deadline() <= now) late.push_back(connection);
  }
  for (const auto& connection : late) connection->tick(now);
}

std::string_view IoThread::date() {
  const std::int64_t second = ::time(nullptr);
  if (second != date_second_) {
    date_ = http_date(second);
    date_second_ = second;
  }
  return date_;
}

void IoThread::submit(Job job) {
  to_hand_in_.push_back(std::move(job));
  if (handing_in_) return;
  // After the handlers that are ready now: what they bring goes to the engine together.
  asio::post(context_, [this] { hand_in(); });
  handing_in_ = true;
}

void IoThread::hand_in() {
  handing_in_ = false;
  std::vector<Job> group;
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
      request.completions = completions_;
      request.tag = first_tag + i;
      handed_in_.emplace(request.tag, HandedIn{group[i].done, request.options.codec, now});
      requests.push_back(std::move(request));
    }
    taken = shared_.engine.try_submit(requests);
  } catch (const std::bad_alloc&) {
    taken = 0;  // none was handed in
  }
  shared_.metrics.images_begun.add(taken);
  for (std::size_t i = taken; i < group.size(); ++i) {
    handed_in_.erase(first_tag + i);
    group[i].done(fail(StatusCode::kBusy, "the engine has no room"));
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
  const HandedIn picture = std::move(found->second);
  handed_in_.erase(found);
  shared_.metrics.images_ended.add();
  if (result) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - picture.begun;
    const CodecKind asked =
        picture.codec == CodecKind::kAuto ? shared_.settings.defaults.codec : picture.codec;
    shared_.metrics.picture_made(asked, shared_.has_device, result->report, elapsed.count());
  }
  picture.done(std::move(result));
}

}  // namespace framewire::service::http
