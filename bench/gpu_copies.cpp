// What the hardware gives, to set Framewire's transport beside: plain copies between two GPUs, on
// one stream and on two by turns, the same through pinned host memory, and transport's own copy
// kernel. gpu_copies [FROM TO], ordinals; JSON on standard output.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>
#include "transport/cuda/copy_kernel.hpp"

namespace {

using framewire::transport::cuda::Signal;

constexpr std::size_t kMost = std::size_t{256} << 20;

void must(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  fmt::print(stderr, "{}: {}\n", doing, cudaGetErrorString(error));
  std::exit(3);
}

// Median of `rounds` rounds of `copies` copies each, in microseconds a round.
template <typename Copy, typename Wait>
double median_us(int rounds, int copies, Copy copy, Wait wait) {
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < copies; ++i) copy(i);
    wait();
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    if (round >= 0) times.push_back(us.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

class Copies {
 public:
  Copies(int from, int to) : from_(from), to_(to) {
    must(cudaSetDevice(to), "choosing the second GPU");
    must(cudaMalloc(&target_, kMost), "allocating");
    must(cudaSetDevice(from), "choosing the first GPU");
    must(cudaMalloc(&source_, kMost), "allocating");
    must(cudaHostAlloc(&host_, kMost, cudaHostAllocPortable), "allocating pinned memory");
    void* flag = nullptr;
    void* counter = nullptr;
    must(cudaHostAlloc(&flag, 128, cudaHostAllocPortable | cudaHostAllocMapped),
         "allocating pinned memory");
    must(cudaMalloc(&counter, 128), "allocating");
    must(cudaMemset2D(counter, 128, 0, 128, 1), "zeroing");
    signal_ = {static_cast<std::uint64_t*>(flag), static_cast<unsigned*>(counter)};
    *signal_.h_done = 0;
    (void)cudaDeviceEnablePeerAccess(to, 0);
    (void)cudaGetLastError();
    for (cudaStream_t& stream : streams_) {
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    }
  }

  double engine_us(std::size_t bytes, int copies, int streams) {
    return median_us(
        50, copies,
        [&](int i) {
          const auto stream = streams_[static_cast<std::size_t>(i % streams)];
          must(cudaMemcpyPeerAsync(target_, to_, source_, from_, bytes, stream),
               "copying to the peer");
        },
        [&] { wait(); });
  }
  double staged_us(std::size_t bytes, int copies) {
    return median_us(
        20, copies,
        [&](int) {
          must(cudaMemcpyAsync(host_, source_, bytes, cudaMemcpyDeviceToHost, streams_[0]),
               "copying out");
          must(cudaMemcpyAsync(target_, host_, bytes, cudaMemcpyHostToDevice, streams_[0]),
               "copying in");
        },
        [&] { wait(); });
  }
  // Until the host has read the last one's ticket.
  double kernel_us(std::size_t bytes, int copies, bool to_peer) {
    void* target = to_peer ? target_ : static_cast<std::byte*>(source_) + kMost / 2;
    return median_us(
        200, copies,
        [&](int) {
          must(framewire::transport::cuda::launch_copy(
                   {static_cast<std::byte*>(target), static_cast<std::byte*>(source_), bytes,
                    signal_, ++ticket_},
                   streams_[0]),
               "launching a copy");
        },
        [&] { wait_for_ticket(); });
  }

 private:
  void wait() const {
    for (const cudaStream_t stream : streams_) must(cudaStreamSynchronize(stream), "copying");
  }
  void wait_for_ticket() const {
    for (unsigned looks = 1; std::atomic_ref(*signal_.h_done).load() < ticket_; ++looks) {
      if (looks % 4096 != 0) continue;
      const cudaError_t error = cudaStreamQuery(streams_[0]);
      if (error != cudaErrorNotReady) must(error, "copying");
    }
  }

  int from_;
  int to_;
  void* source_ = nullptr;
  void* target_ = nullptr;
  void* host_ = nullptr;
  Signal signal_;
  std::uint64_t ticket_ = 0;
  std::array<cudaStream_t, 2> streams_{};
};

std::string row(Copies& copies, std::size_t bytes) {
  const int count = bytes <= 65536 ? 1 : 8;
  const auto total = static_cast<double>(bytes) * count;
  const double peer = copies.engine_us(bytes, count, 1);
  const double two = copies.engine_us(bytes, 8, 2);
  const double staged = copies.staged_us(bytes, count);
  std::string text = fmt::format(
      "  {{\"size_bytes\": {}, \"peer_us\": {:.2f}, \"peer_mb_s\": {:.0f}, "
      "\"peer_two_streams_mb_s\": {:.0f}, \"staged_mb_s\": {:.0f}",
      bytes, peer / count, total / peer, static_cast<double>(bytes) * 8 / two, total / staged);
  if (bytes <= std::size_t{16} << 20) {
    text += fmt::format(
        ", \"kernel_one_us\": {:.2f}, \"kernel_us\": {:.2f}, \"kernel_local_one_us\": {:.2f}",
        copies.kernel_us(bytes, 1, true), copies.kernel_us(bytes, 8, true) / 8,
        copies.kernel_us(bytes, 1, false));
  }
  return text + "}";
}

}  // namespace

int main(int count, char** words) {
  const int from = count > 2 ? std::atoi(words[1]) : 0;
  const int to = count > 2 ? std::atoi(words[2]) : 1;
  Copies copies(from, to);
  std::string rows;
  for (std::size_t bytes = 4096; bytes <= kMost; bytes *= 4) {
    rows += (rows.empty() ? "" : ",\n") + row(copies, bytes);
  }
  fmt::print("[\n{}\n]\n", rows);
  return 0;
}
