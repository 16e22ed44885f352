#include <algorithm>
#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <store/s3/http_loops.hpp>
#include <utility>

namespace framewire::store::s3 {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kIdlePoll{60'000};  // whatever happens wakes the loop
constexpr milliseconds kWaitingPoll{100};  // for tasks that wait and may be cancelled meanwhile
// Of attempts that have paused so many go on in a turn: all others wait for them, a few
// milliseconds.
constexpr unsigned kMaxPausedInATurn = 8;

}  // namespace

HttpLoop::HttpLoop(unsigned connections) : connections_(connections), multi_(curl_multi_init()) {}

HttpLoop::~HttpLoop() {
  ending_.store(true);
  if (multi_) curl_multi_wakeup(multi_.get());
  if (thread_.joinable()) thread_.join();
}

Result<void> HttpLoop::start() {
  if (!multi_ ||
      curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(connections_)) !=
          CURLM_OK ||
      curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING)) !=
          CURLM_OK) {
    return fail(StatusCode::kBusy, "libcurl has no handle");
  }
  auto started = base::start_thread("fw-store", [this] { run(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

void HttpLoop::submit(std::unique_ptr<HttpTask>&& task) {
  Entries one(1);
  one.front().task = std::move(task);
  one.front().due = base::Clock::now();
  tasks_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    inbox_.splice(inbox_.end(), one);
  }
  curl_multi_wakeup(multi_.get());
}

void HttpLoop::run() noexcept {
  while (!ending_.load()) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.splice(waiting_.end(), inbox_);
    }
    begin_due();
    begin_turns();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    take_ended();
    curl_multi_poll(multi_.get(), nullptr, 0, poll_ms(), nullptr);
  }
  waiting_.splice(waiting_.end(), inbox_);
  for (Entries* const list : {&active_, &waiting_}) {
    while (!list->empty()) {
      const auto entry = list->begin();
      if (entry->easy) curl_multi_remove_handle(multi_.get(), entry->easy.get());
      entry->task->give_up(base::status_of(StatusCode::kCancelled, "the store is being closed"));
      list->erase(entry);
    }
  }
}

// The longest paused go on first.
void HttpLoop::begin_turns() noexcept {
  unsigned begun = 0;
  std::size_t left = active_.size();
  for (auto next = active_.begin(); left != 0 && begun != kMaxPausedInATurn; --left) {
    const auto entry = next++;
    if (!entry->task->is_paused()) continue;
    ++begun;
    active_.splice(active_.end(), active_, entry);
    entry->task->begin_turn();
    const CURLcode code = curl_easy_pause(entry->easy.get(), CURLPAUSE_CONT);
    if (code == CURLE_OK) continue;
    // libcurl does not tell of this end again.
    curl_multi_remove_handle(multi_.get(), entry->easy.get());
    end_or_give_up(entry, code);
  }
}

int HttpLoop::poll_ms() const noexcept {
  if (std::ranges::any_of(active_, [](const Entry& entry) { return entry.task->is_paused(); })) {
    return 0;
  }
  milliseconds left = waiting_.empty() ? kIdlePoll : kWaitingPoll;
  const auto now = base::Clock::now();
  for (const Entry& entry : waiting_) {
    left = std::min(left, std::chrono::ceil<milliseconds>(entry.due - now));
  }
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

void HttpLoop::begin_due() noexcept {
  const auto now = base::Clock::now();
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto entry = next++;
    if (entry->due > now && !entry->task->cancelled()) continue;
    try {
      begin(entry);
    } catch (const std::exception&) {
      entry->task->give_up(Status(StatusCode::kBusy, "memory ran out"));
      forget(waiting_, entry);
    }
  }
}

