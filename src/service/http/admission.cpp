#include <algorithm>
#include <limits>
#include <service/http/admission.hpp>

namespace framewire::service::http {
namespace {

// Long enough for a client that was refused to come back as Retry-After says.
constexpr std::chrono::seconds kContention{2};
// A little less than the tick of I/O threads, 100 ms, which comes somewhat unevenly.
constexpr std::chrono::milliseconds kBetweenCuts{90};
// How long what a thread would end counts: it asks again with each tick as long as it has that.
constexpr std::chrono::milliseconds kOfferTime{250};

}  // namespace

ClientAdmission::Ticket& ClientAdmission::Ticket::operator=(Ticket&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  owner_ = std::exchange(other.owner_, nullptr);
  client_ = other.client_;
  requests_ = std::exchange(other.requests_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  pixels_ = std::exchange(other.pixels_, 0);
  return *this;
}

void ClientAdmission::Ticket::give_back() noexcept {
  ClientAdmission* owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  const std::lock_guard lock(owner->mutex_);
  const Held mine{requests_, bytes_, pixels_};
  owner->all_ -= mine;
  const auto held = owner->clients_.find(client_);
  if (held == owner->clients_.end()) return;
  held->second -= mine;
  if (held->second == Held{}) owner->clients_.erase(held);
}

void ClientAdmission::Ticket::charge_to(ClientKey client) noexcept {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex_);
  if (client_ == client) return;
  auto& clients = owner_->clients_;
  const Held mine{requests_, bytes_, pixels_};
  const auto before = clients.find(client_);
  if (before != clients.end() && (before->second -= mine) == Held{}) clients.erase(before);
  client_ = {};
  if (client.key == 0 || mine == Held{}) return;
  try {
    clients[client] += mine;
    client_ = client;
  } catch (...) {  // memory ran out
  }
}

void ClientAdmission::answered(Ticket& ticket, std::uint64_t bytes) noexcept {
  if (ticket.owner_ != this) return;
  const std::lock_guard lock(mutex_);
  const Held before{ticket.requests_, ticket.bytes_, ticket.pixels_};
  const Held after{0, bytes, 0};
  (all_ -= before) += after;
  if (const auto held = clients_.find(ticket.client_); held != clients_.end()) {
    (held->second -= before) += after;
    if (held->second == Held{}) clients_.erase(held);
  }
  ticket.requests_ = 0;
  ticket.bytes_ = bytes;
  ticket.pixels_ = 0;
}

bool ClientAdmission::contended(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return now < contended_until_;
}

ClientAdmission::GivesWay ClientAdmission::gives_way(ClientKey client,
                                                     Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return find_excess(client, now);
}

ClientAdmission::GivesWay ClientAdmission::begin_cut(ClientKey client, double bytes_per_second,
                                                     const void* asker, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const GivesWay found = find_excess(client, now);
  if (!found.any()) return {};
  std::erase_if(offers_, [&](const Offer& offer) { return now - offer.when > kOfferTime; });
  if (offers_.empty()) next_cut_ = std::max(next_cut_, now + kBetweenCuts);
  std::erase_if(offers_, [&](const Offer& offer) { return offer.asker == asker; });
  const bool slowest = std::ranges::none_of(
      offers_, [&](const Offer& offer) { return offer.bytes_per_second < bytes_per_second; });
  const bool cuts = slowest && now >= next_cut_;
  // What is ended stands in nobody's way any more.
  constexpr double kNothing = std::numeric_limits<double>::infinity();
  offers_.push_back({asker, cuts ? kNothing : bytes_per_second, now});
  if (!cuts) return {};
  next_cut_ = now + kBetweenCuts;
  return found;
}

bool ClientAdmission::awaits_own_pixels(const Held& own, std::uint64_t pixels,
                                        Clock::time_point now) const noexcept {
  return now < contended_until_ && own.pixels > pixels && own.pixels > share_of(bounds_.pixels);
}

// Called with the lock held.
ClientAdmission::GivesWay ClientAdmission::find_excess(ClientKey client,
                                                       Clock::time_point now) const {
  if (client.key == 0 || now >= contended_until_) return {};
  const auto found = clients_.find(client);
  if (found == clients_.end()) return {};
  const Held& held = found->second;
  const bool bytes = held.bytes > share_of(bounds_.bytes);
  const bool requests = held.requests > 1 && held.requests > share_of(bounds_.requests);
  return {.bodies = bytes || requests, .answers = bytes};
}

// Divided first, so that no product overflows.
std::uint64_t ClientAdmission::share_of(std::uint64_t bound) const noexcept {
  return bound / 100 * bounds_.client_share_percent +
         bound % 100 * bounds_.client_share_percent / 100;
}

// A share is never less than one request.
bool ClientAdmission::beyond_share(const Held& held) const noexcept {
  return (held.requests > 1 && held.requests > share_of(bounds_.requests)) ||
         held.bytes > share_of(bounds_.bytes) || held.pixels > share_of(bounds_.pixels);
}

// What all and the client would hold with the request, and what the request itself would. Whoever
// asks for more than the budget is within it as long as nobody else holds any of the same: a
// picture of more pixels than that has limits of its own to meet. Answers that wait to be read are
// held, too, though their requests no longer count.
ClientAdmission::Verdict ClientAdmission::judge(const Held& all, const Held& own, const Held& mine,
                                                Grows grows, bool known, Clock::time_point now) {
  const auto over = [](std::uint64_t held, std::uint64_t bound, std::uint64_t by_this) {
    return held > bound && held != by_this;
  };
  Verdict verdict = Verdict::kAdmitted;
  if (all.requests > bounds_.requests) {
    verdict = Verdict::kQueueFull;
  } else if ((grows.bytes && over(all.bytes, bounds_.bytes, mine.bytes)) ||
             (grows.pixels && over(all.pixels, bounds_.pixels, mine.pixels))) {
    verdict = Verdict::kOverBudget;
  }
  const bool alone = all == own;
  const bool greedy = known && beyond_share(own);
  if (verdict != Verdict::kAdmitted) {
    if (known && !alone && !greedy) contended_until_ = now + kContention;
    return verdict;
  }
  if (greedy && own != mine && now < contended_until_) return Verdict::kClientShare;
  return Verdict::kAdmitted;
}

ClientAdmission::Verdict ClientAdmission::count(Verdict verdict) noexcept {
  ++verdicts_[static_cast<std::size_t>(verdict)];
  return verdict;
}

ClientAdmission::Verdict ClientAdmission::admit(ClientKey client, std::uint64_t bytes,
                                                std::uint64_t pixels, Ticket& ticket,
                                                Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const Held wanted{1, bytes, pixels};
  return count(take(client, wanted, wanted, {}, ticket, now));
}

ClientAdmission::Verdict ClientAdmission::admit_announced(ClientKey client, std::uint64_t bytes,
                                                          std::uint64_t pixels, Ticket& ticket,
                                                          Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return count(take(client, {1, bytes, pixels}, {1, bytes, 0}, {}, ticket, now));
}

ClientAdmission::Verdict ClientAdmission::admit_or_wait(ClientKey client, std::uint64_t bytes,
                                                        std::uint64_t pixels, Ticket& ticket,
                                                        Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const Held wanted{1, bytes, pixels};
  return take(client, wanted, wanted, {}, ticket, now);
}

ClientAdmission::Verdict ClientAdmission::admit_answer(ClientKey client, std::uint64_t bytes,
                                                       Ticket& ticket, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const Held wanted{0, bytes, 0};
  return count(take(client, wanted, wanted, {.bytes = true, .pixels = false}, ticket, now));
}

ClientAdmission::Verdict ClientAdmission::take(ClientKey client, const Held& judged,
                                               const Held& wanted, Grows grows, Ticket& ticket,
                                               Clock::time_point now) {
  const bool known = client.key != 0;
  const auto held = known ? clients_.find(client) : clients_.end();
  Held own = held == clients_.end() ? Held{} : held->second;
  own += judged;
  Held all = all_;
  all += judged;
  const Verdict verdict = judge(all, own, judged, grows, known, now);
  if (verdict != Verdict::kAdmitted) return verdict;
  if (known) clients_[client] += wanted;
  all_ += wanted;
  ticket.owner_ = this;
  ticket.client_ = client;
  ticket.requests_ = wanted.requests;
  ticket.bytes_ = wanted.bytes;
  ticket.pixels_ = wanted.pixels;
  return verdict;
}

ClientAdmission::Verdict ClientAdmission::change(Ticket& ticket, std::uint64_t bytes,
                                                 std::uint64_t pixels, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const bool more = bytes > ticket.bytes_ || pixels > ticket.pixels_;
  const Verdict verdict = retake(ticket, bytes, pixels, true, now);
  return more ? count(verdict) : verdict;
}

ClientAdmission::Verdict ClientAdmission::change_or_wait(Ticket& ticket, std::uint64_t bytes,
                                                         std::uint64_t pixels,
                                                         Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return retake(ticket, bytes, std::min(pixels, bounds_.pixels), true, now);
}

ClientAdmission::Verdict ClientAdmission::settle_or_wait(Ticket& ticket, std::uint64_t bytes,
                                                         std::uint64_t pixels,
                                                         Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return retake(ticket, bytes, std::min(pixels, bounds_.pixels), false, now);
}

ClientAdmission::Verdict ClientAdmission::retake(Ticket& ticket, std::uint64_t bytes,
                                                 std::uint64_t pixels, bool heeds_share,
                                                 Clock::time_point now) {
  const auto held = clients_.find(ticket.client_);
  const bool known = held != clients_.end();
  const auto moved = [&](const Held& from) {
    return Held{from.requests, from.bytes - ticket.bytes_ + bytes,
                from.pixels - ticket.pixels_ + pixels};
  };
  const Held own = known ? moved(held->second) : Held{};
  const Held all = moved(all_);
  const Grows grows{bytes > ticket.bytes_, pixels > ticket.pixels_};
  if (grows.bytes || grows.pixels) {
    const Verdict verdict = judge(all, own, {ticket.requests_, bytes, pixels}, grows, known, now);
    const bool passes =
        verdict == Verdict::kClientShare && !heeds_share && !awaits_own_pixels(own, pixels, now);
    if (verdict != Verdict::kAdmitted && !passes) return verdict;
  }
  if (known) held->second = own;
  all_ = all;
  ticket.bytes_ = bytes;
  ticket.pixels_ = pixels;
  return Verdict::kAdmitted;
}

ClientAdmission::Usage ClientAdmission::usage() const {
  const std::lock_guard lock(mutex_);
  const auto count = [this](Verdict verdict) {
    return verdicts_[static_cast<std::size_t>(verdict)];
  };
  return {all_.requests,
          all_.bytes,
          all_.pixels,
          clients_.size(),
          count(Verdict::kQueueFull),
          count(Verdict::kOverBudget),
          count(Verdict::kClientShare)};
}

}  // namespace framewire::service::http
