#include <gpu/copy_list.hpp>
#include <gpu/experiments.hpp>

namespace framewire::gpu {

void CopyList::clear() noexcept {
  to_.clear();
  from_.clear();
  bytes_.clear();
}

void CopyList::add(void* to, const void* from, std::size_t bytes) {
  to_.push_back(to);
  from_.push_back(from);
  bytes_.push_back(bytes);
}

void CopyList::enqueue(cudaStream_t stream) {
  if (to_.size() > 1 && !experiments().single_copies && enqueue_together(stream)) return;
  for (std::size_t i = 0; i < to_.size(); ++i) {
    (void)cudaMemcpyAsync(to_[i], from_[i], bytes_[i], cudaMemcpyHostToDevice, stream);
  }
}

// Tries cudaMemcpyBatchAsync. Its failure is not reported: either the driver knows no batches, or
// single copies will fail too and report it.
bool CopyList::enqueue_together(cudaStream_t stream) {
#if CUDART_VERSION >= 12080
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t error = cudaMemcpyBatchAsync(to_.data(), from_.data(), bytes_.data(),
                                                 to_.size(), &attributes, &first, 1, stream);
#else
  std::size_t failed = 0;
  const cudaError_t error =
      cudaMemcpyBatchAsync(to_.data(), const_cast<void**>(from_.data()), bytes_.data(), to_.size(),
                           &attributes, &first, 1, &failed, stream);
#endif
  if (error == cudaSuccess) return true;
  (void)cudaGetLastError();
#endif
  return false;
}

}  // namespace framewire::gpu
