// The kernels that make tensors of decoded planes.
#pragma once

#include <cuda_runtime_api.h>
#include <tensor/cuda/descriptors.hpp>

namespace framewire::tensor::cuda {

/// Makes the weights of all axes of a batch.
void launch_weights(const BatchDesc& batch, cudaStream_t stream);
/// Upsamples, converts colours and filters along rows, from planes to ImageDesc::middle.
void launch_across(const BatchDesc& batch, cudaStream_t stream);
/// Filters along columns, and writes elements.
void launch_down(const BatchDesc& batch, cudaStream_t stream);

}  // namespace framewire::tensor::cuda
