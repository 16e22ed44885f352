#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <split/scatter.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;

/// How long a stripe may take from its offer to its last row: pictures before it may be large.
constexpr std::uint32_t kPatience_ms = 600'000;
constexpr std::chrono::microseconds kNap{50};

bool is_empty(const Stripe& stripe) {
  return std::all_of(stripe.begin(), stripe.end(),
                     [](const PlanePart& part) { return part.out.count == 0; });
}

}  // namespace

Scatter::Scatter(const codec::TurboStages& stages, std::deque<Hire> workers, Ready ready)
    : stages_(stages), ready_(std::move(ready)) {
  for (Hire& hire : workers) {
    Device& device = devices_.emplace_back(Device{std::move(hire.ends.first), nullptr, {}});
    device.worker = std::make_unique<Worker>(std::move(hire.stages), std::move(hire.ends.second),
                                             devices_.size() - 1);
  }
  thread_ = std::thread([this] { main(); });
}

Scatter::~Scatter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  handed_in_.notify_all();
  thread_.join();
}

void Scatter::hand_in(std::shared_ptr<Picture> picture) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(picture));
  handed_in_.notify_all();
}

void Scatter::cut(std::size_t worker) {
  const std::lock_guard lock(mutex_);
  devices_[worker].cut = true;
  handed_in_.notify_all();
}

bool Scatter::idle() const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](const Device& device) { return device.flows.empty(); });
}

void Scatter::main() {
  while (true) {
    std::shared_ptr<Picture> next;
    {
      std::unique_lock lock(mutex_);
      if (idle()) handed_in_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      for (Device& device : devices_)
        if (device.cut) device.channel.close();
      if (!queue_.empty()) {
        next = std::move(queue_.front());
        queue_.pop_front();
      } else if (stop_ && idle()) {
        return;
      }
    }
    bool moved = next != nullptr;
    if (next) start(std::move(next));
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (!devices_[i].lost && step(devices_[i], i)) moved = true;
    if (!moved) std::this_thread::sleep_for(kNap);
  }
}

void Scatter::start(std::shared_ptr<Picture> picture) {
  std::vector<std::size_t> living;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    if (!device.lost && device.channel.lost()) lose(device, *device.channel.lost());
    if (!device.lost) living.push_back(i);
  }
  if (living.empty()) {
    picture->error = Status(StatusCode::kPeerLost, "no device of the split is left");
    return ready_(std::move(picture));
  }
  auto parts = divide(stages_, picture->request.plan, living.size());
  picture->stripes.resize(devices_.size());
  for (std::size_t i = 0; i < living.size(); ++i) picture->stripes[living[i]] = std::move(parts[i]);
  // Counted before any is under way, so that none can be the last too early.
  picture->open_stripes = static_cast<std::size_t>(
      std::count_if(picture->stripes.begin(), picture->stripes.end(),
                    [](const Stripe& stripe) { return !is_empty(stripe); }));
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (is_empty(picture->stripes[i])) continue;
    devices_[i].flows.push_back({picture, {}, {}, {}});
    if (auto begun = start_stripe(devices_[i], i, picture); !begun)
      lose(devices_[i], begun.error());
  }
}

Result<void> Scatter::start_stripe(Device& device, std::size_t index,
                                   const std::shared_ptr<Picture>& picture) {
  Flow& flow = device.flows.back();
  const Stripe& stripe = picture->stripes[index];
  const PlaneStack& to = picture->resampled;
  for (std::size_t p = 0; p < stripe.size(); ++p) {
    if (stripe[p].out.count == 0) continue;
    const Stretch rows = stretch_of(to, p, stripe[p].out);
    transport::OfferOptions patience;
    patience.ttl_ms = kPatience_ms;
    const auto offer =
        device.channel.offer(to.memory, rows.offset_bytes, rows.length_bytes, patience);
    if (!offer) return fail(offer.error());
    flow.arriving.push_back(*offer);
    flow.to_send.push_back(p);
  }
  device.worker->assign(picture);
  return {};
}

bool Scatter::step(Device& device, std::size_t index) {
  const bool moved = device.channel.progress();
  if (device.channel.lost()) {
    lose(device, *device.channel.lost());
    return true;
  }
  const auto advanced = advance(device, index);
  if (advanced) return moved || *advanced;
  lose(device, advanced.error());
  return true;
}

Result<bool> Scatter::advance(Device& device, std::size_t index) {
  bool moved = false;
  const auto collect = [&](std::deque<transport::Transfer>& transfers) -> Result<void> {
    while (!transfers.empty() && device.channel.done(transfers.front())) {
      if (auto done = device.channel.finish(transfers.front()); !done) return fail(done.error());
      transfers.pop_front();
      moved = true;
    }
    return {};
  };
  for (Flow& flow : device.flows) {
    const PlaneStack& from = flow.picture->decoded;
    while (!flow.to_send.empty() && device.channel.credits(Direction::kPut) > 0) {
      const auto lease = device.channel.take_lease(Direction::kPut);
      if (!lease) return fail(lease.error());
      const std::size_t p = flow.to_send.front();
      const Stretch rows = stretch_of(from, p, flow.picture->stripes[index][p].in);
      transport::TransferOptions patience;
      patience.deadline_ms = kPatience_ms;
      const auto put =
          device.channel.put(*lease, from.memory, rows.offset_bytes, rows.length_bytes, patience);
      if (!put) return fail(put.error());
      flow.to_send.pop_front();
      flow.leaving.push_back(*put);
      moved = true;
    }
    if (auto sent = collect(flow.leaving); !sent) return fail(sent.error());
    if (auto made = collect(flow.arriving); !made) return fail(made.error());
    // Leases come in the order of the pictures.
    if (!flow.to_send.empty()) break;
  }
  while (!device.flows.empty()) {
    const Flow& flow = device.flows.front();
    if (!flow.to_send.empty() || !flow.leaving.empty() || !flow.arriving.empty()) break;
    close_stripe(flow.picture, std::nullopt);
    device.flows.pop_front();
    moved = true;
  }
  return moved;
}

void Scatter::lose(Device& device, const Status& why) {
  device.lost = true;
  device.channel.close();
  const auto flows = std::exchange(device.flows, {});
  const Status cause = device.worker->failure().value_or(why);
  for (const Flow& flow : flows)
    close_stripe(flow.picture, Status(StatusCode::kPeerLost,
                                      fmt::format("{} of the split failed: {}",
                                                  device.channel.config().peer, cause.message())));
}

void Scatter::close_stripe(const std::shared_ptr<Picture>& picture, std::optional<Status> error) {
  if (error && !picture->error) picture->error = std::move(error);
  if (--picture->open_stripes == 0) ready_(picture);
}

std::vector<DeviceReport> Scatter::report() {
  std::vector<DeviceReport> reports;
  for (const Device& device : devices_) {
    const transport::PathReport path = device.channel.path();
    const WorkerStats& stats = device.worker->stats();
    std::string name = path.name;
    if (device.worker->device() >= 0) name += fmt::format(", {}", to_string(path.direct));
    reports.push_back({device.worker->device(), name, path.staged_bytes, stats.stripes,
                       stats.bytes_in, stats.bytes_out, static_cast<double>(stats.busy_ns) / 1e9,
                       device.lost});
  }
  return reports;
}

}  // namespace framewire::split
