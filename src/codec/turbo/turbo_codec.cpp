#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/attempt.hpp>
#include <codec/turbo/decoder.hpp>
#include <codec/turbo/encoder.hpp>
#include <codec/turbo/fixed_filter.hpp>
#include <codec/turbo/plane_sinks.hpp>
#include <codec/turbo/post_process.hpp>
#include <codec/turbo/row_resampler.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <exception>
#include <new>
#include <numeric>

namespace framewire::codec {
namespace {

using namespace turbo;

/// Up to so many pixels an output's planes are kept whole, so that max_bytes and post-processing
/// see them. Above, rows stream into the encoder wherever the plan allows it.
constexpr std::int64_t kStreamAbovePixels = 4'000'000;

using PlaneSizes = std::vector<std::pair<std::int32_t, std::int32_t>>;

void append(std::vector<Warning>& to, std::vector<Warning> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

class TurboCodec final : public Codec {
 public:
  explicit TurboCodec(EntropyDecoder entropy) : entropy_(entropy) {}

  CodecKind kind() const noexcept override { return CodecKind::kTurbo; }
  plan::Capabilities capabilities() const noexcept override { return {}; }
  base::CacheUse filters() const override { return filters_.use(); }

  Result<Planes> decode(const jpeg::JpegFile& file, const plan::Scales& scales,
                        const Context& context, CodecOutcome& outcome) const override try {
    return attempt(
        entropy_, [&](Attempt& now) { return decode_planes(file, scales, context, outcome, now); });
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "no memory to decode");
  }

  Result<void> encode(const Planes& planes, const plan::EncodePlan& plan, const Context& context,
                      std::vector<std::uint8_t>& out, CodecOutcome& outcome) const override try {
    const auto start = base::Clock::now();
    auto done = encode_to_fit(planes, plan, context, out, outcome);
    outcome.encode_us = base::elapsed_us(start);
    return done;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "no memory to encode");
  }

  Result<void> transcode(const jpeg::JpegFile& file, const plan::Plan& plan, const Context& context,
                         std::vector<std::uint8_t>& out, CodecOutcome& outcome) const override try {
    const auto pixels = static_cast<std::int64_t>(plan.encode.width_px) * plan.encode.height_px;
    if (pixels > kStreamAbovePixels && plan.encode.max_bytes == 0 && !needs_post_process(plan)) {
      return stream(file, plan, context, out, outcome);
    }
    const auto start = base::Clock::now();
    auto planes = attempt(entropy_, [&](Attempt& now) -> Result<Planes> {
      PlaneSink sink(output_sizes(plan));
      auto ok = resample(file, plan, context, sink, outcome, now);
      if (!ok) return fail(ok.error());
      return std::move(sink).take();
    });
    if (!planes) return fail(planes.error());
    const auto finished = post_process(std::move(*planes), plan, context.deadline);
    if (!finished) return fail(finished.error());
    outcome.decode_resample_us = base::elapsed_us(start);
    return encode(*finished, plan.encode, context, out, outcome);
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "no memory to resize");
  }

 private:
  static Result<Planes> decode_planes(const jpeg::JpegFile& file, const plan::Scales& scales,
                                      const Context& context, CodecOutcome& outcome, Attempt& now) {
    std::vector<int> wanted(static_cast<std::size_t>(file.frame.component_count));
    std::iota(wanted.begin(), wanted.end(), 0);
    auto decoder = Decoder::open(file, scales, wanted, context, now);
    if (!decoder) return fail(decoder.error());
    PlaneSizes sizes;
    for (const int c : wanted) {
      const auto at = static_cast<std::size_t>(c);
      const jpeg::Component& component = file.frame.components[at];
      sizes.emplace_back(base::ceil_div(component.width_px * scales[at], 8),
                         base::ceil_div(component.height_px * scales[at], 8));
    }
    PlaneSink sink(sizes);
    for (;;) {
      const auto more = (*decoder)->read();
      if (!more) return fail(more.error());
      if (!*more) break;
      for (const int c : wanted) {
        for (const std::uint8_t* row : (*decoder)->band(c).rows) sink.row(c, row);
      }
    }
    auto warnings = (*decoder)->check_rest();
    if (!warnings) return fail(warnings.error());
    append(outcome.warnings, std::move(*warnings));
    return std::move(sink).take();
  }

  /// Passes rows straight from the resampler to the encoder; memory stays at a few bands.
  Result<void> stream(const jpeg::JpegFile& file, const plan::Plan& plan, const Context& context,
                      std::vector<std::uint8_t>& out, CodecOutcome& outcome) const {
    const auto start = base::Clock::now();
    const std::size_t head = out.size();
    auto done = attempt(entropy_, [&](Attempt& now) -> Result<void> {
      out.resize(head);
      auto encoder = Encoder::open(plan.encode, context, out);
      if (!encoder) return fail(encoder.error());
      if (auto ok = resample(file, plan, context, **encoder, outcome, now); !ok) return ok;
      return (*encoder)->close();
    });
    outcome.quality = plan.encode.quality;
    outcome.decode_resample_us = base::elapsed_us(start);
    return done;
  }

  Result<void> resample(const jpeg::JpegFile& file, const plan::Plan& plan, const Context& context,
                        RowSink& sink, CodecOutcome& outcome, Attempt& now) const {
    if (plan.color_path == plan::ColorPath::kPlanar) {
      return resample_planes(file, plan, context, sink, outcome, now);
    }
    if (context.converter == nullptr) {
      return fail(StatusCode::kInternal, "the plan converts colour, but no converter was given");
    }
    ConvertSink convert(plan, *context.converter, sink);
    return resample_planes(file, plan, context, convert, outcome, now);
  }

