// How a batch's entropy-coded data is cut up; and its other sources: the host's coefficients,
// planes of somebody else.
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/batch_plan.hpp>

namespace framewire::codec::cuda {
namespace {

/// What a subsequence may find of a block that it did not begin: the largest corner kept.
constexpr std::uint64_t kReducedHeadBytes = 32;
constexpr std::uint64_t kFullHeadBytes = 128;
static_assert(kFullHeadBytes >= sizeof(Paths));
/// Lengths, entries, exits, blocks and segment_of.
constexpr std::uint64_t kStateBytes = 5 * sizeof(std::uint32_t);

}  // namespace

EntropyLayout layout_for(std::span<const Item> items) {
  std::uint64_t bytes = 0;
  for (const Item& item : items) {
    if (!item.planes.empty() || item.coefficients != nullptr) continue;
    for (const jpeg::Scan& scan : item.file->scans) bytes += scan.entropy_bytes;
  }
  return choose_layout(bytes, items.size());
}

std::uint32_t BatchPlan::reserved_subsequences(const ScanDesc& scan, std::uint32_t size) {
  const std::uint32_t slots =
      scan.data_bytes / size + 1 + (scan.has_restarts != 0 ? scan.segment_count : 0);
  constexpr std::uint32_t kWhole = kSpanThreads;
  return base::ceil_div(slots, kWhole) * kWhole;
}

std::uint64_t BatchPlan::head_bytes() const noexcept {
  const std::uint64_t heads = write_tiles[0].empty() ? kReducedHeadBytes : kFullHeadBytes;
  // Paths lie where heads come later.
  return layout_.traced != 0 ? std::max<std::uint64_t>(heads, sizeof(Paths)) : heads;
}

std::uint64_t BatchPlan::shared_growth_bytes(bool among_few) const {
  std::uint64_t growth = 0;
  const std::uint64_t own = column_words(layout_.subsequence_bytes) * 4 + kStateBytes +
                            head_bytes() - (any_restarts ? 0 : sizeof(std::uint32_t));
  for (const ScanDesc& scan : scans) {
    std::uint64_t most = 0;
    for (const auto [size, below_bytes] : kSubsequenceSizes) {
      if (scan.data_bytes >= below_bytes || (size == kLoneSubsequenceBytes && !among_few)) continue;
      most = std::max(most, reserved_subsequences(scan, size) *
                                (column_words(size) * 4 + kStateBytes + kFullHeadBytes));
    }
    growth += most - own * reserved_subsequences(scan, layout_.subsequence_bytes);
  }
  return growth;
}

void BatchPlan::add_upload(const Item& item, std::size_t component, PlaneDesc& plane) {
  const jpeg::Component& geometry = item.file->frame.components[component];
  const plan::Scales& scales = item.plan != nullptr ? item.plan->scales : item.scales;
  CoefficientUpload upload;
  upload.plane = &item.coefficients->components[component];
  upload.corner = static_cast<std::uint32_t>(scales[component]);
  upload.right_edge = upload.corner != 8 && geometry.width_px % 8 != 0;
  upload.bottom_edge = upload.corner != 8 && geometry.height_px % 8 != 0;
  const UploadBytes bytes = upload_bytes(upload);
  upload.corners = data_bytes_;
  upload.dc = upload.corners + bytes.corners;
  upload.edges = upload.dc + bytes.dc;
  data_bytes_ = upload.edges + bytes.edges;
  // As a scan of this component alone would be.
  plane.corner = plane.stored_corner = upload.corner;
  plane.mcu_columns = plane.width_blocks;
  plane.mcu_rows = plane.height_blocks;
  plane.right_edge = upload.right_edge ? 1 : 0;
  plane.bottom_edge = upload.bottom_edge ? 1 : 0;
  plane.coefficients = upload.corners;
  plane.dc = upload.dc;
  plane.edges = upload.edges;
  uploads_.push_back(upload);
}

void BatchPlan::add_external_planes(const Item& item) {
  for (int i = 0; i < item.plan->plane_count; ++i) {
    const int component = item.plan->planes[static_cast<std::size_t>(i)].component;
    const DevicePlane& source = item.planes[static_cast<std::size_t>(component)];
    PlaneDesc plane;
    plane.samples = reinterpret_cast<std::uintptr_t>(source.samples);
    plane.width_px = source.width_px;
    plane.height_px = source.height_px;
    plane.pitch_bytes = source.pitch_bytes;
    planes.push_back(plane);
    origins.push_back(PlaneOrigin::kExternal);
  }
}

}  // namespace framewire::codec::cuda
