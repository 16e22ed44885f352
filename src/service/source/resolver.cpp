#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>
#include <algorithm>
#include <base/start_thread.hpp>
#include <service/source/resolver.hpp>

namespace framewire::service::source {
namespace {

constexpr std::size_t kMaxAddresses = 16;  // of one name
constexpr int kServerTimeoutS = 2;         // for each name server, of which there are three at most

}  // namespace

tl::expected<std::vector<IpAddress>, std::string> system_resolve(const std::string& host) {
  // The resolver's state is the thread's own. Read anew each time: setting it ends its following
  // of /etc/resolv.conf.
  if (::res_init() == 0) {
    _res.retrans = kServerTimeoutS;
    _res.retry = 1;
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* l) {
    if (l != nullptr) ::freeaddrinfo(l);
  });
  if (error != 0) return tl::unexpected(std::string(::gai_strerror(error)));
  std::vector<IpAddress> result;
  for (const addrinfo* at = list; at != nullptr && result.size() < kMaxAddresses;
       at = at->ai_next) {
    const auto address = address_of(at->ai_addr, at->ai_addrlen);
    if (address && std::find(result.begin(), result.end(), *address) == result.end()) {
      result.push_back(*address);
    }
  }
  return result;
}

Resolver::Resolver(decltype(Network::resolve) resolve, std::function<void()> on_ready)
    : resolve_(std::move(resolve)), on_ready_(std::move(on_ready)) {}

void Resolver::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Resolver::start(unsigned threads) {
  Result<void> started;
  for (unsigned i = 0; i < threads && started; ++i) {
    started = base::add_thread(threads_, "fw-names", [this] { run(); });
  }
  // Nothing has been asked yet.
  const std::lock_guard lock(mutex_);
  held_ = HeldPlaces(static_cast<unsigned>(threads_.size()));
  return !threads_.empty();
}

void Resolver::ask(std::shared_ptr<Lookup> lookup) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(lookup));
  }
  wake_.notify_one();
}

void Resolver::forget(const std::shared_ptr<Lookup>& lookup) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(queue_.begin(), queue_.end(), lookup);
  if (found != queue_.end()) queue_.erase(found);
}

void Resolver::look_up(Lookup& lookup) const noexcept {
  try {
    auto found = resolve_(lookup.host);
    if (found) {
      lookup.addresses = std::move(*found);
      if (lookup.addresses.size() > kMaxAddresses) lookup.addresses.resize(kMaxAddresses);
      if (lookup.addresses.empty()) lookup.error = "no address";
    } else {
      lookup.error = std::move(found.error());
    }
  } catch (const std::bad_alloc&) {
    lookup.no_memory = true;
  } catch (...) {
    lookup.addresses.clear();
    lookup.error = "failed";  // fits into the string itself
  }
  lookup.ready.store(true, std::memory_order_release);
}

Resolver::Next Resolver::next() const noexcept {
  Next best{queue_.size(), 0};
  unsigned least = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    for_each_client(queue_[i]->client, [&](std::uint64_t client) {
      const unsigned holds = held_.of(client);
      if ((best.at != queue_.size() && holds >= least) || !held_.has_room(client)) return;
      best = {i, client};
      least = holds;
    });
    if (best.at != queue_.size() && least == 0) break;
  }
  return best;
}

// A thread that may begin none of the lookups that wait sleeps on. The thread whose lookup ends
// looks at the queue itself, so that nobody has to be woken.
void Resolver::run() noexcept {
  while (true) {
    std::shared_ptr<Lookup> lookup;
    Next next_one;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || (next_one = next()).at != queue_.size(); });
      if (ending_) return;
      const auto place = queue_.begin() + static_cast<std::ptrdiff_t>(next_one.at);
      lookup = std::move(*place);
      queue_.erase(place);
      try {
        held_.take(next_one.client);
      } catch (const std::bad_alloc&) {
        held_.take(next_one.client = 0);
      }
    }
    look_up(*lookup);
    on_ready_();
    const std::lock_guard lock(mutex_);
    held_.give_back(next_one.client);
  }
}

}  // namespace framewire::service::source
