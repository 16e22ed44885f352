// Runs a kernel block by block. The threads of a block take turns on one thread of the host; one
// that waits for others goes back to the loop here, which lets a group go on when it is complete.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tests/emulation/fiber.hpp>
#include <tests/emulation/streams.hpp>
#include <vector>

namespace cuda_emulation {

thread_local const Place* here = nullptr;

namespace {

constexpr std::size_t kStaticLimit = 48 << 10;
constexpr std::size_t kDynamicLimit = 227 << 10;
constexpr unsigned kMaxThreads = 1024;
// Fills memory that nobody has written: not with zeros, so that reading it shows.
constexpr unsigned char kGarbage = 0xA5;

enum class State { kReady, kAtBlock, kAtWarp, kEnded };

struct Thread {
  Fiber fiber;
  Place place;
  State state = State::kReady;
  bool vote = false;
  unsigned mask = 0;
  std::uint64_t value = 0;
  std::array<std::uint64_t, 32> inbox{};
};

class Block {
 public:
  void run(const Place& place, std::size_t dynamic_bytes, const std::function<void()>& body) {
    count_ = place.block_size.x * place.block_size.y * place.block_size.z;
    while (threads_.size() < count_) threads_.push_back(std::make_unique<Thread>());
    dynamic_.assign(dynamic_bytes / sizeof(uint4) + 1, fill());
    for (unsigned i = 0; i < count_; ++i) prepare(*threads_[i], place, i, body);
    while (turn()) {
      if (!release_warps() && !release_block()) give_up();
    }
  }

  unsigned meet_block(bool vote) {
    Thread& thread = *running_;
    thread.vote = vote;
    wait(State::kAtBlock);
    return result_;
  }
  const std::uint64_t* meet_warp(unsigned mask, std::uint64_t value) {
    Thread& thread = *running_;
    thread.mask = mask;
    thread.value = value;
    wait(State::kAtWarp);
    return thread.inbox.data();
  }
  void* dynamic() { return dynamic_.data(); }

 private:
  static uint4 fill() {
    constexpr unsigned word = kGarbage * 0x01010101u;
    return {word, word, word, word};
  }
  static void prepare(Thread& thread, const Place& place, unsigned index,
                      const std::function<void()>& body) {
    thread.place = place;
    const unsigned row = index / place.block_size.x;
    thread.place.thread = {index % place.block_size.x, row % place.block_size.y,
                           row / place.block_size.y};
    thread.state = State::kReady;
    thread.fiber.start(body);
  }
  void wait(State state) {
    Thread& thread = *running_;
    thread.state = state;
    thread.fiber.wait();
  }
  // Every thread that can, up to where it waits; in an order that changes, as no kernel may depend
  // on one. Returns whether threads are left.
  bool turn() {
    bool left = false;
    const bool backwards = (turns_++ & 1) != 0;
    for (unsigned i = 0; i < count_; ++i) {
      Thread& thread = *threads_[backwards ? count_ - 1 - i : i];
      if (thread.state == State::kReady) {
        running_ = &thread;
        here = &thread.place;
        if (thread.fiber.resume()) thread.state = State::kEnded;
      }
      left = left || thread.state != State::kEnded;
    }
    here = nullptr;
    return left;
  }
  bool release_warps() {
    bool released = false;
    for (unsigned first = 0; first < count_; first += 32) {
      for (unsigned i = first; i < first + 32 && i < count_; ++i) {
        if (threads_[i]->state == State::kAtWarp) released = release_group(first, i) || released;
      }
    }
    return released;
  }
  // The lanes that thread `asker` waits for, if all of them are there.
  bool release_group(unsigned first, unsigned asker) {
    const unsigned mask = threads_[asker]->mask;
    if ((mask >> (asker - first) & 1) == 0) give_up();
    std::array<std::uint64_t, 32> values{};
    for (unsigned lane = 0; lane < 32 && first + lane < count_; ++lane) {
      const Thread& thread = *threads_[first + lane];
      if ((mask >> lane & 1) == 0 || thread.state == State::kEnded) continue;
      if (thread.state != State::kAtWarp || thread.mask != mask) return false;
      values[lane] = thread.value;
    }
    for (unsigned lane = 0; lane < 32 && first + lane < count_; ++lane) {
      Thread& thread = *threads_[first + lane];
      if ((mask >> lane & 1) == 0 || thread.state == State::kEnded) continue;
      thread.inbox = values;
      thread.state = State::kReady;
    }
    return true;
  }
  bool release_block() {
    unsigned votes = 0;
    unsigned present = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i]->state == State::kEnded) continue;
      if (threads_[i]->state != State::kAtBlock) return false;
      ++present;
      votes += threads_[i]->vote ? 1 : 0;
    }
    result_ = (votes != 0 ? 1u : 0u) | (votes == present ? 2u : 0u) | votes << 2;
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i]->state == State::kAtBlock) threads_[i]->state = State::kReady;
    }
    return true;
  }
  // On a device this hangs or is undefined.
  [[noreturn]] void give_up() const {
    std::fputs("emulation: threads wait for each other in vain:", stderr);
    for (unsigned i = 0; i < count_; ++i) {
      const Thread& thread = *threads_[i];
      if (thread.state == State::kAtBlock) std::fprintf(stderr, " %u:block", i);
      if (thread.state == State::kAtWarp) std::fprintf(stderr, " %u:warp(%08x)", i, thread.mask);
      if (thread.state == State::kEnded) std::fprintf(stderr, " %u:ended", i);
    }
    std::fputc('\n', stderr);
    std::abort();
  }

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<uint4> dynamic_;
  Thread* running_ = nullptr;
  unsigned count_ = 0;
  unsigned result_ = 0;
  unsigned turns_ = 0;
};

