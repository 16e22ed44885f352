// What the transcoders of one device share.
#pragma once

#include <codec/cuda/decode/entropy_load.hpp>
#include <gpu/copy_streams.hpp>
#include <gpu/memory_pool.hpp>
#include <gpu/pinned_blocks.hpp>
#include <memory>

namespace framewire::codec::cuda {

/// Each may be null: a transcoder then works as if it were alone.
struct DeviceShared {
  std::shared_ptr<EntropyLoad> load;
  std::shared_ptr<gpu::CopyStreams> copies;       ///< of inputs that lie in pinned memory
  std::shared_ptr<const gpu::MemoryPool> memory;  ///< of batches
  std::shared_ptr<gpu::PinnedBlocks> pinned;      ///< likewise, on the host
};

}  // namespace framewire::codec::cuda
