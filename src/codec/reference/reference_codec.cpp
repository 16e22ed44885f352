#include <base/clock.hpp>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/encoder.hpp>
#include <codec/reference/planes.hpp>
#include <codec/reference/reference_codec.hpp>
#include <codec/reference/resample.hpp>
#include <new>

namespace framewire::codec {
namespace {

/// Runs `body`; memory that runs out inside it is `busy`.
template <typename Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "not enough memory for this image in the reference codec");
  }
}

Result<Planes> decode_file(const jpeg::JpegFile& file, const plan::Scales& scales,
                           const Context& context, CodecOutcome& outcome) {
  auto coefficients = reference::decode_coefficients(file, context);
  if (!coefficients) return fail(std::move(coefficients.error()));
  for (Warning& w : coefficients->warnings) outcome.warnings.push_back(std::move(w));
  return reference::decode_planes(file, *coefficients, scales, context);
}

class ReferenceCodec final : public Codec {
 public:
  CodecKind kind() const noexcept override { return CodecKind::kReference; }
  plan::Capabilities capabilities() const noexcept override { return {}; }

  Result<Planes> decode(const jpeg::JpegFile& file, const plan::Scales& scales,
                        const Context& context, CodecOutcome& outcome) const override {
    return guarded([&] { return decode_file(file, scales, context, outcome); });
  }

  Result<void> encode(const Planes& planes, const plan::EncodePlan& plan, const Context& context,
                      std::vector<std::uint8_t>& out, CodecOutcome& outcome) const override {
    return guarded([&] { return reference::encode_planes(planes, plan, context, out, outcome); });
  }

  Result<void> transcode(const jpeg::JpegFile& file, const plan::Plan& plan, const Context& context,
                         std::vector<std::uint8_t>& out, CodecOutcome& outcome) const override {
    return guarded([&]() -> Result<void> {
      const auto start = base::Clock::now();
      auto decoded = decode_file(file, plan.scales, context, outcome);
      if (!decoded) return fail(std::move(decoded.error()));
      auto planes = reference::make_output_planes(*decoded, plan, context);
      if (!planes) return fail(std::move(planes.error()));
      outcome.decode_resample_us = base::elapsed_us(start);
      const auto encode_start = base::Clock::now();
      auto encoded = reference::encode_planes(*planes, plan.encode, context, out, outcome);
      outcome.encode_us = base::elapsed_us(encode_start);
      return encoded;
    });
  }
};

}  // namespace

std::unique_ptr<Codec> make_reference_codec() { return std::make_unique<ReferenceCodec>(); }

}  // namespace framewire::codec
