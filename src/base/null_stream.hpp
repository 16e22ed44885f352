// What is said where a caller's stream is null.
#pragma once

#include <framewire/cuda_stream.hpp>
#include <framewire/status.hpp>

namespace framewire::base {

[[nodiscard]] inline tl::unexpected<Status> null_stream() {
  return fail(Status(StatusCode::kInvalidInput,
                     "it is null; CudaStream::legacy_default() names CUDA's default stream")
                  .about("stream"));
}

}  // namespace framewire::base
