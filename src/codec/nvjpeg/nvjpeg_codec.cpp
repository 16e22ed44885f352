#include <base/checked.hpp>
#include <codec/nvjpeg/host_transfer.hpp>
#include <codec/nvjpeg/nvjpeg_codec.hpp>
#include <gpu/stream.hpp>
#include <jpeg/body.hpp>
#include <mutex>
#include <new>
#include <optional>

namespace framewire::codec {
namespace {

using nvjpeg::NvjpegDecoder;
using nvjpeg::NvjpegEncoder;

/// What one call at a time needs on the device.
struct CallState {
  gpu::Stream stream;
  std::optional<NvjpegDecoder> decoder;  ///< made when first wanted: it takes tens of milliseconds
  std::optional<NvjpegEncoder> encoder;
  gpu::Buffer planes;
};

Result<void> check_planes(const Planes& planes, const plan::EncodePlan& plan) {
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

Result<void> check_time(const Context& context) {
  if (!context.deadline.passed()) return {};
  return fail(StatusCode::kDeadline, "the time allowed ran out before nvJPEG was called");
}

/// Encodes the planes of `item` once, from DQT to EOI.
Result<std::vector<std::uint8_t>> encode_once(CallState& state, nvjpeg::EncodeItem item,
                                              const plan::EncodePlan& plan) {
  item.plan = &plan;
  if (auto ok = state.encoder->enqueue({&item, 1}, state.stream.get()); !ok) {
    return fail(ok.error());
  }
  if (auto ok = state.encoder->wait(); !ok) return fail(ok.error());
  std::vector<std::uint8_t> body;
  if (auto ok = jpeg::append_body(state.encoder->stream(0), body); !ok) {
    return fail(StatusCode::kInternal, "nvJPEG wrote " + ok.error().message());
  }
  return body;
}

/// Encodes at the highest quality, up to the plan's, at which `head_bytes` and the body are within
/// max_bytes.
Result<std::vector<std::uint8_t>> encode_to_fit(CallState& state, const nvjpeg::EncodeItem& item,
                                                plan::EncodePlan plan, const Context& context,
                                                std::size_t head_bytes, CodecOutcome& outcome) {
  const std::uint64_t limit = std::exchange(plan.max_bytes, 0);
  const auto fits = [&](const auto& body) { return head_bytes + body.size() <= limit; };
  outcome.quality = plan.quality;
  auto best = encode_once(state, item, plan);
  if (!best || limit == 0 || fits(*best)) return best;
  int low = 1;
  int high = plan.quality - 1;
  outcome.quality = 1;
  plan.quality = 1;
  best = encode_once(state, item, plan);
  if (!best) return best;
  if (!fits(*best)) {
    outcome.warnings.push_back({WarningKind::kMaxBytesMissed,
                                "even quality 1 does not fit max-bytes; quality 1 was written",
                                {}});
    return best;
  }
  while (low < high) {
    if (auto ok = check_time(context); !ok) return fail(ok.error());
    plan.quality = (low + high + 1) / 2;
    auto body = encode_once(state, item, plan);
    if (!body) return body;
    if (fits(*body)) {
      best = std::move(body);
      outcome.quality = low = plan.quality;
    } else {
      high = plan.quality - 1;
    }
  }
  return best;
}

class NvjpegCodec final : public Codec {
 public:
  explicit NvjpegCodec(nvjpeg::Backend backend) : backend_(backend) {}

  CodecKind kind() const noexcept override { return CodecKind::kNvjpeg; }
  plan::Capabilities capabilities() const noexcept override { return {.scaled_decode = false}; }

  Result<Planes> decode(const jpeg::JpegFile& file, const plan::Scales& scales,
                        const Context& context, CodecOutcome& outcome) const override try {
    if (scales != plan::kFullScale) {
      return fail(StatusCode::kUnsupported, "nvJPEG decodes at full size only");
    }
    if (context.strict) {
      return fail(StatusCode::kUnsupported, "nvJPEG tells of no damage, as strict would need");
    }
    if (auto ok = check_time(context); !ok) return fail(ok.error());
    const auto start = base::Clock::now();
    auto planes = with_state([&](CallState& state) { return decode_on(state, file); });
    outcome.decode_resample_us = base::elapsed_us(start);
    return planes;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "no memory for nvJPEG's planes");
  }

  Result<void> encode(const Planes& planes, const plan::EncodePlan& plan, const Context& context,
                      std::vector<std::uint8_t>& out, CodecOutcome& outcome) const override try {
    if (auto ok = check_planes(planes, plan); !ok) return ok;
    plan::EncodePlan unbounded = plan;
    unbounded.max_bytes = 0;
    if (auto ok = NvjpegEncoder::check(unbounded); !ok) return ok;
    if (auto ok = check_time(context); !ok) return ok;
    const auto start = base::Clock::now();
    auto body = with_state([&](CallState& state) -> Result<std::vector<std::uint8_t>> {
      if (auto ok = make_if_missing(state.encoder, [] { return NvjpegEncoder::make(); }); !ok) {
        return fail(ok.error());
      }
      nvjpeg::EncodeItem item;
      if (auto ok = nvjpeg::copy_in(planes, state.planes, item, state.stream.get()); !ok) {
        return fail(ok.error());
      }
      return encode_to_fit(state, item, plan, context, out.size(), outcome);
    });
    if (!body) return fail(body.error());
    out.insert(out.end(), body->begin(), body->end());
    outcome.encode_us = base::elapsed_us(start);
    return {};
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "no memory for nvJPEG's stream");
  }

