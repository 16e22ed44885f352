#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <transport/checksum.hpp>
#include <transport/device_copy.hpp>

namespace framewire::transport {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

// Pinned memory and a queue, for as long as one call takes.
class Bounce {
 public:
  static Result<Bounce> make(const Region& region, std::uint64_t most) {
    Bounce bounce;
    bounce.devices_ = region.devices();
    bounce.bytes_ = std::clamp<std::uint64_t>(most, 1, kPiece);
    auto memory = bounce.devices_->allocate_pinned(static_cast<std::size_t>(bounce.bytes_));
    if (!memory) return fail(memory.error());
    bounce.memory_ = {*memory, Release{bounce.devices_}};
    auto queue = bounce.devices_->make_queue(region.device());
    if (!queue) return fail(queue.error());
    bounce.queue_ = std::move(*queue);
    return bounce;
  }
  [[nodiscard]] std::byte* memory() const { return memory_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  Result<void> copy(std::byte* to, const std::byte* from, std::uint64_t count) {
    const auto ticket = queue_->copy(to, from, count, Sides::kAny);
    if (!ticket) return fail(ticket.error());
    return queue_->synchronize();
  }

 private:
  Bounce() = default;
  struct Release {
    DeviceMemory* devices;
    void operator()(std::byte* memory) const { devices->release_pinned(memory); }
  };
  DeviceMemory* devices_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<std::byte, Release> memory_{nullptr, Release{nullptr}};
  std::unique_ptr<CopyQueue> queue_;  // after the memory: it goes first
};

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

Result<void> fits(const Region& region, std::uint64_t offset, std::uint64_t count) {
  if (region.contains(offset, count)) return {};
  return fail(StatusCode::kInvalidInput,
              fmt::format("{} bytes from {} on are not inside a region of {} bytes", count, offset,
                          region.size()));
}

}  // namespace

Result<void> copy_out(const Region& region, std::uint64_t offset_bytes, std::span<std::byte> to) {
  if (auto good = fits(region, offset_bytes, to.size()); !good || to.empty()) return good;
  const std::byte* from = region.data() + offset_bytes;
  if (region.devices() == nullptr) {
    std::memcpy(to.data(), from, to.size());
    return {};
  }
  auto bounce = Bounce::make(region, to.size());
  if (!bounce) return fail(bounce.error());
  for (std::uint64_t at = 0; at < to.size(); at += bounce->bytes()) {
    const auto count = std::min<std::uint64_t>(bounce->bytes(), to.size() - at);
    if (auto done = bounce->copy(bounce->memory(), from + at, count); !done) return done;
    std::memcpy(to.data() + at, bounce->memory(), static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> copy_in(const Region& region, std::uint64_t offset_bytes,
                     std::span<const std::byte> from) {
  if (auto good = fits(region, offset_bytes, from.size()); !good || from.empty()) return good;
  std::byte* to = region.data() + offset_bytes;
  if (region.devices() == nullptr) {
    std::memcpy(to, from.data(), from.size());
    return {};
  }
  auto bounce = Bounce::make(region, from.size());
  if (!bounce) return fail(bounce.error());
  for (std::uint64_t at = 0; at < from.size(); at += bounce->bytes()) {
    const auto count = std::min<std::uint64_t>(bounce->bytes(), from.size() - at);
    std::memcpy(bounce->memory(), from.data() + at, static_cast<std::size_t>(count));
    if (auto done = bounce->copy(to + at, bounce->memory(), count); !done) return done;
  }
  return {};
}

Result<std::uint64_t> checksum_of(const Region& region, std::uint64_t offset_bytes,
                                  std::uint64_t count) {
  const std::byte* from = region.data() + offset_bytes;
  if (region.devices() == nullptr || count == 0) return checksum_of(from, count);
  auto bounce = Bounce::make(region, count);
  if (!bounce) return fail(bounce.error());
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (state == nullptr) return fail(StatusCode::kBusy, "no memory for a checksum");
  XXH3_64bits_reset(state.get());
  for (std::uint64_t at = 0; at < count; at += bounce->bytes()) {
    const auto part = std::min<std::uint64_t>(bounce->bytes(), count - at);
    if (auto done = bounce->copy(bounce->memory(), from + at, part); !done) {
      return fail(done.error());
    }
    XXH3_64bits_update(state.get(), bounce->memory(), static_cast<std::size_t>(part));
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace framewire::transport
