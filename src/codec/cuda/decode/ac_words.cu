// Idea: lanes that follow chains of codes shall not look for stuffing on their way. One thread
// block a scan counts the bytes that are bits, and writes them without what is between them.
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/decode/scan_bytes.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/status_bits.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Writes the bits of one thread's bytes. @return StatusBit
__device__ std::uint32_t write_bytes(const AcScanDesc& scan, std::uint32_t at, ByteCount before) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(scan.words);
  std::uint32_t faults = 0;
  for (std::uint32_t i = at; i < at + kThreadBytes && i < scan.data_bytes; ++i) {
    const ByteKind kind = kind_of(scan.data, scan.data_bytes, i);
    // The first byte is the highest of its word, and words are little-endian here.
    if (kind == ByteKind::kBits) bytes[before.bytes++ ^ 3] = scan.data[i];
    if (kind != ByteKind::kMarker) continue;
    if (!is_restart(scan.data, scan.data_bytes, i, before.markers)) faults |= kExtraneous;
    if (before.markers < scan.segment_count) scan.segment_ends[before.markers] = before.bytes;
    ++before.markers;
  }
  return faults;
}

__global__ void __launch_bounds__(kImageThreads) ac_words_kernel(ProgressiveView view) {
  gpu::grid_dependency_sync();
  __shared__ typename CountScan::TempStorage storage;
  const AcScanDesc scan = view.scans[blockIdx.x];
  const std::uint32_t image = view.planes[scan.plane].image;
  // Read once for all threads: some may find faults while others have not begun.
  if (__syncthreads_or(given_up(view, image) ? 1 : 0) != 0) return;
  ByteCount before;
  std::uint32_t faults = 0;
  for (std::uint32_t tile = 0; tile < scan.data_bytes; tile += kImageThreads * kThreadBytes) {
    const std::uint32_t at = tile + threadIdx.x * kThreadBytes;
    ByteCount sum{};
    ByteCount total{};
    CountScan(storage).ExclusiveScan(count_bytes(scan.data, scan.data_bytes, at), sum, ByteCount{},
                                     AddCounts(), total);
    faults |= write_bytes(scan, at, AddCounts()(before, sum));
    before = AddCounts()(before, total);
    __syncthreads();
  }
  auto* const bytes = reinterpret_cast<std::uint8_t*>(scan.words);
  for (std::uint32_t i = before.bytes + threadIdx.x; i < scan.word_count * 4; i += kImageThreads) {
    bytes[i ^ 3] = 0;
  }
  if (threadIdx.x == 0) {
    if (before.markers + 1 != scan.segment_count) faults |= kExtraneous;
    scan.segment_ends[scan.segment_count - 1] = before.bytes;
  }
  if (faults != 0) atomicOr(&view.status[image], faults);
}

}  // namespace

void load_ac_words() { gpu::load(ac_words_kernel); }

void launch_ac_words(const ProgressiveView& view, std::uint32_t scan_count, cudaStream_t stream) {
  if (scan_count == 0) return;
  gpu::launch(ac_words_kernel, scan_count, kImageThreads, 0, stream, view);
}

}  // namespace framewire::codec::cuda
