#include <fmt/format.h>
#include <algorithm>
#include <codec/nvjpeg/encoder.hpp>
#include <codec/nvjpeg/error.hpp>
#include <gpu/error.hpp>

namespace framewire::codec::nvjpeg {
namespace {

/// Encoder settings that are kept; if a batch has more kinds, some are made anew.
constexpr std::size_t kMaxPrepared = 256;

nvjpegChromaSubsampling_t sampling_of(const plan::EncodePlan& plan) {
  if (plan.component_count == 1) return NVJPEG_CSS_GRAY;
  if (plan.component_count != 3) return NVJPEG_CSS_UNKNOWN;
  for (std::size_t c = 1; c < 3; ++c) {
    if (plan.h[c] != 1 || plan.v[c] != 1) return NVJPEG_CSS_UNKNOWN;
  }
  switch (plan.h[0] * 16 + plan.v[0]) {
    case 0x11:
      return NVJPEG_CSS_444;
    case 0x21:
      return NVJPEG_CSS_422;
    case 0x22:
      return NVJPEG_CSS_420;
    case 0x12:
      return NVJPEG_CSS_440;
    default:
      return NVJPEG_CSS_UNKNOWN;
  }
}

tl::unexpected<Status> not_encoded(std::string what) {
  return fail(StatusCode::kUnsupported, "nvJPEG's encoder does not write " + std::move(what));
}

}  // namespace

Result<NvjpegEncoder> NvjpegEncoder::make() {
  NvjpegEncoder encoder;
  nvjpegHandle_t handle = nullptr;
  if (auto ok = nvjpeg::check(nvjpegCreateSimple(&handle), "making nvJPEG's encoder"); !ok) {
    return fail(ok.error());
  }
  encoder.handle_.reset(handle);
  return encoder;
}

Result<void> NvjpegEncoder::check(const plan::EncodePlan& plan) {
  if (plan.model == plan::OutputModel::kCmyk) return not_encoded("CMYK");
  if (sampling_of(plan) == NVJPEG_CSS_UNKNOWN) {
    return not_encoded(fmt::format("{} components with luma at {}×{}", plan.component_count,
                                   plan.h[0], plan.v[0]));
  }
  // nvJPEG 13.3 has a setter for restart markers, but then its encoder of planes refuses, and the
  // one of RGB ignores it.
  if (plan.restart_interval_mcus != 0) return not_encoded("restart markers");
  if (plan.max_bytes != 0) return not_encoded("to a number of bytes");
  return {};
}

Result<nvjpegEncoderParams_t> NvjpegEncoder::make_params(const Settings& settings) {
  nvjpegEncoderParams_t made = nullptr;
  const char* doing = "preparing an encode";
  if (auto ok = nvjpeg::check(nvjpegEncoderParamsCreate(handle_.get(), &made, stream_), doing);
      !ok) {
    return fail(ok.error());
  }
  Prepared prepared{settings, EncodeParams(made)};
  const nvjpegJpegEncoding_t coding =
      settings.progressive ? NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN : NVJPEG_ENCODING_BASELINE_DCT;
  nvjpegStatus_t status = nvjpegEncoderParamsSetQuality(made, settings.quality, stream_);
  if (status == NVJPEG_STATUS_SUCCESS) {
    status = nvjpegEncoderParamsSetEncoding(made, coding, stream_);
  }
  if (status == NVJPEG_STATUS_SUCCESS) {
    status = nvjpegEncoderParamsSetOptimizedHuffman(made, settings.optimize_huffman, stream_);
  }
  if (status == NVJPEG_STATUS_SUCCESS) {
    status = nvjpegEncoderParamsSetSamplingFactors(made, settings.sampling, stream_);
  }
  if (auto ok = nvjpeg::check(status, doing); !ok) return fail(ok.error());
  prepared_.push_back(std::move(prepared));
  return made;
}

Result<nvjpegEncoderParams_t> NvjpegEncoder::params_for(const plan::EncodePlan& plan) {
  // A progressive stream is made with optimised tables in any case.
  const Settings wanted{plan.quality, sampling_of(plan), plan.progressive,
                        plan.optimize_huffman || plan.progressive};
  const auto found = std::find_if(prepared_.begin(), prepared_.end(),
                                  [&](const Prepared& p) { return p.settings == wanted; });
  return found != prepared_.end() ? found->params.get() : make_params(wanted);
}

Result<void> NvjpegEncoder::grow_states(std::size_t count) {
  while (states_.size() < count) {
    nvjpegEncoderState_t state = nullptr;
    if (auto ok = nvjpeg::check(nvjpegEncoderStateCreate(handle_.get(), &state, stream_),
                                "making an encoder's state");
        !ok) {
      return ok;
    }
    states_.emplace_back(state);
  }
  return {};
}

Result<void> NvjpegEncoder::encode(const EncodeItem& item, nvjpegEncoderState_t state) {
  auto params = params_for(*item.plan);
  if (!params) return fail(params.error());
  nvjpegImage_t source{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(item.plan->component_count); ++c) {
    source.channel[c] = item.planes[c].samples;
    source.pitch[c] = item.planes[c].pitch_bytes;
  }
  return nvjpeg::check(
      nvjpegEncodeYUV(handle_.get(), state, *params, &source, sampling_of(*item.plan),
                      item.plan->width_px, item.plan->height_px, stream_),
      "encoding");
}

Result<void> NvjpegEncoder::enqueue(std::span<const EncodeItem> items, cudaStream_t stream) {
  if (items.empty()) return fail(StatusCode::kInternal, "a batch without images was enqueued");
  images_ = 0;
  stream_ = stream;
  if (prepared_.size() > kMaxPrepared) prepared_.clear();
  if (auto ok = grow_states(items.size()); !ok) return ok;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto ok = encode(items[i], states_[i].get()); !ok) return ok;
  }
  images_ = items.size();
  return {};
}

Result<void> NvjpegEncoder::measure_streams() {
  offsets_.assign(images_, 0);
  lengths_.assign(images_, 0);
  std::size_t total = 0;
  for (std::size_t i = 0; i < images_; ++i) {
    if (auto ok = nvjpeg::check(nvjpegEncodeRetrieveBitstream(handle_.get(), states_[i].get(),
                                                              nullptr, &lengths_[i], stream_),
                                "asking for a stream's length");
        !ok) {
      return ok;
    }
    offsets_[i] = total;
    total += (lengths_[i] + 63) / 64 * 64;
  }
  if (total <= output_.bytes()) return {};
  return output_.reserve(gpu::BufferKind::kPinned, total + total / 4);
}

Result<void> NvjpegEncoder::wait() {
  if (auto ok = measure_streams(); !ok) return ok;
  for (std::size_t i = 0; i < images_; ++i) {
    if (auto ok = nvjpeg::check(
            nvjpegEncodeRetrieveBitstream(handle_.get(), states_[i].get(),
                                          output_.data() + offsets_[i], &lengths_[i], stream_),
            "fetching a stream");
        !ok) {
      return ok;
    }
  }
  return gpu::check(cudaStreamSynchronize(stream_), "encoding through nvJPEG");
}

std::span<const std::uint8_t> NvjpegEncoder::stream(std::size_t image) const {
  return {output_.data() + offsets_[image], lengths_[image]};
}

}  // namespace framewire::codec::nvjpeg
