#include <cuda_runtime_api.h>
#include <algorithm>
#include <atomic>
#include <deque>
#include <extension/device_memory.hpp>
#include <extension/without_gil.hpp>
#include <gpu/buffer.hpp>
#include <gpu/error.hpp>
#include <gpu/on_device.hpp>
#include <gpu/stream.hpp>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace framewire::python {

namespace {

/// Blocks that are kept, lent ones among them: one that is written, one that is waited for, one
/// that a model reads, and one that comes back.
constexpr std::size_t kKeptBlocks = 4;
/// A block is lent for a batch of half of its bytes, or more; where enough are kept for one of any
/// bytes, such as the last batch of an epoch. Another block would cost an allocation and, for the
/// one that it replaces, a wait for the whole device.
constexpr std::size_t kWaste = 2;

bool is_legacy(CudaStream stream) { return stream == CudaStream::legacy_default(); }

class Block final : public DeviceBlock {
 public:
  explicit Block(gpu::Buffer memory) : memory_(std::move(memory)) {}

  [[nodiscard]] void* data() const noexcept override { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }
  void note_use(CudaStream stream) override {
    const std::lock_guard lock(mutex_);
    if (std::find(uses_.begin(), uses_.end(), stream) == uses_.end()) uses_.push_back(stream);
  }
  void note_unknown_use() noexcept override { unknown_use_ = true; }

  /// Marks where the consumers' work ends. The block is nobody's now.
  /// @return whether all their streams could be asked: the legacy default stream and `alive`
  [[nodiscard]] bool settle(CudaStream alive) {
    if (unknown_use_) return false;
    for (const CudaStream stream : uses_) {
      // A stream may have been destroyed meanwhile; and the per-thread one is another one here.
      if (!is_legacy(stream) && !(stream == alive && stream != CudaStream::per_thread_default())) {
        return false;
      }
      auto event = gpu::Event::make_untimed();
      if (!event || !event->record(static_cast<cudaStream_t>(stream.get()))) return false;
      busy_.push_back(std::move(*event));
    }
    uses_.clear();
    return true;
  }
  [[nodiscard]] bool is_idle() const {
    return std::all_of(busy_.begin(), busy_.end(), [](const auto& e) { return e.is_passed(); });
  }
  /// What `order` holds from now on begins after the consumers' work.
  [[nodiscard]] Result<void> wait_on(const gpu::Stream& order) {
    for (const gpu::Event& event : busy_) {
      if (auto ok = order.wait_for(event.get()); !ok) return ok;
    }
    busy_.clear();
    return {};
  }

 private:
  gpu::Buffer memory_;
  std::mutex mutex_;  // of uses_, while the block is lent
  std::vector<CudaStream> uses_;
  std::atomic<bool> unknown_use_ = false;
  std::vector<gpu::Event> busy_;
};

class CudaMemory final : public DeviceMemory, public std::enable_shared_from_this<CudaMemory> {
 public:
  CudaMemory(int device, gpu::Stream order)
      : fork_count_(fork_count()),
        device_(device),
        order_(std::make_unique<gpu::Stream>(std::move(order))) {}
  ~CudaMemory() override {
    close();
    if (is_forked()) (void)order_.release();
  }

  [[nodiscard]] Result<TakenBlock> take(std::size_t bytes, CudaStream stream) override {
    const gpu::OnDevice on(device_);
    const std::lock_guard lock(free_mutex_);
    settle(stream);
    auto block = choose(bytes);
    if (!block) {
      auto made = make_block(bytes);
      if (!made) return fail(made.error());
      block = std::move(*made);
    }
    if (auto ok = block->wait_on(*order_); !ok) return fail(ok.error());
    {
      const std::lock_guard lent_lock(lent_mutex_);
      returned_.reserve(returned_.size() + lent_ + 1);  // so that take_back() cannot fail
      ++lent_;
    }
    return TakenBlock{
        {block.release(), [pool = shared_from_this()](Block* b) { pool->take_back(b); }},
        CudaStream(order_->get())};
  }

  void close() noexcept override {
    if (is_forked()) return;
    const std::lock_guard lock(free_mutex_);
    {
      const std::lock_guard lent_lock(lent_mutex_);
      is_closed_ = true;
    }
    while (auto block = next_returned()) destroy(std::move(block));
    while (!free_.empty()) drop_oldest();
  }

 private:
  /// A child of the process that made this has no use of its parent's CUDA; it leaves all as it is.
  [[nodiscard]] bool is_forked() const noexcept { return fork_count() != fork_count_; }

