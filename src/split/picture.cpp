#include <split/picture.hpp>

namespace framewire::split {
namespace {

/// Planes begin on a cache line.
constexpr std::uint64_t kAlign_bytes = 64;
/// What the CUDA codec reads and writes.
constexpr std::uint64_t kDevicePitch_bytes = 16;

std::uint64_t align(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

Result<transport::Region> allocate(const Place& place, std::uint64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  return place.devices != nullptr
             ? transport::Region::allocate_device(*place.devices, place.device, size)
             : transport::Region::allocate_host(size);
}

}  // namespace

Result<void> PlaneStack::lay_out(std::span<const codec::PlaneSize> sizes, const Place& place) {
  planes.clear();
  offset_bytes.clear();
  pitch_bytes.clear();
  std::uint64_t total = 0;
  for (const auto& [width, height] : sizes) {
    offset_bytes.push_back(total);
    const std::uint64_t pitch =
        align(static_cast<std::uint64_t>(width), place.devices != nullptr ? kDevicePitch_bytes : 1);
    pitch_bytes.push_back(pitch);
    total += align(pitch * static_cast<std::uint64_t>(height), kAlign_bytes);
  }
  if (memory.size() < total) {
    auto larger = allocate(place, total);
    if (!larger) return fail(larger.error());
    memory = std::move(*larger);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto* samples = reinterpret_cast<std::uint8_t*>(memory.data() + offset_bytes[i]);
    planes.push_back({samples, sizes[i].first, sizes[i].second});
  }
  return {};
}

Stretch stretch_of(const PlaneStack& stack, std::size_t plane, const codec::RowSpan& rows) {
  const std::uint64_t pitch = stack.pitch_bytes[plane];
  return {stack.offset_bytes[plane] + static_cast<std::uint64_t>(rows.first) * pitch,
          static_cast<std::uint64_t>(rows.count) * pitch};
}

std::vector<Stripe> divide(const codec::TurboStages& stages, const plan::Plan& plan,
                           std::size_t count) {
  const auto parts = static_cast<std::int64_t>(count);
  std::vector<Stripe> stripes(count);
  for (std::int64_t part = 0; part < parts; ++part)
    for (int p = 0; p < plan.plane_count; ++p) {
      const std::int64_t height = plan.planes[static_cast<std::size_t>(p)].y.out_size;
      const auto first = static_cast<std::int32_t>(height * part / parts);
      const auto end = static_cast<std::int32_t>(height * (part + 1) / parts);
      PlanePart plane;
      plane.out = {first, end - first};
      if (end > first) plane.in = stages.input_rows(plan, p, plane.out);
      stripes[static_cast<std::size_t>(part)].push_back(plane);
    }
  return stripes;
}

}  // namespace framewire::split