  Result<void> resample_planes(const jpeg::JpegFile& file, const plan::Plan& plan,
                               const Context& context, RowSink& sink, CodecOutcome& outcome,
                               Attempt& now) const {
    std::vector<RowResampler> resamplers;
    std::vector<int> wanted;
    for (int i = 0; i < plan.plane_count; ++i) {
      const plan::PlanePlan& plane = plan.planes[static_cast<std::size_t>(i)];
      resamplers.emplace_back(i, filters_.get(plan.kernel, plane.x),
                              filters_.get(plan.kernel, plane.y));
      wanted.push_back(plane.component);
    }
    auto decoder = Decoder::open(file, plan.scales, wanted, context, now);
    if (!decoder) return fail(decoder.error());
    const auto all_done = [&] {
      return std::all_of(resamplers.begin(), resamplers.end(),
                         [](const RowResampler& r) { return r.done(); });
    };
    // Strict reading goes to the end of the data: a fault below the rows in use is a fault.
    while (context.strict || !all_done()) {
      const auto more = (*decoder)->read();
      if (!more) return fail(more.error());
      if (!*more) break;
      for (std::size_t i = 0; i < resamplers.size(); ++i) {
        for (const std::uint8_t* row : (*decoder)->band(wanted[i]).rows) {
          resamplers[i].push(row, sink);
        }
      }
    }
    auto warnings = (*decoder)->check_rest();
    if (!warnings) return fail(warnings.error());
    append(outcome.warnings, std::move(*warnings));
    if (!all_done()) {
      return fail(StatusCode::kInternal, "the decoder delivered fewer rows than planned");
    }
    return {};
  }

  static Result<void> encode_once(const Planes& planes, const plan::EncodePlan& plan,
                                  const Context& context, std::vector<std::uint8_t>& out) {
    auto encoder = Encoder::open(plan, context, out);
    if (!encoder) return fail(encoder.error());
    const std::int32_t height = planes.planes[0].height_px;
    std::vector<std::int32_t> next(planes.planes.size(), 0);
    for (std::int32_t y = 0; y < height; ++y) {
      for (std::size_t c = 0; c < planes.planes.size(); ++c) {
        const Plane& p = planes.planes[c];
        const auto due =
            static_cast<std::int32_t>((static_cast<std::int64_t>(y) + 1) * p.height_px / height);
        for (; next[c] < (y + 1 == height ? p.height_px : due); ++next[c]) {
          (*encoder)->row(static_cast<int>(c),
                          p.samples.data() + static_cast<std::size_t>(next[c]) * p.width_px);
        }
      }
    }
    return (*encoder)->close();
  }

  static Result<void> check_planes(const Planes& planes, const plan::EncodePlan& plan) {
    bool fits = planes.planes.size() == static_cast<std::size_t>(plan.component_count);
    for (std::size_t c = 0; fits && c < planes.planes.size(); ++c) {
      const Plane& p = planes.planes[c];
      fits = p.width_px == base::ceil_div(plan.width_px * plan.h[c], std::int32_t{plan.h[0]}) &&
             p.height_px == base::ceil_div(plan.height_px * plan.v[c], std::int32_t{plan.v[0]}) &&
             p.samples.size() == static_cast<std::size_t>(p.width_px) * p.height_px;
    }
    if (!fits) return fail(StatusCode::kInternal, "planes do not fit the encode plan");
    return {};
  }

  /// Encodes once, or under max_bytes by bisection at the highest quality that fits.
  static Result<void> encode_to_fit(const Planes& planes, plan::EncodePlan plan,
                                    const Context& context, std::vector<std::uint8_t>& out,
                                    CodecOutcome& outcome) {
    if (auto ok = check_planes(planes, plan); !ok) return ok;
    const std::size_t head = out.size();
    const auto fits = [&] { return plan.max_bytes == 0 || out.size() <= plan.max_bytes; };
    if (auto ok = encode_once(planes, plan, context, out); !ok) return ok;
    outcome.quality = plan.quality;
    if (fits()) return {};
    std::vector<std::uint8_t> best;
    int low = 1, high = plan.quality - 1;
    while (low <= high) {
      plan.quality = (low + high) / 2;
      out.resize(head);
      if (auto ok = encode_once(planes, plan, context, out); !ok) return ok;
      if (fits()) {
        best = out;
        outcome.quality = plan.quality;
        low = plan.quality + 1;
      } else {
        high = plan.quality - 1;
      }
    }
    if (!best.empty()) {
      out = std::move(best);
      return {};
    }
    outcome.quality = 1;
    if (plan.quality != 1) {
      plan.quality = 1;
      out.resize(head);
      if (auto ok = encode_once(planes, plan, context, out); !ok) return ok;
    }
    outcome.warnings.push_back({WarningKind::kMaxBytesMissed,
                                "even quality 1 does not fit max-bytes; quality 1 was written",
                                {}});
    return {};
  }

  EntropyDecoder entropy_;
  mutable FixedFilterCache filters_;
};

}  // namespace

std::unique_ptr<Codec> make_turbo_codec() { return make_turbo_codec_with(EntropyDecoder::kOwn); }

std::unique_ptr<Codec> make_turbo_codec_with(EntropyDecoder entropy) {
  return std::make_unique<TurboCodec>(entropy);
}

}  // namespace framewire::codec
