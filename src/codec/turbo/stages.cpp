#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/attempt.hpp>
#include <codec/turbo/decoder.hpp>
#include <codec/turbo/plane_sinks.hpp>
#include <codec/turbo/post_process.hpp>
#include <codec/turbo/row_resampler.hpp>
#include <codec/turbo/stages.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <cstring>
#include <new>

namespace framewire::codec {
namespace {

using namespace turbo;

std::size_t count_of(const plan::Plan& plan) { return static_cast<std::size_t>(plan.plane_count); }

/// Writes rows one behind the other.
class RowWriter final : public RowSink {
 public:
  RowWriter(std::uint8_t* to, std::size_t pitch) : to_(to), pitch_(pitch) {}
  void row(int, const std::uint8_t* samples) override {
    std::memcpy(to_, samples, pitch_);
    to_ += pitch_;
  }

 private:
  std::uint8_t* to_;
  std::size_t pitch_;
};

/// Gives every row of every plane to a sink, plane by plane alternately, so that the sink need not
/// hold more than a few rows of one plane until the others catch up.
void push_rows(std::span<const PlaneView> planes, RowSink& sink) {
  std::vector<std::int32_t> next(planes.size(), 0);
  const std::int64_t height = planes[0].height_px;
  for (std::int64_t y = 1; y <= height; ++y) {
    for (std::size_t c = 0; c < planes.size(); ++c) {
      const PlaneView& p = planes[c];
      for (const auto due = static_cast<std::int32_t>(y * p.height_px / height); next[c] < due;
           ++next[c]) {
        sink.row(static_cast<int>(c), p.samples + static_cast<std::size_t>(next[c]) * p.width_px);
      }
    }
  }
}

Result<void> decode_rows(const jpeg::JpegFile& file, const plan::Plan& plan, const Context& context,
                         std::span<const PlaneView> planes, std::span<const std::int32_t> needed,
                         CodecOutcome& outcome, Attempt& now) {
  std::vector<int> wanted;
  for (std::size_t i = 0; i < count_of(plan); ++i) wanted.push_back(plan.planes[i].component);
  auto decoder = Decoder::open(file, plan.scales, wanted, context, now);
  if (!decoder) return fail(decoder.error());
  std::vector<std::int32_t> rows(planes.size(), 0);
  const auto all_there = [&] {
    return std::equal(rows.begin(), rows.end(), needed.begin(), std::greater_equal<>());
  };
  // Strict reading goes to the end of the data: a fault below the rows in use is a fault.
  while (context.strict || !all_there()) {
    const auto more = (*decoder)->read();
    if (!more) return fail(more.error());
    if (!*more) break;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      const auto width = static_cast<std::size_t>(planes[i].width_px);
      for (const std::uint8_t* row : (*decoder)->band(wanted[i]).rows) {
        if (rows[i] == planes[i].height_px) break;
        std::memcpy(planes[i].samples + static_cast<std::size_t>(rows[i]++) * width, row, width);
      }
    }
  }
  const auto found = (*decoder)->check_rest();
  if (!found) return fail(found.error());
  outcome.warnings.insert(outcome.warnings.end(), found->begin(), found->end());
  if (!all_there()) {
    return fail(StatusCode::kInternal, "the decoder delivered fewer rows than planned");
  }
  return {};
}

}  // namespace

std::vector<PlaneSize> decoded_sizes(const jpeg::JpegFile& file, const plan::Plan& plan) {
  std::vector<PlaneSize> sizes;
  for (std::size_t i = 0; i < count_of(plan); ++i) {
    const auto at = static_cast<std::size_t>(plan.planes[i].component);
    const jpeg::Component& component = file.frame.components[at];
    sizes.emplace_back(base::ceil_div(component.width_px * plan.scales[at], 8),
                       base::ceil_div(component.height_px * plan.scales[at], 8));
  }
  return sizes;
}

std::vector<PlaneSize> resampled_sizes(const plan::Plan& plan) {
  std::vector<PlaneSize> sizes;
  for (std::size_t i = 0; i < count_of(plan); ++i) {
    sizes.emplace_back(plan.planes[i].x.out_size, plan.planes[i].y.out_size);
  }
  return sizes;
}

std::unique_ptr<Codec> TurboStages::make_codec() { return make_turbo_codec(); }

Result<void> TurboStages::decode(const jpeg::JpegFile& file, const plan::Plan& plan,
                                 const Context& context, std::span<const PlaneView> planes,
                                 CodecOutcome& outcome) const try {
  std::vector<std::int32_t> needed;
  for (int i = 0; i < plan.plane_count; ++i) {
    const RowSpan used =
        input_rows(plan, i, {0, plan.planes[static_cast<std::size_t>(i)].y.out_size});
    needed.push_back(used.first + used.count);
  }
  const auto start = base::Clock::now();
  auto done = attempt(EntropyDecoder::kOwn, [&](Attempt& now) {
    return decode_rows(file, plan, context, planes, needed, outcome, now);
  });
  outcome.decode_resample_us = base::elapsed_us(start);
  return done;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "no memory to decode");
}

RowSpan TurboStages::input_rows(const plan::Plan& plan, int plane, RowSpan rows) const {
  const auto filter = filters_.get(plan.kernel, plan.planes[static_cast<std::size_t>(plane)].y);
  std::int32_t first = filter->in_size;
  std::int32_t end = 0;
  for (std::int32_t j = rows.first; j < rows.first + rows.count; ++j) {
    const auto at = static_cast<std::size_t>(j);
    first = std::min(first, filter->first[at]);
    end = std::max(end, filter->first[at] + filter->count[at]);
  }
  return {first, end - first};
}

void TurboStages::resample(const plan::Plan& plan, int plane, RowSpan rows, const std::uint8_t* in,
                           std::uint8_t* out) const {
  const plan::PlanePlan& p = plan.planes[static_cast<std::size_t>(plane)];
  const RowSpan used = input_rows(plan, plane, rows);
  const auto y = std::make_shared<const FixedFilter>(
      part_of(*filters_.get(plan.kernel, p.y), rows.first, rows.count, used.first, used.count));
  RowResampler resampler(plane, filters_.get(plan.kernel, p.x), y);
  RowWriter writer(out, static_cast<std::size_t>(p.x.out_size));
  for (std::int32_t row = 0; row < used.count; ++row) {
    resampler.push(in + static_cast<std::size_t>(row) * p.x.in_size, writer);
  }
}

Result<Planes> TurboStages::post_process(const plan::Plan& plan, const Context& context,
                                         std::span<const PlaneView> planes) const try {
  PlaneSink whole(output_sizes(plan));
  if (plan.color_path == plan::ColorPath::kPlanar) {
    push_rows(planes, whole);
  } else if (context.converter == nullptr) {
    return fail(StatusCode::kInternal, "the plan converts colour, but no converter was given");
  } else {
    ConvertSink convert(plan, *context.converter, whole);
    push_rows(planes, convert);
  }
  return turbo::post_process(std::move(whole).take(), plan, context.deadline);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "no memory for the output's planes");
}

}  // namespace framewire::codec
