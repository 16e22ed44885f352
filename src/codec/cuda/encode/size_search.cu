// Idea: a fixed number of rounds of all encoding kernels, only over the streams under a bound.
// Streams that have found their quality return at once, so that the host need not look in between.
#include <codec/cuda/tuning.h>
#include <codec/cuda/encode/size_search.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

__global__ void __launch_bounds__(kSearchThreads) search_kernel(EncodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ std::uint32_t again;
  SizeSearch& search = batch.searches[blockIdx.x];
  if (search.done != 0) return;
  if (threadIdx.x == 0) {
    const OutputRecord& record = batch.records[search.stream];
    // A stream that has failed goes to the CPU; another quality would not help it.
    if (record.status != 0) search.done = 1;
    again = record.status == 0 && advance(search, record.bytes <= search.max_bytes) ? 1 : 0;
  }
  __syncthreads();
  if (again == 0) return;
  float* tables = batch.reciprocals + search.table * 64;
  const float* wanted = batch.quality_reciprocals + search.quality * 128;
  tables[threadIdx.x] = wanted[threadIdx.x];
}

}  // namespace

void launch_size_search(const EncodeView& batch, std::uint32_t count, cudaStream_t stream) {
  gpu::launch(search_kernel, count, kSearchThreads, 0, stream, batch);
}

}  // namespace framewire::codec::cuda
