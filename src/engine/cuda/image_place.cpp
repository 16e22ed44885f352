#include <fmt/format.h>
#include <codec/cuda/samples.hpp>
#include <engine/cuda/image_place.hpp>
#include <gpu/arena.hpp>
#include <gpu/device.hpp>

namespace framewire::engine {
namespace {

tl::unexpected<Status> bad_plane(StatusCode code, std::size_t plane, std::string what) {
  return fail(Status(code, std::move(what)).about(fmt::format("plane {}", plane)));
}

Result<void> check_target(const DevicePlaneShape& shape, const DevicePlaneTarget& target,
                          std::size_t plane, int device) {
  if (target.samples == nullptr) {
    return bad_plane(StatusCode::kInvalidInput, plane, "the memory for it is null");
  }
  const std::uint64_t needed =
      static_cast<std::uint64_t>(shape.height_px - 1) *
          static_cast<std::uint64_t>(std::max(target.pitch_bytes, shape.width_px)) +
      static_cast<std::uint64_t>(shape.width_px);
  if (target.pitch_bytes < shape.width_px || target.bytes < needed) {
    return bad_plane(
        StatusCode::kTooLarge, plane,
        fmt::format("{}x{} samples need a pitch of {} bytes and {} bytes; found {} and {}",
                    shape.width_px, shape.height_px, std::max(target.pitch_bytes, shape.width_px),
                    needed, target.pitch_bytes, target.bytes));
  }
  const auto found = gpu::device_of(target.samples);
  if (!found) return fail(found.error());
  if (*found == device) return {};
  return bad_plane(StatusCode::kInvalidInput, plane,
                   *found < 0 ? fmt::format("the memory for it is not of a device; this decoder's "
                                            "is {}",
                                            device)
                              : fmt::format("the memory for it is of device {}; this decoder's is "
                                            "{}",
                                            *found, device));
}

/// Whether whole blocks may be written there.
bool takes_blocks(const DevicePlaneShape& shape, const DevicePlaneTarget& target) {
  return reinterpret_cast<std::uintptr_t>(target.samples) % 16 == 0 &&
         target.pitch_bytes % 16 == 0 && target.pitch_bytes >= shape.whole_width_px &&
         target.bytes / static_cast<std::uint64_t>(target.pitch_bytes) >=
             static_cast<std::uint64_t>(shape.whole_height_px);
}

}  // namespace

Result<ImagePlace> place_in_pool(const DeviceImageShape& shape, ImagePool& pool,
                                 const gpu::Stream& stream) {
  ImagePlace place;
  place.component_count = shape.component_count;
  const auto count = static_cast<std::size_t>(shape.component_count);
  gpu::Arena arena;
  std::array<codec::cuda::Samples, 4> planned{};
  for (std::size_t c = 0; c < count; ++c) {
    planned[c] =
        codec::cuda::make_plane(arena, static_cast<std::uint32_t>(shape.planes[c].whole_width_px),
                                static_cast<std::uint32_t>(shape.planes[c].whole_height_px));
  }
  auto block = pool.take(arena.total_bytes(), stream);
  if (!block) return fail(block.error());
  place.block = std::move(*block);
  const gpu::Memory memory(place.block->data(), arena);
  for (std::size_t c = 0; c < count; ++c) {
    place.planes[c] = {memory.at(planned[c].slice), shape.planes[c].width_px,
                       shape.planes[c].height_px,
                       static_cast<std::int32_t>(planned[c].pitch_bytes)};
    place.direct[c] = place.planes[c];
  }
  return place;
}

Result<ImagePlace> place_at(const DeviceImageShape& shape,
                            std::span<const DevicePlaneTarget> targets, int device) {
  ImagePlace place;
  place.component_count = shape.component_count;
  const auto count = static_cast<std::size_t>(shape.component_count);
  if (targets.size() != count) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("found memory for {} planes; the file has {}", targets.size(), count));
  }
  for (std::size_t c = 0; c < count; ++c) {
    const DevicePlaneShape& wanted = shape.planes[c];
    const DevicePlaneTarget& target = targets[c];
    if (auto ok = check_target(wanted, target, c, device); !ok) return fail(ok.error());
    place.planes[c] = {target.samples, wanted.width_px, wanted.height_px, target.pitch_bytes};
    if (takes_blocks(wanted, target)) place.direct[c] = place.planes[c];
  }
  return place;
}

}  // namespace framewire::engine
