#include <algorithm>
#include <split/picture.hpp>

namespace framewire::split {
namespace {

/// Planes begin on a cache line.
constexpr std::uint64_t kAlign_bytes = 64;
/// Pitches that the CUDA codec reads and writes are multiples of this.
constexpr std::uint64_t kDevicePitch_bytes = 16;

std::uint64_t align(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// size_of(plane, part) for every part in a worker's parcel.
template <typename SizeOf>
std::vector<codec::PlaneSize> sizes_of(const Group& group, std::size_t worker, SizeOf size_of) {
  std::vector<codec::PlaneSize> sizes;
  for_each_part(group, worker,
                [&](std::size_t i, std::size_t p, const PlanePart& part, std::size_t) {
                  sizes.push_back(size_of(group.pictures[i]->request.plan.planes[p], part));
                });
  return sizes;
}

}  // namespace

Result<void> PlaneStack::lay_out(std::span<const codec::PlaneSize> sizes,
                                 const MemoryPlace& place) {
  const bool on_gpu = place.devices != nullptr;
  planes.clear();
  pitch_bytes.clear();
  bytes = 0;
  std::vector<std::uint64_t> offset_bytes;
  for (const auto& [width, height] : sizes) {
    offset_bytes.push_back(bytes);
    const auto pitch = align(static_cast<std::uint64_t>(width), on_gpu ? kDevicePitch_bytes : 1);
    pitch_bytes.push_back(pitch);
    bytes += align(pitch * static_cast<std::uint64_t>(height), kAlign_bytes);
  }
  if (memory.size() < bytes) {
    // An allocation stops the GPU, so a quarter more is taken: it serves groups of similar size.
    auto larger = place.allocate(static_cast<std::size_t>(on_gpu ? bytes + bytes / 4 : bytes));
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
  for (std::int64_t part = 0; part < parts; ++part) {
    for (int p = 0; p < plan.plane_count; ++p) {
      const std::int64_t height = plan.planes[static_cast<std::size_t>(p)].y.out_size;
      const auto first = static_cast<std::int32_t>(height * part / parts);
      const auto end = static_cast<std::int32_t>(height * (part + 1) / parts);
      PlanePart plane;
      plane.out = {first, end - first};
      if (end > first) plane.in = stages.input_rows(plan, p, plane.out);
      stripes[static_cast<std::size_t>(part)].push_back(plane);
    }
  }
  return stripes;
}

bool is_empty(const Stripe& stripe) {
  return std::all_of(stripe.begin(), stripe.end(),
                     [](const PlanePart& part) { return part.out.count == 0; });
}

std::vector<codec::PlaneSize> decoded_rows(const Group& group, std::size_t worker) {
  return sizes_of(group, worker, [](const plan::PlanePlan& plane, const PlanePart& part) {
    return codec::PlaneSize{plane.x.in_size, part.in.count};
  });
}

std::vector<codec::PlaneSize> resampled_rows(const Group& group, std::size_t worker) {
  return sizes_of(group, worker, [](const plan::PlanePlan& plane, const PlanePart& part) {
    return codec::PlaneSize{plane.x.out_size, part.out.count};
  });
}

}  // namespace framewire::split
