// Every thread has several vectors of 16 bytes under way, all read before the first is written: a
// copy of a few KiB takes little more than one trip to memory and back. The last block to end
// writes the copy's number; the blocks count themselves with a counter that wraps to zero, ready
// for the copy that uses it next.
//
// A copy whose bytes another device sends here may be told before they have come: it waits for that
// device's words a while, and gives up if they do not come. Where as many blocks make either copy,
// each goes by the word of the one that has written its part, since equal blocks copy equal parts;
// else by all words. So some blocks may have copied what others wait for in vain: such a copy
// counts as not made, and is made again as a whole.
//
// A kernel that stays looks for the next command as long as its policy says. The first block's
// first warp reads the mailbox, over PCIe; each lane reads a word, and the seal says whether all
// are of one command. Small copies it makes alone. Others it relays through device memory, which
// the other blocks read meanwhile: had each looked for itself, they would have to agree on the last
// command taken. No block waits for another but to be told; copies have no order.
//
// Fences: the barrier orders a block's writes before its one thread's fence, which is system-wide,
// as the target may be another device's memory and the reader is the host (PTX ISA, "Memory
// Consistency Model": causality is transitive over barriers and fences). The other way, what the
// host has seen before it posts is seen by the block: every word is released by its writer and
// acquired by its reader, and the barrier behind it orders the reads of the bytes. That is also
// what keeps a kernel that stays from reading what its multiprocessor has cached of an earlier
// copy.
#include <cuda_runtime.h>
#include <algorithm>
#include <transport/cuda/copy_kernel.hpp>

#ifndef FRAMEWIRE_KERNEL_COPY_BLOCKS
#define FRAMEWIRE_KERNEL_COPY_BLOCKS 64
#endif
#ifndef FRAMEWIRE_ALONE_BLOCKS
#define FRAMEWIRE_ALONE_BLOCKS 48
#endif
#ifndef FRAMEWIRE_ARRIVAL_US
#define FRAMEWIRE_ARRIVAL_US 50
#endif

namespace framewire::transport::cuda {
namespace {

constexpr unsigned kThreads = 512;  // how blocks share a copy: peer::kArrivalLayout says so
constexpr unsigned kMaxBlocks = FRAMEWIRE_KERNEL_COPY_BLOCKS;
constexpr std::uint64_t kBytesABlock = 16 << 10;
// Thread blocks of a kernel that stays, for a copy with which no other is chained: more take longer
// to count than they save.
constexpr unsigned kAloneBlocks = FRAMEWIRE_ALONE_BLOCKS;
constexpr unsigned kUnderWay = 4;
#if defined(FRAMEWIRE_CUDA_EMULATION)
constexpr std::uint64_t kLinger_ns = 0;
constexpr std::uint64_t kArrival_ns = 0;
#else
constexpr std::uint64_t kLinger_ns = std::uint64_t{kLingerPolicy.linger_us} * 1000;
// For bytes that are on their way: most come within 20.
constexpr std::uint64_t kArrival_ns = std::uint64_t{FRAMEWIRE_ARRIVAL_US} * 1000;
#endif
// However busy it is kept: others may wait for the device to be idle, to free memory say.
constexpr std::uint64_t kLife_ns = 2'000'000;

// Reads a word that the host or another block writes while the kernel runs.
__device__ std::uint64_t load_acquire(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value = 0;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}
// For another block; what is for the host is ordered by fence_system().
__device__ void store_release(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}
// Less than __threadfence_system(), which also orders stores before loads.
__device__ void fence_system() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
  __threadfence_system();
#endif
}
// The host, or another device.
__device__ void tell(std::uint64_t* word, std::uint64_t value) {
  *static_cast<volatile std::uint64_t*>(word) = value;
}
__device__ std::uint64_t now_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return 0;
#endif
}

__device__ void copy_vectors(uint4* to, const uint4* from, unsigned count, unsigned blocks) {
  const unsigned step = blocks * kThreads;
  const unsigned first = blockIdx.x * kThreads + threadIdx.x;
  for (unsigned i = first; i < count; i += kUnderWay * step) {
    uint4 held[kUnderWay];
#pragma unroll
    for (unsigned k = 0; k < kUnderWay; ++k) {
      if (i + k * step < count) held[k] = from[i + k * step];
    }
#pragma unroll
    for (unsigned k = 0; k < kUnderWay; ++k) {
      if (i + k * step < count) to[i + k * step] = held[k];
    }
  }
}

