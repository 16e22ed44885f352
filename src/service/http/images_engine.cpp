// Pictures by URL in the engine's queue: once for each client that waits.
#include <algorithm>
#include <base/queue_deadline.hpp>
#include <new>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

// Of more clients those that come last wait for the others.
constexpr std::size_t kMaxClients = 16;

/// Whether a request may have failed for its place in the queue alone.
bool is_not_begun(const Status& error) {
  return error.code() == StatusCode::kBusy || error.code() == StatusCode::kCancelled ||
         base::is_late_in_queue(error);
}

/// One of the requests that are handed in besides the first of their picture.
class ExtraRequest {
 public:
  explicit ExtraRequest(std::atomic<std::size_t>& count) noexcept
      : count_(count), before_(count.fetch_add(1)) {}
  ~ExtraRequest() { count_.fetch_sub(1); }
  ExtraRequest(const ExtraRequest&) = delete;
  ExtraRequest& operator=(const ExtraRequest&) = delete;
  [[nodiscard]] bool has_room() const noexcept { return before_ < Images::kMaxExtraRequests; }

 private:
  std::atomic<std::size_t>& count_;
  const std::size_t before_;
};

}  // namespace

/// A picture's way through the engine. Whose requests wait there longest depends on who else waits,
/// so it is handed in for each client that wants it. The engine makes it once, when the first of
/// these has its turn: whoever has much in the queue holds up nobody who asks for the same. Belongs
/// to the computation's thread, save what says otherwise.
struct ImageComputation::EngineRound {
  std::vector<ClientKey> clients;  ///< under the lock of Images
  std::stop_source stop;           ///< nobody waits, or it is made
  std::shared_ptr<std::atomic<bool>> claim = std::make_shared<std::atomic<bool>>(false);
  std::optional<Status> refusal;  ///< of requests for which it was not made
  std::size_t under_way = 0;
  bool over = false;
};

// The original is there.
void Images::hand_in(const Computation& computation) {
  const auto round = std::make_shared<ImageComputation::EngineRound>();
  std::vector<ClientKey> clients;
  {
    const std::lock_guard lock(mutex_);
    round->clients.reserve(kMaxClients);
    for (const ImageComputation::Waiter& waiter : computation->waiters) {
      if (!has_gone(waiter)) (void)add_client(*round, waiter.client);
    }
    if (round->clients.empty()) round->clients.push_back(computation->charged);
    clients = round->clients;
    computation->round = round;
  }
  // Whoever leaves from now on finds the round.
  if (computation->stop.stop_requested()) round->stop.request_stop();
  for (const ClientKey client : clients) hand_in_for(computation, round, client);
}

// With the lock. @return whether the picture is to be handed in for the client, too
bool Images::add_client(ImageComputation::EngineRound& round, ClientKey client) noexcept {
  if (round.clients.size() == kMaxClients) return false;
  if (std::ranges::find(round.clients, client) != round.clients.end()) return false;
  round.clients.push_back(client);
  return true;
}

// Throws std::bad_alloc where no request is under way: the round is over then. Else memory that has
// run out costs nothing but time.
void Images::hand_in_for(const Computation& computation, const Round& round, ClientKey client) {
  if (round->over) return;
  const bool is_first = round->under_way == 0;
  try {
    // It takes no room of what is admitted.
    const auto extra = is_first ? nullptr : std::make_shared<const ExtraRequest>(extra_requests_);
    if (extra != nullptr && !extra->has_room()) return;
    PictureJob job{};
    job.jpeg = computation->original.bytes;
    job.options = computation->options;
    job.stop = round->stop.get_token();
    job.client = client;
    job.claim = round->claim;
    // The original stays as long as one of them may be at work on it.
    job.done = [this, computation, round, extra, keeper = computation->original.keeper](
                   Result<Resized> result) { on_answer(computation, *round, std::move(result)); };
    computation->io->submit(std::move(job));
    ++round->under_way;
  } catch (const std::bad_alloc&) {
    if (!is_first) return;
    round->over = true;
    throw;
  }
}

/// Nobody waits any more. From any thread.
void Images::stop(ImageComputation& computation) noexcept {
  computation.stop.request_stop();
  Round round;
  {
    const std::lock_guard lock(mutex_);
    round = computation.round;
  }
  if (round != nullptr) round->stop.request_stop();
}

void Images::on_answer(const Computation& computation, ImageComputation::EngineRound& round,
                       Result<Resized> result) {
  --round.under_way;
  if (round.over) return;
  if (!result && is_not_begun(result.error())) {
    // It may be made for another client. That it has been claimed says least.
    const bool says_more = result.error().code() != StatusCode::kCancelled;
    if (!round.refusal || says_more) round.refusal = std::move(result.error());
    if (round.under_way != 0) return;
    result = fail(std::move(*round.refusal));
  }
  round.over = true;
  if (round.under_way != 0) round.stop.request_stop();
  on_picture(computation, std::move(result));
}

}  // namespace framewire::service::http
