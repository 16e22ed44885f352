// Yardsticks for Framewire's transport: plain copies between two GPUs, on one stream and on two by
// turns; the same through pinned host memory; and transport's own copy kernel, launched for each
// copy or staying for the next. gpu_copies [FROM TO [MOST]], ordinals and the largest size in
// bytes; JSON on standard output.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <transport/cuda/copy_kernel.hpp>
#include <transport/cuda/pools.hpp>
#include <vector>

namespace {

using framewire::Result;
using framewire::transport::Copier;
using framewire::transport::CopyCommand;
using framewire::transport::CopyKernel;
using framewire::transport::Mailbox;
using framewire::transport::Stay;
namespace cuda = framewire::transport::cuda;

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
// 1920 × 1080 samples of luma and a quarter as many twice of chroma.
constexpr std::size_t kFrame = 3'110'400;

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

class Copies final : private CopyKernel {
 public:
  Copies(int from, int to) : from_(from), to_(to), pools_(from) {
    must(cudaSetDevice(to), "choosing the second GPU");
    must(cudaMalloc(&target_, kMaxBytes), "allocating");
    must(cudaSetDevice(from), "choosing the first GPU");
    must(cudaMalloc(&source_, kMaxBytes), "allocating");
    must(cudaHostAlloc(&host_, kMaxBytes, cudaHostAllocPortable), "allocating pinned memory");
    take_mailbox();
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
  // Time until the host has read the last copy's number, with a kernel for each copy, or one that
  // stays.
  double kernel_us(std::size_t bytes, int copies, bool to_peer, bool stays) {
    Copier copier(*this, box_, stays ? cuda::kLingerPolicy : framewire::transport::LingerPolicy{});
    void* target = to_peer ? target_ : static_cast<std::byte*>(source_) + kMaxBytes / 2;
    const double us = median_us(
        200, copies,
        [&](int) {
          const auto begun = copier.copy(cuda::command_of(static_cast<std::byte*>(target),
                                                          static_cast<std::byte*>(source_), bytes));
          if (!begun) fail(begun.error());
        },
        [&] { wait_for_last(copier); });
    if (auto settled = copier.settle(); !settled) fail(settled.error());
    box_ = copier.mailbox();
    return us;
  }

 private:
  void wait() const {
    for (const cudaStream_t stream : streams_) must(cudaStreamSynchronize(stream), "copying");
  }
  static void fail(const framewire::Status& status) {
    fmt::print(stderr, "{}\n", status.to_string());
    std::exit(3);
  }
  void take_mailbox() {
    const auto taken = pools_.take_mailbox();
    if (!taken) fail(taken.error());
    if (!*taken) {
      fmt::print(stderr, "this build has no code for the first GPU\n");
      std::exit(3);
    }
    box_ = **taken;
  }

  Result<void> launch(const CopyCommand& command, Stay stay) override {
    must(cuda::launch_copy(command, box_, stay, streams_[0]), "launching a copy");
    return {};
  }
  Result<void> check() override {
    const cudaError_t error = cudaStreamQuery(streams_[0]);
    if (error != cudaErrorNotReady) must(error, "copying");
    return {};
  }
  void wait_for_last(Copier& copier) {
    const std::uint64_t last = copier.mailbox().number;
    for (unsigned looks = 1;; ++looks) {
      const auto done = copier.done(last);
      if (!done) fail(done.error());
      if (*done) return;
      if (looks % 4096 == 0) static_cast<void>(check());
    }
  }

  int from_;
  int to_;
  void* source_ = nullptr;
  void* target_ = nullptr;
  void* host_ = nullptr;
  cuda::Pools pools_;
  Mailbox box_;
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
  if (bytes > std::size_t{16} << 20) return text + "}";
  for (const bool stays : {false, true}) {
    const char* name = stays ? "stays" : "kernel";
    text += fmt::format(
        ", \"{0}_one_us\": {1:.2f}, \"{0}_us\": {2:.2f}, \"{0}_local_one_us\": {3:.2f}", name,
        copies.kernel_us(bytes, 1, true, stays), copies.kernel_us(bytes, 8, true, stays) / 8,
        copies.kernel_us(bytes, 1, false, stays));
  }
  return text + "}";
}

}  // namespace

int main(int count, char** words) {
  const int from = count > 2 ? std::atoi(words[1]) : 0;
  const int to = count > 2 ? std::atoi(words[2]) : 1;
  const std::size_t most = count > 3 ? std::strtoull(words[3], nullptr, 10) : kMaxBytes;
  Copies copies(from, to);
  std::string rows;
  std::vector<std::size_t> sizes{kFrame};
  for (std::size_t bytes = 4096; bytes <= most; bytes *= 4) sizes.push_back(bytes);
  for (const std::size_t bytes : sizes) {
    rows += (rows.empty() ? "" : ",\n") + row(copies, bytes);
  }
  fmt::print("[\n{}\n]\n", rows);
  return 0;
}