Block& block() {
  thread_local Block one;
  return one;
}

// Blocks in an order that changes from launch to launch, as no kernel may depend on one.
void run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& body) {
  thread_local unsigned launches = 0;
  const bool backwards = (launches++ & 1) != 0;
  const dim3 grid = config.gridDim;
  const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
  Place place;
  place.block_size = config.blockDim;
  place.grid_size = grid;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = backwards ? count - 1 - i : i;
    place.block = {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                   static_cast<unsigned>(at / grid.x / grid.y)};
    block().run(place, config.dynamicSmemBytes, body);
  }
}

std::mutex limits_mutex;
std::map<const void*, std::size_t>& limits() {
  static std::map<const void*, std::size_t> all;
  return all;
}

}  // namespace

unsigned meet_block(bool value) { return block().meet_block(value); }
const std::uint64_t* meet_warp(unsigned mask, std::uint64_t value) {
  return block().meet_warp(mask, value);
}
void* dynamic_memory() { return block().dynamic(); }

cudaError_t allow_dynamic(const void* kernel, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kDynamicLimit) {
    return note(cudaErrorInvalidValue);
  }
  const std::lock_guard lock(limits_mutex);
  limits()[kernel] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel,
                   std::function<void()> body) {
  const dim3 size = config.blockDim;
  const std::uint64_t threads = std::uint64_t{size.x} * size.y * size.z;
  const dim3 grid = config.gridDim;
  const bool empty = grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0;
  if (empty || threads > kMaxThreads || grid.y > 65535 || grid.z > 65535) {
    return note(cudaErrorInvalidConfiguration);
  }
  if (!of_current_device(config.stream)) return note(cudaErrorInvalidResourceHandle);
  {
    const std::lock_guard lock(limits_mutex);
    const auto known = limits().find(kernel);
    const std::size_t limit = known == limits().end() ? kStaticLimit : known->second;
    if (config.dynamicSmemBytes > limit) return note(cudaErrorInvalidValue);
  }
  return enqueue(config.stream, [config, run = std::move(body)] { run_grid(config, run); });
}

}  // namespace cuda_emulation
