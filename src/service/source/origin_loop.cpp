#include <algorithm>
#include <base/start_thread.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/origin_loop.hpp>

namespace framewire::service::source {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};  // for fetches that are late
constexpr int kIdlePollMs = 60'000;                  // whatever happens wakes the loop
// Transfers that unpack in one turn: all others wait for them, a few milliseconds.
constexpr unsigned kMaxUnpackingInATurn = 8;

std::chrono::milliseconds left_until(base::Clock::time_point deadline) {
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now());
}

}  // namespace

void OriginLoop::Notice::operator()() const noexcept {
  loop->look_for_cancelled_.store(true);
  loop->wake();
}

OriginLoop::OriginLoop(const SourceSettings& settings, const AllowedSources& allowed,
                       const Network& network, Budget& budget)
    : settings_(settings),
      allowed_(allowed),
      network_(network),
      budget_(budget),
      multi_(curl_multi_init()),
      all_connections_(settings.connections),
      resolver_(network.resolve ? network.resolve : system_resolve, [this] { wake(); }) {}

OriginLoop::~OriginLoop() {
  ending_.store(true);
  if (multi_) wake();
  if (thread_.joinable()) thread_.join();
  resolver_.stop();  // its threads wake the multi handle, which goes with this
}

bool OriginLoop::start() {
  CURLM* const multi = multi_.get();
  if (multi == nullptr ||
      curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING)) !=
          CURLM_OK ||
      curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(settings_.connections)) !=
          CURLM_OK) {
    return false;
  }
  if (settings_.remote && !resolver_.start(settings_.resolver_threads)) return false;
  auto started = base::start_thread("fw-origins", [this] { run(); });
  if (!started) return false;
  thread_ = std::move(*started);
  return true;
}

bool OriginLoop::submit(FetchJob& job) noexcept {
  const std::size_t most = settings_.connections + settings_.waiting;
  if (unanswered_.fetch_add(1) >= most) {
    unanswered_.fetch_sub(1);
    return false;
  }
  try {
    Fetches one;
    std::string origin = job.url.origin();
    one.emplace_back(std::move(job));
    Fetch& fetch = one.front();
    fetch.self = one.begin();
    fetch.origin = std::move(origin);
    fetch.on_stop.emplace(fetch.job.request.stop, Notice{this});
    const std::lock_guard lock(mutex_);
    inbox_.splice(inbox_.end(), one);
  } catch (const std::bad_alloc&) {
    unanswered_.fetch_sub(1);
    return false;
  }
  wake();
  return true;
}

void OriginLoop::run() noexcept {
  while (!ending_.load()) {
    turn();
    curl_multi_poll(multi_.get(), nullptr, 0, poll_ms(), nullptr);
  }
  accept_new();
  cancel_all(waiting_);
  cancel_all(resolving_);
  cancel_all(active_);
}

int OriginLoop::poll_ms() const noexcept {
  if (may_start_ || unpacks_) return 0;
  const bool idle = waiting_.empty() && resolving_.empty() && active_.empty();
  return idle ? kIdlePollMs : static_cast<int>(kLookEvery.count());
}

void OriginLoop::turn() noexcept {
  accept_new();
  const auto now = base::Clock::now();
  if (look_for_cancelled_.exchange(false) || now >= next_look_) {
    next_look_ = now + kLookEvery;
    drop_late(waiting_, now);
    drop_late(resolving_, now);
    drop_late(active_, now);
    // For whom they are may have changed.
    may_start_ = may_start_ || !waiting_.empty();
    if (!resolving_.empty()) resolver_.look_again();
  }
  take_lookups();
  start_waiting();
  transfer_some();
  take_transfers();
}

void OriginLoop::transfer_some() noexcept {
  unsigned unpacking = 0;
  std::size_t left = active_.size();
  for (auto next = active_.begin(); left != 0; --left) {
    const auto fetch = next++;
    if (fetch->transfer->is_unpacking()) {
      if (unpacking == kMaxUnpackingInATurn) continue;
      ++unpacking;
      active_.splice(active_.end(), active_, fetch);  // others are next
    }
    const CURLcode code = fetch->transfer->begin_turn();
    if (code == CURLE_OK) continue;
    curl_multi_remove_handle(multi_.get(), fetch->transfer->handle());
    answer_or_follow(fetch, code);
  }
  int running = 0;
  curl_multi_perform(multi_.get(), &running);
  unpacks_ = std::ranges::any_of(active_,
                                 [](const Fetch& fetch) { return fetch.transfer->is_unpacking(); });
}

void OriginLoop::accept_new() noexcept {
  Fetches taken;
  {
    const std::lock_guard lock(mutex_);
    taken.splice(taken.end(), inbox_);
  }
  while (!taken.empty()) {
    const auto fetch = taken.begin();
    if (fetch->job.verdict) {
      answer(taken, fetch, tl::unexpected(std::move(*fetch->job.verdict)));
    } else {
      waiting_.splice(waiting_.end(), taken, fetch);
      may_start_ = true;
    }
  }
}

