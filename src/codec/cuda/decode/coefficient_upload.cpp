#include <codec/cuda/decode/coefficient_upload.hpp>
#include <cstring>

namespace framewire::codec::cuda {
namespace {

constexpr std::size_t kBlockBytes = 64 * sizeof(std::int16_t);

std::uint64_t block_count(const CoefficientPlane& plane) {
  return static_cast<std::uint64_t>(plane.width_blocks) *
         static_cast<std::uint64_t>(plane.height_blocks);
}

template <int N>
void write_corners(const std::int16_t* from, std::uint64_t blocks, std::int16_t* corners,
                   std::int16_t* dc) {
  for (std::uint64_t i = 0; i < blocks; ++i, from += 64) {
    for (int v = 0; v < N; ++v, corners += N) std::memcpy(corners, from + v * 8, N * 2);
    dc[i] = from[0];
  }
}

}  // namespace

std::uint64_t edge_blocks(const CoefficientUpload& upload) {
  return (upload.right_edge ? static_cast<std::uint64_t>(upload.plane->height_blocks) : 0) +
         (upload.bottom_edge ? static_cast<std::uint64_t>(upload.plane->width_blocks) : 0);
}

void place_upload(gpu::Arena& arena, CoefficientUpload& upload) {
  const std::uint64_t blocks = block_count(*upload.plane);
  const auto add = [&](std::uint64_t count) {
    return arena.add<std::int16_t>(gpu::Part::kUploaded, count, gpu::kVectorAlignment);
  };
  upload.corners = add(blocks * upload.corner * upload.corner);
  upload.dc = add(blocks);
  upload.edges = add(edge_blocks(upload) * 64);
}

void write_upload(const CoefficientUpload& upload, const gpu::Memory& host) {
  const CoefficientPlane& plane = *upload.plane;
  const std::int16_t* from = plane.coefficients.data();
  std::int16_t* const corners = host.at(upload.corners);
  std::int16_t* const dc = host.at(upload.dc);
  const std::uint64_t blocks = block_count(plane);
  if (upload.corner == 8) write_corners<8>(from, blocks, corners, dc);
  if (upload.corner == 4) write_corners<4>(from, blocks, corners, dc);
  if (upload.corner == 2) write_corners<2>(from, blocks, corners, dc);
  if (upload.corner == 1) write_corners<1>(from, blocks, corners, dc);
  std::int16_t* edge = host.at(upload.edges);
  const auto width = static_cast<std::size_t>(plane.width_blocks);
  const auto height = static_cast<std::size_t>(plane.height_blocks);
  for (std::size_t y = 0; upload.right_edge && y < height; ++y, edge += 64) {
    std::memcpy(edge, from + ((y + 1) * width - 1) * 64, kBlockBytes);
  }
  if (upload.bottom_edge) std::memcpy(edge, from + (height - 1) * width * 64, width * kBlockBytes);
}

}  // namespace framewire::codec::cuda
