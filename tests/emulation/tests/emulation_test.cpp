// What the tests of kernels rely on: that threads meet as on a device, that work is done when it is
// waited for and not before, and that mistakes come out.
#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <numeric>
#include <vector>

namespace {

constexpr unsigned kThreads = 96;

// Device memory that a kernel fills and the host reads back.
template <typename T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T)), cudaSuccess);
  }
  ~Device() { (void)cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> host(count_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

template <typename... Parameters, typename... Arguments>
cudaError_t start(const Stream& stream, void (*kernel)(Parameters...), unsigned blocks,
                  unsigned threads, std::size_t shared_bytes, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.get();
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Every thread writes, all meet, every thread reads what another wrote.
__global__ void turn_round(unsigned* out) {
  auto* shared = cuda_emulation::dynamic_shared<unsigned>();
  for (unsigned round = 0; round < 3; ++round) {
    shared[threadIdx.x] = blockIdx.x * 1000 + round * 100 + threadIdx.x;
    __syncthreads();
    out[(blockIdx.x * 3 + round) * kThreads + threadIdx.x] = shared[kThreads - 1 - threadIdx.x];
    __syncthreads();
  }
}

TEST(Emulation, ThreadsOfABlockMeet) {
  const Device<unsigned> out(2 * 3 * kThreads);
  const Stream stream;
  ASSERT_EQ(start(stream, turn_round, 2, kThreads, kThreads * 4, out.data()), cudaSuccess);
  stream.wait();
  const auto values = out.read();
  for (unsigned i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i],
              i / kThreads / 3 * 1000 + i / kThreads % 3 * 100 + kThreads - 1 - i % kThreads);
  }
}

__global__ void vote(int* out) {
  const int or_none = __syncthreads_or(0);
  const int or_one = __syncthreads_or(threadIdx.x == 40 ? 1 : 0);
  const int and_most = __syncthreads_and(threadIdx.x != 40 ? 1 : 0);
  const int count = __syncthreads_count(threadIdx.x % 3 == 0 ? 1 : 0);
  if (threadIdx.x != 7) return;
  out[0] = or_none;
  out[1] = or_one;
  out[2] = and_most;
  out[3] = count;
}

TEST(Emulation, ABlockVotes) {
  const Device<int> out(4);
  const Stream stream;
  ASSERT_EQ(start(stream, vote, 1, kThreads, 0, out.data()), cudaSuccess);
  stream.wait();
  EXPECT_EQ(out.read(), (std::vector<int>{0, 1, 0, 32}));
}

// Odd and even lanes take different ways, and meet only among themselves.
__global__ void exchange(unsigned* out) {
  const unsigned own = threadIdx.x;
  const unsigned lane = own & 31;
  unsigned value = 0;
  if ((lane & 1) != 0) {
    value = __ballot_sync(0xAAAAAAAAu, lane > 15 ? 1 : 0);
    value ^= __shfl_sync(0xAAAAAAAAu, own, 5);
  } else {
    value = __shfl_xor_sync(0x55555555u, own, 2);
    value += __shfl_up_sync(0x55555555u, 1000 * lane, 2);
  }
  out[threadIdx.x] = value;
}

TEST(Emulation, LanesMeetWithinTheirMask) {
  const Device<unsigned> out(64);
  const Stream stream;
  ASSERT_EQ(start(stream, exchange, 1, 64, 0, out.data()), cudaSuccess);
  stream.wait();
  const auto values = out.read();
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned lane = i & 31;
    const unsigned even = (i ^ 2) + 1000 * (lane < 2 ? lane : lane - 2);
    ASSERT_EQ(values[i], (lane & 1) != 0 ? 0xAAAA0000u ^ (i - lane + 5) : even) << i;
  }
}

__global__ void sums(unsigned* before, unsigned* all, unsigned* sum) {
  using Scan = cub::BlockScan<unsigned, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  using Reduce = cub::BlockReduce<unsigned, kThreads>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  Scan(scan).ExclusiveSum(threadIdx.x + 1, before[threadIdx.x], all[threadIdx.x]);
  const unsigned total = Reduce(reduce).Sum(threadIdx.x);
  if (threadIdx.x == 0) *sum = total;
}

TEST(Emulation, BlocksSum) {
  const Device<unsigned> before(kThreads);
  const Device<unsigned> all(kThreads);
  const Device<unsigned> sum(1);
  const Stream stream;
  ASSERT_EQ(start(stream, sums, 1, kThreads, 0, before.data(), all.data(), sum.data()),
            cudaSuccess);
  stream.wait();
  for (unsigned i = 0; i < kThreads; ++i) {
    ASSERT_EQ(before.read()[i], i * (i + 1) / 2);
    ASSERT_EQ(all.read()[i], kThreads * (kThreads + 1) / 2);
  }
  EXPECT_EQ(sum.read()[0], kThreads * (kThreads - 1) / 2);
}