void OriginLoop::drop_late(Fetches& list, base::Clock::time_point now) noexcept {
  for (auto next = list.begin(); next != list.end();) {
    const auto fetch = next++;
    if (fetch->job.request.stop.stop_requested()) {
      answer(list, fetch, fail_fetch(FetchErrorKind::kCancelled));
    } else if (now >= fetch->job.deadline) {
      answer(list, fetch, fail_fetch(FetchErrorKind::kTimeout, "the whole download"));
    } else if (&list == &resolving_ && now >= fetch->dial_deadline) {
      answer(list, fetch, fail_fetch(FetchErrorKind::kTimeout, "looking the name up"));
    }
  }
}

bool OriginLoop::has_room(const std::string& origin, std::uint64_t client) const {
  if (!all_connections_.has_room(client)) return false;
  const auto found = connections_.find(origin);
  return found == connections_.end() || found->second.has_room(client);
}

void OriginLoop::take_connection(Fetch& fetch) {
  const auto of_origin =
      connections_.try_emplace(fetch.origin, settings_.connections_per_origin).first;
  try {
    all_connections_.take(fetch.counted_as);
    try {
      of_origin->second.take(fetch.counted_as);
    } catch (const std::bad_alloc&) {
      all_connections_.give_back(fetch.counted_as);
      throw;
    }
  } catch (const std::bad_alloc&) {
    if (of_origin->second.empty()) connections_.erase(of_origin);
    throw;
  }
  fetch.connected = true;
}

void OriginLoop::give_connection_back(Fetch& fetch) noexcept {
  if (!std::exchange(fetch.connected, false)) return;
  const auto found = connections_.find(fetch.origin);
  if (found != connections_.end()) {
    found->second.give_back(fetch.counted_as);
    if (found->second.empty()) connections_.erase(found);
  }
  all_connections_.give_back(fetch.counted_as);
  may_start_ = true;
}

void OriginLoop::start_waiting() noexcept {
  if (!std::exchange(may_start_, false)) return;
  while (!all_connections_.full()) {
    const auto next = next_waiting();
    if (next == waiting_.end()) return;
    begin_or_answer(next);
  }
}

// Whose client holds fewest connections, and of those the first. Names that client, too.
OriginLoop::Fetches::iterator OriginLoop::next_waiting() {
  auto best = waiting_.end();
  unsigned least = 0;
  for (auto fetch = waiting_.begin(); fetch != waiting_.end(); ++fetch) {
    for_each_client(fetch->job.request.client, [&](std::uint64_t client) {
      const unsigned holds = all_connections_.of(client);
      if ((best != waiting_.end() && holds >= least) || !has_room(fetch->origin, client)) return;
      best = fetch;
      best->counted_as = client;
      least = holds;
    });
    if (best != waiting_.end() && least == 0) break;
  }
  return best;
}

void OriginLoop::begin_or_answer(Fetches::iterator fetch) noexcept {
  Fetched<void> begun;
  try {
    begun = begin(fetch);
  } catch (...) {
    begun = fail_fetch(FetchErrorKind::kBusy);
  }
  if (!begun) answer(waiting_, fetch, tl::unexpected(std::move(begun.error())));
}

Fetched<void> OriginLoop::judge(const SourceUrl& url) const {
  if (!allowed_.allows(url)) {
    return fail_fetch(FetchErrorKind::kSourceNotAllowed, "no allowed source matches " + url.text());
  }
  if (url.address && !permits(settings_.addresses, *url.address)) {
    return fail_fetch(FetchErrorKind::kAddressNotAllowed, describe_refusal(*url.address));
  }
  return {};
}

Fetched<void> OriginLoop::begin(Fetches::iterator fetch) {
  if (auto judged = judge(fetch->job.url); !judged) return judged;
  take_connection(*fetch);
  fetch->dial_deadline = std::min(fetch->job.deadline, base::Clock::now() + settings_.dial_timeout);
  if (fetch->job.url.address) {
    auto begun = transfer(fetch, {});
    if (begun) active_.splice(active_.end(), waiting_, fetch);
    return begun;
  }
  fetch->lookup = std::make_shared<Lookup>(fetch->job.url.host, fetch->job.request.client);
  resolver_.ask(fetch->lookup);
  resolving_.splice(resolving_.end(), waiting_, fetch);
  return {};
}

Fetched<std::vector<IpAddress>> OriginLoop::permitted(const Lookup& lookup) const {
  if (lookup.no_memory) return fail_fetch(FetchErrorKind::kBusy);
  if (lookup.addresses.empty()) {
    return fail_fetch(FetchErrorKind::kResolve, lookup.host + ": " + lookup.error);
  }
  std::vector<IpAddress> result;
  for (const IpAddress& address : lookup.addresses) {
    if (permits(settings_.addresses, address)) result.push_back(address);
  }
  if (result.empty()) {
    return fail_fetch(FetchErrorKind::kAddressNotAllowed,
                      lookup.host + ": " + describe_refusal(lookup.addresses.front()));
  }
  return result;
}