// This block's part of a copy that the first `blocks` make.
__device__ void copy_part(const CopyCommand& command, unsigned blocks) {
  auto* to = reinterpret_cast<std::byte*>(command.to);
  const auto* from = reinterpret_cast<const std::byte*>(command.from);
  const std::uint64_t ahead = (0 - command.to) % 16;
  const std::uint64_t head = ahead < command.bytes ? ahead : command.bytes;
  const auto count = static_cast<unsigned>((command.bytes - head) / 16);
  copy_vectors(reinterpret_cast<uint4*>(to + head), reinterpret_cast<const uint4*>(from + head),
               count, blocks);
  // What is left before and behind the vectors is less than 32 bytes.
  const std::uint64_t edges = command.bytes - std::uint64_t{16} * count;
  if (blockIdx.x == 0 && threadIdx.x < edges) {
    const std::uint64_t at = threadIdx.x + (threadIdx.x < head ? 0 : std::uint64_t{16} * count);
    to[at] = from[at];
  }
}

// By a whole block: whether what it has to copy is there, or comes in time.
__device__ bool is_there(const CopyCommand& command, unsigned blocks) {
  if (!command.awaits()) return true;
  const bool own = command.words() == blocks;
  const auto* words = reinterpret_cast<const std::uint64_t*>(command.arrivals);
  bool there = true;
  if (threadIdx.x < (own ? 1 : command.words())) {
    const std::uint64_t* word = words + (own ? blockIdx.x : threadIdx.x);
    const std::uint64_t until_ns = now_ns() + kArrival_ns;
    do {
      const auto told = static_cast<std::uint32_t>(load_acquire(word));
      there = told == static_cast<std::uint32_t>(command.expected);
    } while (!there && now_ns() < until_ns);
  }
  return __syncthreads_and(there ? 1 : 0) != 0;
}

// By a thread of the last warp: the first looks for the next command at the same time.
__device__ void count_and_tell(const CopyCommand& command, const Mailbox& box, unsigned blocks,
                               bool there) {
  __syncthreads();
  if (threadIdx.x != kThreads - 32) return;
  fence_system();
  auto* words = reinterpret_cast<std::uint64_t*>(command.arrivals);
  const unsigned count = command.awaits() ? 0 : command.words();
  if (count == blocks) tell(words + blockIdx.x, command.number);
  const auto slot = command.number % kMailboxSlots;
  bool made = there;
  if (blocks > 1) {
    const unsigned before = atomicAdd(&box.d_blocks[slot], there ? 1U : 1U + (1U << 16));
    if (before % (1U << 16) != blocks - 1) return;
    box.d_blocks[slot] = 0;
    made = made && before >> 16 == 0;
    fence_system();
  }
  for (unsigned i = 0; i < count && count != blocks; ++i) tell(words + i, command.number);
  if (command.tell != 0) tell(reinterpret_cast<std::uint64_t*>(command.tell), command.number);
  tell(&box.h_done[slot], done_word(command.number, made));
}

// By a whole warp: what a slot holds, if that is whole and of this place.
__device__ bool read_command(const CopyCommand& slot, std::uint64_t place, CopyCommand& command) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(&slot);
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t word = lane < kCommandWords ? load_acquire(words + lane) : 0;
  command.to = __shfl_sync(~0U, word, 0);
  command.from = __shfl_sync(~0U, word, 1);
  command.bytes = __shfl_sync(~0U, word, 2);
  command.tell = __shfl_sync(~0U, word, 3);
  command.arrivals = __shfl_sync(~0U, word, 4);
  command.expected = __shfl_sync(~0U, word, 5);
  command.number = __shfl_sync(~0U, word, 6);
  command.seal = __shfl_sync(~0U, word, 7);
  return command.seal == seal_of(command, place);
}

