#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/reference/encoder.hpp>
#include <jpeg/writer.hpp>

namespace framewire::codec::reference {
namespace {

constexpr int kMaxBlocksPerMcu = 10;  // T.81 B.2.3

int largest(const std::array<std::uint8_t, 4>& factors, const plan::EncodePlan& plan) {
  return *std::max_element(factors.begin(), factors.begin() + plan.component_count);
}

const jpeg::QuantTable& quantiser(const jpeg::QualityTables& tables, const plan::EncodePlan& plan,
                                  std::size_t component) {
  const bool chroma = plan.model == plan::OutputModel::kYcbcr && component > 0;
  return chroma ? tables.chrominance : tables.luminance;
}

Result<void> check_plan(const Planes& planes, const plan::EncodePlan& plan) {
  const auto count = static_cast<std::size_t>(plan.component_count);
  int blocks = 0;
  bool fits = count >= 1 && count <= jpeg::kMaxComponents && planes.planes.size() == count;
  for (std::size_t i = 0; fits && i < count; ++i) {
    const Plane& plane = planes.planes[i];
    const std::int32_t width = base::ceil_div(plan.width_px * plan.h[i], largest(plan.h, plan));
    const std::int32_t height = base::ceil_div(plan.height_px * plan.v[i], largest(plan.v, plan));
    fits = width > 0 && height > 0 && plane.width_px == width && plane.height_px == height &&
           plane.samples.size() == static_cast<std::size_t>(width) * height;
    blocks += plan.h[i] * plan.v[i];
  }
  if (!fits || (count > 1 && blocks > kMaxBlocksPerMcu)) {
    return fail(StatusCode::kInternal, "the planes to encode do not fit the plan");
  }
  return {};
}

}  // namespace

Result<std::vector<TransformedPlane>> transform_planes(const Planes& planes,
                                                       const plan::EncodePlan& plan) {
  if (auto ok = check_plan(planes, plan); !ok) return fail(std::move(ok.error()));
  const bool interleaved = plan.component_count > 1;
  std::vector<TransformedPlane> out;
  for (std::size_t i = 0; i < planes.planes.size(); ++i) {
    const Plane& plane = planes.planes[i];
    std::int32_t width = base::ceil_div(plane.width_px, jpeg::kBlockSide);
    std::int32_t height = base::ceil_div(plane.height_px, jpeg::kBlockSide);
    if (interleaved) {
      width = base::ceil_div(plan.width_px, 8 * largest(plan.h, plan)) * plan.h[i];
      height = base::ceil_div(plan.height_px, 8 * largest(plan.v, plan)) * plan.v[i];
    }
    out.push_back(transform_plane(plane, width, height));
  }
  return out;
}

PaddedCoefficients quantise_planes(const std::vector<TransformedPlane>& planes,
                                   const plan::EncodePlan& plan, int quality) {
  const jpeg::QualityTables tables = jpeg::quality_tables(quality);
  PaddedCoefficients out;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    out.components.push_back(quantise_plane(planes[i], quantiser(tables, plan, i)));
  }
  return out;
}

Result<void> encode_planes(const Planes& planes, const plan::EncodePlan& plan,
                           const Context& context, std::vector<std::uint8_t>& out,
                           CodecOutcome& outcome) {
  if (plan.progressive) {
    return fail(StatusCode::kUnsupported,
                "the reference codec writes sequential files; progressive was asked for");
  }
  auto transformed = transform_planes(planes, plan);
  if (!transformed) return fail(std::move(transformed.error()));
  const std::size_t head = out.size();
  const auto fits = [&] { return plan.max_bytes == 0 || out.size() <= plan.max_bytes; };
  const auto write = [&](int quality) {
    out.resize(head);
    write_stream(quantise_planes(*transformed, plan, quality), plan, quality, out);
    outcome.quality = quality;
  };
  write(plan.quality);
  int low = 1;  // bisection between here and high; `best` is the highest known to fit
  int high = fits() ? 0 : plan.quality - 1;
  int best = fits() ? plan.quality : 0;
  while (low <= high) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "time ran out while lowering the quality");
    }
    const int middle = (low + high) / 2;
    write(middle);
    if (fits()) {
      best = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  if (const int wanted = std::max(best, 1); wanted != outcome.quality) write(wanted);
  if (best == 0) {
    warn_once(outcome.warnings, WarningKind::kMaxBytesMissed,
              fmt::format("{} bytes at quality {}; {} were allowed", out.size(), outcome.quality,
                          plan.max_bytes),
              std::nullopt);
  }
  return {};
}

}  // namespace framewire::codec::reference
