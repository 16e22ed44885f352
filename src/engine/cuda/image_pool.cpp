#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <engine/cuda/image_pool.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <utility>

namespace framewire {

DeviceImage::Memory::~Memory() {
  for (const gpu::Event& use : uses_) (void)use.synchronise();
}

Result<void> DeviceImage::Memory::record(cudaStream_t stream) {
  const gpu::OnDevice on(device_);
  const std::lock_guard lock(mutex_);
  // Points that the device has passed make room for this one.
  std::erase_if(uses_, [](const gpu::Event& use) { return use.is_passed(); });
  auto use = gpu::Event::make_untimed();
  if (!use) return fail(use.error());
  if (auto ok = use->record(stream); !ok) return ok;
  uses_.push_back(std::move(*use));
  return {};
}

bool DeviceImage::Memory::is_idle() {
  const std::lock_guard lock(mutex_);
  std::erase_if(uses_, [](const gpu::Event& use) { return use.is_passed(); });
  return uses_.empty();
}

Result<void> DeviceImage::Memory::order(const gpu::Stream& stream) {
  const std::lock_guard lock(mutex_);
  for (const gpu::Event& use : uses_) {
    if (auto ok = stream.wait_for(use.get()); !ok) return ok;
  }
  uses_.clear();
  return {};
}

namespace engine {
namespace {

using Memory = DeviceImage::Memory;
using Owned = std::unique_ptr<Memory>;

/// A kept block serves where it is at most so many times as large as what is asked for.
constexpr std::uint64_t kMaxWaste = 2;
constexpr std::uint64_t kMinBlockBytes = std::uint64_t{64} << 10;

/// Pictures of nearly the same size share blocks: at most an eighth more than asked for.
std::uint64_t block_bytes(std::uint64_t bytes) {
  const std::uint64_t step = std::max(kMinBlockBytes, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

/// Shared with the images, which give blocks back to it.
struct ImagePool::State {
  const int device;
  const std::uint64_t bound_bytes;
  mutable std::mutex mutex;
  std::vector<Owned> kept{};
  std::uint64_t bytes = 0;  ///< of kept and lent blocks
  std::size_t blocks = 0;   ///< their number
  bool retired = false;

  State(int on, std::uint64_t bound) noexcept : device(on), bound_bytes(bound) {}
  void give_back(Memory* block) noexcept;
  Owned take_idle(std::uint64_t wanted);
  Owned take_busy(std::uint64_t wanted);
  void forget(const Memory& block) noexcept;
  void free_idle(std::uint64_t max_bytes);
  Result<Owned> make(std::uint64_t wanted);
  Result<Owned> find(std::uint64_t wanted, const gpu::Stream& stream);
};

void ImagePool::State::give_back(Memory* block) noexcept {
  Owned owned(block);
  const std::lock_guard lock(mutex);
  if (!retired) {
    kept.push_back(std::move(owned));  // for which make() has reserved room
    return;
  }
  forget(*owned);
}

void ImagePool::State::forget(const Memory& block) noexcept {
  bytes -= block.bytes();
  --blocks;
}

/// The smallest that fits and that nobody uses.
Owned ImagePool::State::take_idle(std::uint64_t wanted) {
  auto best = kept.end();
  for (auto at = kept.begin(); at != kept.end(); ++at) {
    const std::uint64_t size = (*at)->bytes();
    if (size < wanted || size > wanted * kMaxWaste) continue;
    if (best != kept.end() && size >= (*best)->bytes()) continue;
    if ((*at)->is_idle()) best = at;
  }
  if (best == kept.end()) return nullptr;
  Owned found = std::move(*best);
  kept.erase(best);
  return found;
}

/// The first given back of those that fit.
Owned ImagePool::State::take_busy(std::uint64_t wanted) {
  const auto at = std::find_if(kept.begin(), kept.end(),
                               [&](const Owned& block) { return block->bytes() >= wanted; });
  if (at == kept.end()) return nullptr;
  Owned found = std::move(*at);
  kept.erase(at);
  return found;
}

/// Frees kept blocks that nobody uses until the pool has no more bytes than that, or no such block.
void ImagePool::State::free_idle(std::uint64_t max_bytes) {
  for (std::size_t i = 0; i < kept.size() && bytes > max_bytes;) {
    if (!kept[i]->is_idle()) {
      ++i;
      continue;
    }
    forget(*kept[i]);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Result<Owned> ImagePool::State::make(std::uint64_t wanted) {
  if (bytes + wanted > bound_bytes) {
    return fail(StatusCode::kBusy,
                fmt::format("pictures hold {} of at most {} bytes of device memory; this one needs "
                            "{} more",
                            bytes, bound_bytes, wanted));
  }
  auto buffer = gpu::Buffer::make(gpu::BufferKind::kDevice, static_cast<std::size_t>(wanted));
  if (!buffer) return fail(buffer.error());
  kept.reserve(blocks + 1);  // give_back() does not allocate
  auto block = std::make_unique<Memory>(device, std::move(*buffer));
  bytes += wanted;
  ++blocks;
  return block;
}

Result<Owned> ImagePool::State::find(std::uint64_t wanted, const gpu::Stream& stream) {
  if (Owned idle = take_idle(wanted)) return idle;
  auto made = make(wanted);
  if (made || made.error().code() != StatusCode::kBusy) return made;
  // First as far as the bound asks for; then all, for a device whose memory is with others.
  for (const std::uint64_t max_bytes :
       {bound_bytes - std::min(bound_bytes, wanted), std::uint64_t{0}}) {
    free_idle(max_bytes);
    made = make(wanted);
    if (made || made.error().code() != StatusCode::kBusy) return made;
  }
  Owned busy = take_busy(wanted);
  if (busy == nullptr) return made;
  if (auto ok = busy->order(stream); !ok) {
    kept.push_back(std::move(busy));
    return fail(ok.error());
  }
  return busy;
}

ImagePool::ImagePool(int device, std::uint64_t bound_bytes)
    : state_(std::make_shared<State>(device, bound_bytes)) {}
ImagePool::~ImagePool() { retire(); }

Result<ImagePool::Block> ImagePool::take(std::uint64_t bytes, const gpu::Stream& stream) {
  Owned found;
  {
    const std::lock_guard lock(state_->mutex);
    auto block = state_->find(block_bytes(bytes), stream);
    if (!block) return fail(block.error());
    found = std::move(*block);
  }
  return Block(found.release(), [state = state_](Memory* block) { state->give_back(block); });
}

void ImagePool::retire() noexcept {
  std::vector<Owned> freed;
  const std::lock_guard lock(state_->mutex);
  state_->retired = true;
  freed.swap(state_->kept);
  for (const Owned& block : freed) state_->forget(*block);
}

std::uint64_t ImagePool::bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

}  // namespace engine
}  // namespace framewire