  /// The last share of a block is gone. Never waits for the device unless this is closed: whoever
  /// calls may hold the GIL, which the device's work may need.
  void take_back(Block* returned) noexcept {
    std::unique_ptr<Block> block(returned);
    if (is_forked()) {
      (void)block.release();
      return;
    }
    {
      const std::lock_guard lock(lent_mutex_);
      --lent_;
      if (!is_closed_) returned_.push_back(std::move(block));
    }
    if (block) destroy(std::move(block));
  }

  /// After all work of the device.
  void destroy(std::unique_ptr<Block> block) const noexcept {
    const gpu::OnDevice on(device_);
    (void)cudaDeviceSynchronize();
    block.reset();
  }

  [[nodiscard]] std::unique_ptr<Block> next_returned() {
    const std::lock_guard lock(lent_mutex_);
    if (returned_.empty()) return nullptr;
    auto block = std::move(returned_.front());
    returned_.erase(returned_.begin());
    return block;
  }

  /// Sorts what has come back into what may be lent again and what is freed.
  void settle(CudaStream stream) {
    while (auto block = next_returned()) {
      if (block->settle(stream)) {
        free_.push_back(std::move(block));
      } else {
        destroy(std::move(block));
      }
    }
    while (free_.size() > kKeptBlocks) drop_oldest();
  }

  [[nodiscard]] bool are_enough() {
    const std::lock_guard lock(lent_mutex_);
    return lent_ + free_.size() >= kKeptBlocks;
  }

  void drop_oldest() {
    destroy(std::move(free_.front()));
    free_.pop_front();
  }

  /// A block that came back: one that nobody works on, or the oldest one where enough are kept.
  [[nodiscard]] std::unique_ptr<Block> choose(std::size_t bytes) {
    const auto fits = [bytes](const auto& block) {
      return block->bytes() >= bytes && block->bytes() / kWaste <= bytes;
    };
    auto found = std::find_if(free_.begin(), free_.end(),
                              [&](const auto& b) { return fits(b) && b->is_idle(); });
    if (found == free_.end() && are_enough()) {
      found = std::find_if(free_.begin(), free_.end(), fits);
      if (found == free_.end()) {
        found = std::find_if(free_.begin(), free_.end(),
                             [bytes](const auto& b) { return b->bytes() >= bytes; });
      }
    }
    if (found == free_.end()) return nullptr;
    auto block = std::move(*found);
    free_.erase(found);
    return block;
  }

  [[nodiscard]] Result<std::unique_ptr<Block>> make_block(std::size_t bytes) {
    if (!free_.empty() && are_enough()) drop_oldest();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes);
    if (!memory && memory.error().code() == StatusCode::kBusy && !free_.empty()) {
      while (!free_.empty()) drop_oldest();
      memory = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes);
    }
    if (!memory) return fail(memory.error());
    return std::make_unique<Block>(std::move(*memory));
  }

  const unsigned fork_count_;
  const int device_;
  std::unique_ptr<gpu::Stream> order_;
  std::mutex free_mutex_;                    // of the next line; locked before the other one
  std::deque<std::unique_ptr<Block>> free_;  // in the order in which they came back
  std::mutex lent_mutex_;                    // of what follows
  bool is_closed_ = false;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<Block>> returned_;  // whose consumers may still be at work
};

}  // namespace

Result<std::shared_ptr<DeviceMemory>> DeviceMemory::make(int device) {
  const gpu::OnDevice on(device);
  auto order = gpu::Stream::make();
  if (!order) return fail(order.error());
  return std::make_shared<CudaMemory>(device, std::move(*order));
}

Result<void> check_stream(CudaStream stream, int device) {
  if (is_legacy(stream) || stream == CudaStream::per_thread_default()) return {};
#if CUDART_VERSION >= 12080
  int found = 0;
  const cudaError_t error = cudaStreamGetDevice(static_cast<cudaStream_t>(stream.get()), &found);
  if (error == cudaSuccess && found == device) return {};
  if (error != cudaSuccess) (void)cudaGetLastError();
  return fail(Status(StatusCode::kInvalidInput,
                     (error == cudaSuccess ? "found a stream of device " + std::to_string(found)
                                           : std::string("found no stream that CUDA knows")) +
                         "; accepted: a stream of device " + std::to_string(device))
                  .about("stream"));
#else
  (void)device;
  return {};
#endif
}

Result<void> synchronise(CudaStream stream, int device) {
  const gpu::OnDevice on(device);
  return gpu::check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream.get())),
                    "waiting for a stream");
}

Result<void> copy_to_host(void* to, const void* from, std::size_t bytes, int device) {
  if (bytes == 0) return {};
  const gpu::OnDevice on(device);
  return gpu::check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying a batch");
}

}  // namespace framewire::python
