// What the hardware gives, to set Framewire's transport beside: plain copies between two GPUs, and
// the same through pinned host memory. gpu_copies [FROM TO], ordinals; JSON on standard output.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void must(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  fmt::print(stderr, "{}: {}\n", doing, cudaGetErrorString(error));
  std::exit(3);
}

// Median of `rounds` rounds of `copies` copies each, in microseconds a round.
template <typename Copy>
double median_us(cudaStream_t stream, int rounds, int copies, Copy copy) {
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < copies; ++i) copy();
    must(cudaStreamSynchronize(stream), "copying");
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    if (round >= 0) times.push_back(us.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  const int from = count > 2 ? std::atoi(words[1]) : 0;
  const int to = count > 2 ? std::atoi(words[2]) : 1;
  const std::size_t most = std::size_t{256} << 20;
  void* source = nullptr;
  void* target = nullptr;
  void* host = nullptr;
  must(cudaSetDevice(to), "choosing the second GPU");
  must(cudaMalloc(&target, most), "allocating");
  must(cudaSetDevice(from), "choosing the first GPU");
  must(cudaMalloc(&source, most), "allocating");
  must(cudaHostAlloc(&host, most, cudaHostAllocPortable), "allocating pinned memory");
  (void)cudaDeviceEnablePeerAccess(to, 0);
  (void)cudaGetLastError();
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  std::string rows;
  for (std::size_t bytes = 4096; bytes <= most; bytes *= 4) {
    const int copies = bytes <= 65536 ? 1 : 8;
    const double peer = median_us(stream, 50, copies, [&] {
      must(cudaMemcpyPeerAsync(target, to, source, from, bytes, stream), "copying to the peer");
    });
    const double staged = median_us(stream, 20, copies, [&] {
      must(cudaMemcpyAsync(host, source, bytes, cudaMemcpyDeviceToHost, stream), "copying out");
      must(cudaMemcpyAsync(target, host, bytes, cudaMemcpyHostToDevice, stream), "copying in");
    });
    const double total = static_cast<double>(bytes) * copies;
    rows += fmt::format(
        "{}  {{\"size_bytes\": {}, \"peer_us\": {:.2f}, \"peer_mb_s\": {:.0f}, "
        "\"staged_mb_s\": {:.0f}}}",
        rows.empty() ? "" : ",\n", bytes, peer / copies, total / peer, total / staged);
  }
  fmt::print("[\n{}\n]\n", rows);
  return 0;
}
