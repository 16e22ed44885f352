// Pictures by URL in the engine's queue: once for each client that waits.
#include <algorithm>
#include <new>
#include <service/http/images.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {
namespace {

// Of more clients those that come last wait for the others.
constexpr std::size_t kMaxClients = 4;

}  // namespace

/// A picture's way through the engine. Whose requests wait there longest depends on who else waits,
/// so it is handed in for each client that wants it, and the first answer is everybody's: whoever
/// has much in the queue holds up nobody who asks for the same. Belongs to the computation's
/// thread, save what says otherwise.
struct ImageComputation::EngineRound {
  std::vector<ClientKey> clients;  ///< under the lock of Images
  std::stop_source stop;           ///< for whom it has not been begun when it is made
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

void Images::hand_in_for(const Computation& computation, const Round& round, ClientKey client) {
  if (round->over) return;
  const bool is_first = round->under_way == 0;
  // Others are a help, and take no room of what is admitted.
  if (!is_first && extra_requests_.fetch_add(1) >= kMaxExtraRequests) {
    extra_requests_.fetch_sub(1);
    return;
  }
  PictureJob job{};
  job.jpeg = computation->original.bytes;
  job.options = computation->options;
  job.stop = round->stop.get_token();
  job.client = client;
  // The original stays as long as one of them may be at work on it.
  job.done = [this, computation, round, is_first,
              keeper = computation->original.keeper](Result<Resized> result) {
    if (!is_first) extra_requests_.fetch_sub(1);
    on_answer(computation, *round, std::move(result));
  };
  try {
    computation->io->submit(std::move(job));
    ++round->under_way;
  } catch (const std::bad_alloc&) {
    if (is_first) throw;
    extra_requests_.fetch_sub(1);
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
  const bool had_no_room = !result && result.error().code() == StatusCode::kBusy;
  if (had_no_room && round.under_way != 0) return;
  round.over = true;
  if (round.under_way != 0) round.stop.request_stop();
  on_picture(computation, std::move(result));
}

}  // namespace framewire::service::http
