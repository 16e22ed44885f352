// What the stages of a batch are enqueued with.
#pragma once

#include <codec/cuda/timeline.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/stream.hpp>

namespace framewire::codec::cuda {

struct StageRun {
  const gpu::Memory& memory;  ///< of the batch, on the device
  std::uint32_t* status;      ///< device, [images]: StatusBit
  const gpu::Stream& stream;
  Timeline& timeline;
};

}  // namespace framewire::codec::cuda
