// Planes of 8-bit samples in device memory: as they are planned, and as kernels see them.
#pragma once

#include <cstdint>
#include <gpu/arena.hpp>

namespace framewire::codec::cuda {

/// What kernels read and write.
struct SampleView {
  std::uint8_t* samples = nullptr;
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;  ///< a multiple of 16
};

/// A plane in the batch's memory, or in somebody else's.
struct Samples {
  gpu::Slice<std::uint8_t> slice{};
  std::uint8_t* external = nullptr;  ///< not null: instead of the slice
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;

  [[nodiscard]] SampleView resolve(const gpu::Memory& device) const noexcept {
    std::uint8_t* const at = external != nullptr ? external : device.at_or_null(slice);
    return {at, width_px, height_px, pitch_bytes};
  }
};

/// Plans memory for a plane and for what kernels read behind its last row.
[[nodiscard]] inline Samples make_plane(gpu::Arena& arena, std::uint32_t width_px,
                                        std::uint32_t height_px) {
  constexpr std::uint64_t kGuardBytes = 64;
  const std::uint32_t pitch_bytes = (width_px + 15) / 16 * 16;
  const std::uint64_t bytes = std::uint64_t{pitch_bytes} * height_px + kGuardBytes;
  return {arena.add<std::uint8_t>(gpu::Part::kLate, bytes), nullptr, width_px, height_px,
          pitch_bytes};
}

}  // namespace framewire::codec::cuda
