#include <split/picture.hpp>

namespace framewire::split {
namespace {

/// Planes begin on a cache line.
constexpr std::uint64_t kAlign_bytes = 64;

}  // namespace

Result<void> PlaneStack::lay_out(std::span<const codec::PlaneSize> sizes) {
  planes.clear();
  offset_bytes.clear();
  std::uint64_t total = 0;
  for (const auto& [width, height] : sizes) {
    offset_bytes.push_back(total);
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
    total += (bytes + kAlign_bytes - 1) / kAlign_bytes * kAlign_bytes;
  }
  if (memory.size() < total) {
    auto larger = transport::Region::allocate_host(static_cast<std::size_t>(total));
    if (!larger) return fail(larger.error());
    memory = std::move(*larger);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto* samples = reinterpret_cast<std::uint8_t*>(memory.data() + offset_bytes[i]);
    planes.push_back({samples, sizes[i].first, sizes[i].second});
  }
  return {};
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