  Result<void> transcode(const jpeg::JpegFile&, const plan::Plan&, const Context&,
                         std::vector<std::uint8_t>&, CodecOutcome&) const override {
    return fail(StatusCode::kUnsupported,
                "nvJPEG does not resample; the engine puts it around the CUDA codec's resampler");
  }

 private:
  template <typename T, typename Make>
  static Result<void> make_if_missing(std::optional<T>& object, const Make& make) {
    if (object) return {};
    auto made = make();
    if (!made) return fail(made.error());
    object.emplace(std::move(*made));
    return {};
  }

  Result<Planes> decode_on(CallState& state, const jpeg::JpegFile& file) const {
    if (auto ok = make_if_missing(state.decoder, [&] { return NvjpegDecoder::make(backend_); });
        !ok) {
      return fail(ok.error());
    }
    NvjpegDecoder& decoder = *state.decoder;
    if (auto ok = decoder.check(file); !ok) return fail(ok.error());
    const jpeg::JpegFile* batch[] = {&file};
    if (auto ok = decoder.enqueue(batch, state.stream.get()); !ok) return fail(ok.error());
    Planes planes;
    planes.planes.resize(static_cast<std::size_t>(file.frame.component_count));
    for (std::size_t c = 0; c < planes.planes.size(); ++c) {
      if (auto ok = nvjpeg::copy_out(decoder.plane(0, c), planes.planes[c], state.stream.get());
          !ok) {
        return fail(ok.error());
      }
    }
    if (auto ok = state.stream.synchronise(); !ok) return fail(ok.error());
    if (!decoder.status(0)) return fail(decoder.status(0).error());
    return planes;
  }

  /// Calls with a state that no other call has; one that met a failure is not used again.
  template <typename Call>
  std::invoke_result_t<Call, CallState&> with_state(const Call& call) const {
    auto state = take();
    if (!state) return fail(state.error());
    auto result = call(**state);
    if (result || result.error().code() == StatusCode::kUnsupported) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(*state));
    }
    return result;
  }

  Result<std::unique_ptr<CallState>> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto state = std::move(idle_.back());
        idle_.pop_back();
        return state;
      }
    }
    auto stream = gpu::Stream::make();
    if (!stream) return fail(stream.error());
    return std::make_unique<CallState>(CallState{std::move(*stream), {}, {}, {}});
  }

  nvjpeg::Backend backend_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<CallState>> idle_;
};

}  // namespace

std::unique_ptr<Codec> make_nvjpeg_codec(nvjpeg::Backend backend) {
  return std::make_unique<NvjpegCodec>(backend);
}

}  // namespace framewire::codec
