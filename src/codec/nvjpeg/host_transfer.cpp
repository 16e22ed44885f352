#include <codec/nvjpeg/host_transfer.hpp>
#include <gpu/arena.hpp>
#include <gpu/error.hpp>

namespace framewire::codec::nvjpeg {
namespace {

constexpr std::uint32_t kPadding = 64;  // samples; a multiple of every MCU taken

std::uint32_t padded(std::int32_t size) {
  return (static_cast<std::uint32_t>(size) + kPadding - 1) / kPadding * kPadding;
}

}  // namespace

Result<void> copy_in(const Planes& planes, gpu::Buffer& memory, EncodeItem& item,
                     cudaStream_t stream) {
  gpu::Arena arena;
  std::array<gpu::Slice<std::uint8_t>, jpeg::kMaxComponents> slices{};
  for (std::size_t c = 0; c < planes.planes.size(); ++c) {
    const Plane& plane = planes.planes[c];
    slices[c] = arena.add<std::uint8_t>(
        gpu::Part::kScratch, std::uint64_t{padded(plane.width_px)} * padded(plane.height_px));
  }
  if (auto ok = memory.reserve(gpu::BufferKind::kDevice, arena.total_bytes()); !ok) return ok;
  // Encoders may read the padding, which must not hold an earlier picture.
  if (auto ok =
          gpu::check(cudaMemsetAsync(memory.data(), 0, arena.total_bytes(), stream), "clearing");
      !ok) {
    return ok;
  }
  const gpu::Memory device(memory.data(), arena);
  for (std::size_t c = 0; c < planes.planes.size(); ++c) {
    const Plane& plane = planes.planes[c];
    const auto width = static_cast<std::size_t>(plane.width_px);
    item.planes[c] = {device.at(slices[c]), plane.width_px, plane.height_px,
                      static_cast<std::int32_t>(padded(plane.width_px))};
    auto ok = gpu::check(
        cudaMemcpy2DAsync(item.planes[c].samples, item.planes[c].pitch_bytes, plane.samples.data(),
                          width, width, static_cast<std::size_t>(plane.height_px),
                          cudaMemcpyHostToDevice, stream),
        "copying a plane to the device");
    if (!ok) return ok;
  }
  return {};
}

Result<void> copy_out(const DevicePlane& from, Plane& plane, cudaStream_t stream) {
  plane.width_px = from.width_px;
  plane.height_px = from.height_px;
  plane.samples.resize(sample_count(from));
  return gpu::check(
      cudaMemcpy2DAsync(plane.samples.data(), from.width_px, from.samples, from.pitch_bytes,
                        from.width_px, from.height_px, cudaMemcpyDeviceToHost, stream),
      "copying a plane to the host");
}

}  // namespace framewire::codec::nvjpeg
