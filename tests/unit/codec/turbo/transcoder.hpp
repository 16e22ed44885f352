// What tests of the CPU codec share: pictures, and whole streams through it.
#pragma once

#include <cmath>
#include <codec/turbo/turbo_codec.hpp>
#include <color/converter.hpp>
#include <jpeg/parser.hpp>
#include <optional>
#include <stdexcept>
#include <tests/support/sample_jpeg.hpp>

namespace framewire::codec::test {

using sample::Bytes;
using sample::Decoded;

/// Smooth enough for any sampling, different in each component, with no symmetry.
inline double smooth(int component, double x, double y) {
  const double phase = component * 1.7;
  return 128 + 70 * std::sin(x / 17 + phase) + 45 * std::cos(y / 13 - phase) + x / 9 - y / 7;
}

inline jpeg::JpegFile parse(const Bytes& bytes) {
  auto file = jpeg::parse(bytes, {});
  if (!file) throw std::runtime_error(file.error().to_string());
  return std::move(*file);
}

/// A whole stream: SOI and what the codec appends.
struct Written {
  Bytes bytes;
  CodecOutcome outcome;
};

class Transcoder {
 public:
  [[nodiscard]] plan::Plan plan(const jpeg::JpegFile& file, const ResizeOptions& options) const {
    auto made = plan::make_plan(file, options, codec_->capabilities(), false);
    if (!made) throw std::runtime_error(made.error().to_string());
    return *made;
  }

  Result<Written> run(const jpeg::JpegFile& file, const plan::Plan& plan,
                      Context context = {}) const {
    std::optional<color::Converter> converter;
    if (plan.color_path == plan::ColorPath::kConvert) {
      auto made = color::Converter::make(file, plan.encode.model, false);
      if (!made) return fail(made.error());
      context.converter = &converter.emplace(std::move(*made));
    }
    Written written;
    written.bytes = {0xFF, 0xD8};
    auto ok = codec_->transcode(file, plan, context, written.bytes, written.outcome);
    if (!ok) return fail(ok.error());
    return written;
  }

  Written run_or_die(const jpeg::JpegFile& file, const plan::Plan& plan) const {
    auto written = run(file, plan);
    if (!written) throw std::runtime_error(written.error().to_string());
    return std::move(*written);
  }

  Decoded resize(const Bytes& jpeg, const ResizeOptions& options, int orientation = 1) const {
    auto file = parse(jpeg);
    file.orientation = orientation;
    return sample::decode(run_or_die(file, plan(file, options)).bytes);
  }

  [[nodiscard]] const Codec& codec() const { return *codec_; }

 private:
  std::unique_ptr<Codec> codec_ = make_turbo_codec();
};

inline double noisy(int component, double x, double y) {
  const auto seed = static_cast<unsigned>(x * 131 + y * 7919) * 2654435761u;
  return smooth(component, x, y) + (seed >> 26);
}

}  // namespace framewire::codec::test