void HttpLoop::begin(Entries::iterator entry) {
  if (entry->task->cancelled()) {
    entry->task->give_up(Status(StatusCode::kCancelled, "was given up"));
    return forget(waiting_, entry);
  }
  CurlHandle easy;
  if (idle_.empty()) {
    easy.reset(curl_easy_init());
  } else {
    easy = std::move(idle_.back());
    idle_.pop_back();
    curl_easy_reset(easy.get());
  }
  if (!easy) throw std::bad_alloc();
  if (const auto instead = entry->task->prepare(easy.get())) {
    return settle(waiting_, entry, *instead);
  }
  void* const self = &*entry;
  entry->sockets = &sockets_;
  entry->dialled = entry->spoilt = false;
  const bool is_set = set_option(easy.get(), CURLOPT_PRIVATE, self) &&
                      set_option(easy.get(), CURLOPT_OPENSOCKETFUNCTION, &HttpLoop::on_socket) &&
                      set_option(easy.get(), CURLOPT_OPENSOCKETDATA, self) &&
                      set_option(easy.get(), CURLOPT_CLOSESOCKETFUNCTION, &KeptSockets::close) &&
                      set_option(easy.get(), CURLOPT_CLOSESOCKETDATA, &sockets_) &&
                      set_option(easy.get(), CURLOPT_PREREQFUNCTION, &HttpLoop::on_connected) &&
                      set_option(easy.get(), CURLOPT_PREREQDATA, self);
  if (!is_set || curl_multi_add_handle(multi_.get(), easy.get()) != CURLM_OK) {
    throw std::bad_alloc();
  }
  entry->easy = std::move(easy);
  active_.splice(active_.end(), waiting_, entry);
}

curl_socket_t HttpLoop::on_socket(void* entry, curlsocktype, curl_sockaddr* address) noexcept {
  auto& attempt = *static_cast<Entry*>(entry);
  attempt.dialled = true;
  return attempt.sockets->open(*address);
}

// Before the request is sent: what waits at a kept connection is no answer to it. Under TLS that
// may also be a ticket that came late; then a connection more is made than had to be.
int HttpLoop::on_connected(void* entry, char*, char*, int, int local_port) noexcept {
  auto& attempt = *static_cast<Entry*>(entry);
  if (attempt.dialled || !attempt.sockets->is_spoilt(local_port)) return CURL_PREREQFUNC_OK;
  attempt.spoilt = true;
  return CURL_PREREQFUNC_ABORT;
}

// The request of a connection that was spoilt has not been sent.
bool HttpLoop::connects_anew(Entry& entry) noexcept {
  return std::exchange(entry.spoilt, false) &&
         set_option(entry.easy.get(), CURLOPT_FRESH_CONNECT, 1L) &&
         curl_multi_add_handle(multi_.get(), entry.easy.get()) == CURLM_OK;
}

void HttpLoop::take_ended() noexcept {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    void* found = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
    const auto entry = std::find_if(active_.begin(), active_.end(),
                                    [&](const Entry& active) { return &active == found; });
    if (entry == active_.end()) continue;
    curl_multi_remove_handle(multi_.get(), entry->easy.get());
    if (!connects_anew(*entry)) end_or_give_up(entry, code);
  }
}

void HttpLoop::end_or_give_up(Entries::iterator entry, CURLcode code) noexcept {
  try {
    end(entry, code);
  } catch (const std::exception&) {
    entry->task->give_up(Status(StatusCode::kBusy, "memory ran out"));
    forget(active_, entry);
  }
}

// A handle whose attempt has failed is not used again: behind a name that could not be resolved
// libcurl 7.88 refuses options of it for good. Connections are the multi handle's, and stay.
void HttpLoop::end(Entries::iterator entry, CURLcode code) {
  const HttpTask::Next next = entry->task->ended(code);
  if (code == CURLE_OK) idle_.push_back(std::move(entry->easy));
  entry->easy.reset();
  settle(active_, entry, next);
}

void HttpLoop::settle(Entries& list, Entries::iterator entry, HttpTask::Next next) {
  if (!next) return forget(list, entry);
  entry->due = *next;
  waiting_.splice(waiting_.end(), list, entry);
}

void HttpLoop::forget(Entries& list, Entries::iterator entry) noexcept {
  list.erase(entry);
  tasks_.fetch_sub(1);
}

Result<void> HttpLoops::start(unsigned loops, unsigned connections) {
  for (unsigned i = 0; i < loops; ++i) {
    loops_.push_back(std::make_unique<HttpLoop>(std::max(connections / loops, 8U)));
    if (auto started = loops_.back()->start(); !started) return started;
  }
  return {};
}

void HttpLoops::submit(std::unique_ptr<HttpTask>&& task) {
  const auto least =
      std::min_element(loops_.begin(), loops_.end(),
                       [](const auto& a, const auto& b) { return a->tasks() < b->tasks(); });
  (*least)->submit(std::move(task));
}

}  // namespace framewire::store::s3
