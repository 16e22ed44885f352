#include <fmt/format.h>
#include <algorithm>
#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <chrono>
#include <new>
#include <split/scatter.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;

/// How long a parcel may take from its offer to its last row: those before it may be large.
constexpr std::uint32_t kPatience_ms = 600'000;
constexpr std::chrono::microseconds kNap{50};

// peer_lost whatever the cause: a worker that is given up may still touch what it had.
Status why_lost(std::size_t index, const Status& cause) noexcept try {
  return {StatusCode::kPeerLost,
          fmt::format("device {} of the split failed: {}", index, cause.message())};
} catch (const std::bad_alloc&) {
  return base::no_memory(StatusCode::kPeerLost);
}

Status why_refused(std::size_t index, const Parcel& parcel) noexcept try {
  return {
      StatusCode::kBusy,
      fmt::format("memory ran out on device {} of the split, for {} bytes of samples to make {}",
                  index, parcel.decoded.bytes, parcel.resampled.bytes)};
} catch (const std::bad_alloc&) {
  return base::no_memory();
}

}  // namespace

Scatter::Scatter(std::deque<NewWorker> workers, std::size_t groups, Ready ready)
    : ready_(std::move(ready)) {
  for (NewWorker& made : workers) {
    Device& device = devices_.emplace_back(Device{std::move(made.ends.first), nullptr, {}});
    device.flows.reserve(groups);
    device.worker = std::make_unique<SplitWorker>(
        std::move(made.stages), std::move(made.ends.second), devices_.size() - 1, groups);
  }
  queue_.reserve(groups);
}

Result<void> Scatter::start() {
  for (Device& device : devices_) {
    if (auto started = device.worker->start(); !started) return started;
  }
  auto started = base::start_thread("fw-split-gather", [this] { main(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

Scatter::~Scatter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  handed_in_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Scatter::hand_in(std::shared_ptr<Group> group) noexcept {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(group));
  handed_in_.notify_all();
}

std::vector<std::size_t> Scatter::active_workers() {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i].lost) active.push_back(i);
  }
  return active;
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

void Scatter::main() noexcept {
  while (true) {
    std::shared_ptr<Group> next;
    {
      std::unique_lock lock(mutex_);
      if (idle()) handed_in_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      for (Device& device : devices_) {
        if (device.cut) device.channel.close();
      }
      if (!queue_.empty()) {
        next = std::move(queue_.front());
        queue_.erase(queue_.begin());
      } else if (stop_ && idle()) {
        return;
      }
    }
    bool moved = next != nullptr;
    if (next) start_group(next);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!devices_[i].lost && step(devices_[i], i)) moved = true;
    }
    if (!moved) std::this_thread::sleep_for(kNap);
  }
}

void Scatter::start_group(const std::shared_ptr<Group>& group) noexcept {
  // All parcels are counted before one is under way, so that none seems to be the last.
  group->open_parcels =
      static_cast<std::size_t>(std::count_if(group->parcels.begin(), group->parcels.end(),
                                             [](const Parcel& parcel) { return !parcel.empty(); }));
  if (group->open_parcels == 0) return ready_(group);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    if (group->parcels[i].empty()) continue;
    device.flows.push_back({group, false, {}, {}});
    const auto begun = base::unless_memory_runs_out([&]() -> Result<void> {
      // A worker may have been lost since the group was divided.
      const auto& gone = device.channel.lost();
      return gone ? fail(*gone) : start_parcel(device, i, group);
    });
    if (!begun) lose(device, i, begun.error());
  }
}

Result<void> Scatter::start_parcel(Device& device, std::size_t index,
                                   const std::shared_ptr<Group>& group) {
  // The worker gets the group before the offer, which wakes it: so it finds something to do.
  device.worker->assign(group);
  const PlaneStack& to = group->parcels[index].resampled;
  transport::OfferOptions patience;
  patience.ttl_ms = kPatience_ms;
  const auto offer = device.channel.offer(to.memory, 0, to.bytes, patience);
  if (!offer) return fail(offer.error());
  device.flows.back().arriving = *offer;
  return {};
}

// @return whether anything moved
bool Scatter::step(Device& device, std::size_t index) noexcept {
  const auto moved = base::unless_memory_runs_out([&] { return try_step(device, index); });
  if (moved) return *moved;
  lose(device, index, moved.error());
  return true;
}

Result<bool> Scatter::try_step(Device& device, std::size_t index) {
  const bool moved = device.channel.progress();
  if (device.channel.lost()) return fail(*device.channel.lost());
  auto advanced = advance(device, index);
  if (advanced) *advanced = *advanced || moved;
  return advanced;
}

Result<bool> Scatter::advance(Device& device, std::size_t index) {
  bool moved = false;
  for (Flow& flow : device.flows) {
    auto one = advance(device, index, flow);
    if (!one) return one;
    moved = moved || *one;
    // Leases come in the order of the groups.
    if (!flow.sent) break;
  }
  while (!device.flows.empty()) {
    const Flow& flow = device.flows.front();
    if (!flow.sent || flow.leaving || flow.arriving) break;
    close_parcel(flow.group);
    device.flows.erase(device.flows.begin());
    moved = true;
  }
  return moved;
}

// @return whether anything moved
Result<bool> Scatter::advance(Device& device, std::size_t index, Flow& flow) {
  bool moved = false;
  Parcel& parcel = flow.group->parcels[index];
  if (flow.leaving && device.channel.done(*flow.leaving)) {
    if (auto done = device.channel.take_result(*flow.leaving); !done) return fail(done.error());
    flow.leaving.reset();
    moved = true;
  }
  if (flow.arriving && device.channel.done(*flow.arriving)) {
    const auto done = device.channel.take_result(*flow.arriving);
    if (!done) return fail(done.error());
    flow.arriving.reset();
    moved = true;
    if (done->length_bytes < parcel.resampled.bytes) {
      parcel.lost = why_refused(index, parcel);
      flow.sent = true;  // or never will be
    }
  }
  if (!flow.sent && device.channel.credits(Direction::kPut) > 0) {
    const auto lease = device.channel.take_lease(Direction::kPut);
    if (!lease) return fail(lease.error());
    const PlaneStack& from = parcel.decoded;
    transport::TransferOptions patience;
    patience.deadline_ms = kPatience_ms;
    const auto put = device.channel.put(*lease, from.memory, 0, from.bytes, patience);
    if (!put) return fail(put.error());
    flow.leaving = *put;
    flow.sent = true;
    moved = true;
  }
  return moved;
}

void Scatter::lose(Device& device, std::size_t index, const Status& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    device.lost = true;
  }
  device.channel.close();
  const std::optional<Status> own = device.worker->failure();
  for (const Flow& flow : device.flows) {
    flow.group->parcels[index].lost = why_lost(index, own ? *own : why);
    close_parcel(flow.group);
  }
  device.flows.clear();
}

void Scatter::close_parcel(const std::shared_ptr<Group>& group) noexcept {
  if (--group->open_parcels == 0) ready_(group);
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