__global__ void count_up(unsigned* value) { atomicAdd(value, 1u); }

TEST(Emulation, NothingIsDoneBeforeItIsWaitedFor) {
  const Device<unsigned> value(1);
  const Stream one;
  const Stream other;
  cudaEvent_t reached = nullptr;
  ASSERT_EQ(cudaEventCreate(&reached), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(value.data(), 0, 4, one.get()), cudaSuccess);
  ASSERT_EQ(start(one, count_up, 3, kThreads, 0, value.data()), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(reached, one.get()), cudaSuccess);
  ASSERT_EQ(start(one, count_up, 1, 1, 0, value.data()), cudaSuccess);
  EXPECT_NE(value.read()[0], 3 * kThreads);
  EXPECT_EQ(cudaEventQuery(reached), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady) << "as with CUDA, the answer stays behind";
  ASSERT_EQ(cudaStreamWaitEvent(other.get(), reached), cudaSuccess);
  other.wait();
  EXPECT_EQ(value.read()[0], 3 * kThreads);  // not what came behind the event
  EXPECT_EQ(cudaEventQuery(reached), cudaSuccess);
  one.wait();
  EXPECT_EQ(value.read()[0], 3 * kThreads + 1);
  (void)cudaEventDestroy(reached);
}

TEST(Emulation, WhatADeviceWouldRefuseIsRefused) {
  const Device<unsigned> device(16);
  std::vector<unsigned> host(32);
  const Stream stream;
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 65, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data() + 16, 64, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(start(stream, count_up, 1, 1025, 0, device.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(start(stream, count_up, 0, 32, 0, device.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(start(stream, count_up, 1, 32, 64 << 10, device.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
}

// Kernels and events belong to the device that their stream was made on; copies do not, save of
// memory that is mapped for one device.
TEST(Emulation, AStreamIsOfOneDevice) {
  const Device<unsigned> one(1);
  const Device<unsigned> other(1);
  const Stream stream;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(start(stream, count_up, 1, 1, 0, one.data()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, stream.get()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemcpyAsync(one.data(), other.data(), 4, cudaMemcpyDefault, stream.get()),
            cudaSuccess);
  (void)cudaEventDestroy(event);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  (void)cudaGetLastError();
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
}

TEST(Emulation, MappedMemoryIsForTheDeviceItIsMappedFor) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr address{};
  const CUmemAllocationProp prop{};
  CUmemAccessDesc access{};
  access.location.id = 1;
  ASSERT_EQ(cuMemCreate(&handle, kBytes, &prop, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
  auto* mapped = reinterpret_cast<unsigned*>(address);
  const Device<unsigned> own(1);
  EXPECT_EQ(cudaMemcpy(mapped, own.data(), 4, cudaMemcpyDefault), cudaErrorInvalidValue);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(mapped, own.data(), 4, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  (void)cudaGetLastError();
  EXPECT_EQ(cuMemUnmap(address, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
}

__global__ void take_numbers(unsigned* counter, unsigned* taken) {
  atomicAdd(&taken[atomicInc(counter, gridDim.x - 1)], 1u);
  __threadfence_system();
}

TEST(Emulation, ACounterWraps) {
  const Device<unsigned> counter(1);
  const Device<unsigned> taken(5);
  const Stream stream;
  ASSERT_EQ(cudaMemsetAsync(counter.data(), 0, 4, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(taken.data(), 0, 20, stream.get()), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(start(stream, take_numbers, 5, 1, 0, counter.data(), taken.data()), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  stream.wait();
  EXPECT_EQ(counter.read()[0], 0U);
  EXPECT_EQ(taken.read(), std::vector<unsigned>(5, 2));
}

__global__ void part_ways(unsigned* value) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncwarp();
    if (threadIdx.x == 40) return;
    (void)__ballot_sync(~0u, 1);
    if (threadIdx.x == 41) __syncwarp(2);
  }
  atomicAdd(value, 1u);
}

TEST(EmulationDeathTest, ThreadsThatWaitInVainAreNamed) {
  const auto run = [] {
    const Device<unsigned> value(1);
    const Stream stream;
    (void)start(stream, part_ways, 1, 64, 0, value.data());
    stream.wait();
  };
  EXPECT_DEATH(run(), "in vain: 0:block .* 40:ended 41:warp\\(00000002\\)");
}

}  // namespace