void OriginLoop::take_lookups() noexcept {
  for (auto next = resolving_.begin(); next != resolving_.end();) {
    const auto fetch = next++;
    if (!fetch->lookup->ready.load(std::memory_order_acquire)) continue;
    Fetched<void> begun;
    try {
      const auto addresses = permitted(*fetch->lookup);
      begun = addresses ? transfer(fetch, *addresses) : tl::unexpected(addresses.error());
    } catch (...) {
      begun = fail_fetch(FetchErrorKind::kBusy);
    }
    if (begun) {
      fetch->lookup.reset();
      active_.splice(active_.end(), resolving_, fetch);
    } else {
      answer(resolving_, fetch, tl::unexpected(std::move(begun.error())));
    }
  }
}

Fetched<void> OriginLoop::transfer(Fetches::iterator fetch, std::span<const IpAddress> addresses) {
  if (!fetch->transfer) {
    fetch->transfer = std::make_unique<OriginTransfer>(settings_, network_, sockets_, budget_,
                                                       fetch->job.request, fetch->job.max_bytes);
  }
  OriginTransfer& transfer = *fetch->transfer;
  if (auto ready = transfer.prepare(fetch->job.url, addresses, left_until(fetch->dial_deadline));
      !ready) {
    return ready;
  }
  if (curl_easy_setopt(transfer.handle(), CURLOPT_PRIVATE, &*fetch) != CURLE_OK ||
      curl_multi_add_handle(multi_.get(), transfer.handle()) != CURLM_OK) {
    return fail_fetch(FetchErrorKind::kBusy, "libcurl took no more");
  }
  return {};
}

void OriginLoop::take_transfers() noexcept {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message dies with the handle's removal
    char* owner = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
    Fetch* const fetch = reinterpret_cast<Fetch*>(owner);
    CURL* const handle = message->easy_handle;
    curl_multi_remove_handle(multi_.get(), handle);
    const bool again =
        fetch->transfer->connects_anew() && curl_multi_add_handle(multi_.get(), handle) == CURLM_OK;
    if (!again) answer_or_follow(fetch->self, code);
  }
}

void OriginLoop::answer_or_follow(Fetches::iterator fetch, CURLcode code) noexcept {
  Fetched<Original> result = fail_fetch(FetchErrorKind::kBusy);
  try {
    auto brought = fetch->transfer->take_result(code);
    if (brought && std::holds_alternative<Redirect>(*brought)) {
      const auto followed = follow(fetch, std::get<Redirect>(*brought));
      if (followed) return;
      result = tl::unexpected(followed.error());
    } else if (brought) {
      Original& original = std::get<Original>(*brought);
      original.url = fetch->job.url.text();
      original.redirects = fetch->redirects;
      result = std::move(original);
    } else {
      result = tl::unexpected(std::move(brought.error()));
    }
  } catch (...) {
    result = fail_fetch(FetchErrorKind::kBusy);
  }
  answer(active_, fetch, std::move(result));
}

// The place among all connections, and at its own origin, stays the fetch's. At another origin
// those who wait there come first, or one client's redirects would take what others wait for.
Fetched<void> OriginLoop::follow(Fetches::iterator fetch, const Redirect& redirect) {
  if (fetch->redirects >= settings_.max_redirects) {
    return fail_fetch(FetchErrorKind::kTooManyRedirects, "at " + fetch->job.url.text());
  }
  auto url = resolve_redirect(fetch->job.url, redirect.location);
  if (!url && url.error().kind == FetchErrorKind::kBadUrl) {
    return fail_fetch(FetchErrorKind::kBadRedirect, url.error().message);
  }
  if (!url) return tl::unexpected(std::move(url.error()));
  std::string origin = url->origin();
  const bool stays = origin == fetch->origin;
  give_connection_back(*fetch);
  fetch->job.url = std::move(*url);
  fetch->origin = std::move(origin);
  ++fetch->redirects;
  const bool goes_on = stays || (has_room(fetch->origin, fetch->counted_as) &&
                                 std::ranges::none_of(waiting_, [&](const Fetch& other) {
                                   return other.origin == fetch->origin;
                                 }));
  waiting_.splice(waiting_.begin(), active_, fetch);
  if (goes_on) begin_or_answer(fetch);
  return {};
}

void OriginLoop::answer(Fetches& list, Fetches::iterator fetch, Fetched<Original> result) noexcept {
  Fetches own;
  own.splice(own.end(), list, fetch);
  if (fetch->lookup) resolver_.forget(fetch->lookup);
  // Removing a handle that is in no multi handle does nothing.
  if (fetch->transfer) curl_multi_remove_handle(multi_.get(), fetch->transfer->handle());
  fetch->transfer.reset();
  give_connection_back(*fetch);
  unanswered_.fetch_sub(1);
  fetch->job.answer(std::move(result));
}

void OriginLoop::cancel_all(Fetches& list) noexcept {
  while (!list.empty()) answer(list, list.begin(), fail_fetch(FetchErrorKind::kCancelled));
}

}  // namespace framewire::service::source