__device__ void relay(CopyCommand& slot, std::uint64_t place, const CopyCommand& command) {
  const std::uint64_t seal = seal_of(command, place);
  auto* words = reinterpret_cast<std::uint64_t*>(&slot);
  const unsigned lane = threadIdx.x;
  const std::uint64_t word = lane == 0   ? command.to
                             : lane == 1 ? command.from
                             : lane == 2 ? command.bytes
                             : lane == 3 ? command.tell
                             : lane == 4 ? command.arrivals
                             : lane == 5 ? command.expected
                             : lane == 6 ? command.number
                                         : seal;
  if (lane < kCommandWords) store_release(words + lane, word);
}

// By the first lane's clock, so that the warp agrees.
__device__ bool is_past(std::uint64_t time_ns) {
  return __shfl_sync(~0U, static_cast<unsigned>(now_ns() >= time_ns), 0) != 0;
}

// The first block's next command; one to leave where none comes in time, or the kernel has stayed
// long enough, whatever waits.
__device__ CopyCommand await_host(const Mailbox& box, std::uint64_t number, std::uint64_t end_ns) {
  CopyCommand command;
  const std::uint64_t idle_end_ns = now_ns() + kLinger_ns;
  const std::uint64_t until_ns = idle_end_ns < end_ns ? idle_end_ns : end_ns;
  bool over = is_past(end_ns);
  bool taken = false;
  while (!over && !taken) {
    taken = read_command(box.h_commands[number % kMailboxSlots], number, command);
    over = !taken && is_past(until_ns);
  }
  if (!taken) command = {};
  // From here on a command is the next kernel's.
  if (command.leave() && threadIdx.x == 0) tell(box.h_left, number);
  return command;
}

__device__ CopyCommand await_relay(const Mailbox& box, std::uint64_t place) {
  CopyCommand command;
  while (!read_command(box.d_relayed[place % kMailboxSlots], place, command)) {
  }
  return command;
}

// The places of what is relayed rise by one a command from the number that the kernel was launched
// with: they stay behind the numbers, so that no place is used twice, and what lies in a slot is of
// a copy that is done.
__global__ void __launch_bounds__(kThreads)
    copy_and_stay(CopyCommand command, Mailbox box, bool stay) {
  __shared__ CopyCommand next;
  const std::uint64_t end_ns = stay ? now_ns() + kLife_ns : 0;
  std::uint64_t number = command.number;
  std::uint64_t place = command.number;
  unsigned blocks = gridDim.x;
  while (true) {
    if (blockIdx.x < blocks) {
      const bool there = is_there(command, blocks);
      if (there) copy_part(command, blocks);
      count_and_tell(command, box, blocks, there);
    }
    if (!stay) return;
    if (threadIdx.x < 32) {
      const bool first = blockIdx.x == 0;
      const CopyCommand found =
          first ? await_host(box, number + 1, end_ns) : await_relay(box, place + 1);
      const bool wide = found.leave() || found.bytes > kLingerPolicy.narrow_bytes;
      if (first && wide && gridDim.x > 1) {
        relay(box.d_relayed[(place + 1) % kMailboxSlots], place + 1, found);
      }
      if (threadIdx.x == 0) next = found;
    }
    __syncthreads();
    command = next;
    if (command.leave()) return;
    number = command.number;
    const bool wide = command.bytes > kLingerPolicy.narrow_bytes;
    if (wide && gridDim.x > 1) ++place;
    blocks = !wide ? 1 : command.arrivals != 0 ? gridDim.x : min(gridDim.x, kAloneBlocks);
  }
}

unsigned blocks_of(std::uint64_t bytes, Stay stay) {
  if (stay != Stay::kNo) return stay == Stay::kWide ? kLingerBlocks : 1;
  const std::uint64_t wanted = (bytes + kBytesABlock - 1) / kBytesABlock;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, kMaxBlocks));
}

}  // namespace

// By the runtime's own function, whose result is this launch's: cudaGetLastError() may tell of
// something earlier of the caller's.
cudaError_t launch_copy(const CopyCommand& command, const Mailbox& box, Stay stay,
                        cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_of(command.bytes, stay));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, copy_and_stay, command, box, stay != Stay::kNo);
}

}  // namespace framewire::transport::cuda
