#include <algorithm>
#include <service/http/metrics.hpp>
#include <service/http/report_fields.hpp>

namespace framewire::service::http {
namespace {

constexpr double kMaxSeconds = 86'400;
constexpr double kNanoseconds = 1e9;
constexpr double kMicroseconds = 1e6;

bool is_host_codec(CodecKind kind) noexcept {
  return kind == CodecKind::kTurbo || kind == CodecKind::kReference;
}

}  // namespace

void DurationHistogram::observe(double seconds) noexcept {
  // A time that is no number counts as 0, too.
  const double kept = seconds > 0 ? std::min(seconds, kMaxSeconds) : 0;
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), kept);
  sum_ns_.add(static_cast<std::uint64_t>(kept * kNanoseconds));
  buckets_[static_cast<std::size_t>(bound - kBounds.begin())].add();
}

double DurationHistogram::sum_s() const noexcept {
  return static_cast<double>(sum_ns_.value()) / kNanoseconds;
}

// The codecs' own sentences name sizes of the picture; these words of theirs are its kind.
FallbackReason fallback_reason(std::string_view codec_reason) noexcept {
  const auto has = [&](std::string_view word) {
    return codec_reason.find(word) != std::string_view::npos;
  };
  if (has("GPU memory")) return FallbackReason::kMemory;
  if (has("profile") || has("colour")) return FallbackReason::kColour;
  if (has("scans") || has("MCU")) return FallbackReason::kScans;
  if (has("does not take") || has("does not write")) return FallbackReason::kUnsupported;
  return FallbackReason::kOther;
}

void Metrics::request_ended(Code code, ErrorType type, double seconds) noexcept {
  const auto known = std::find(kCodes.begin(), kCodes.end(), code);
  statuses[static_cast<std::size_t>(known - kCodes.begin())].add();
  if (type == ErrorType::kNone) type = error_type(code, {});
  if (type != ErrorType::kNone) errors[enum_index(type)].add();
  if (code != Code::kClientGone) durations.observe(seconds);
  requests_ended.add();
}

void Metrics::picture_made(CodecKind asked, bool device, const Report& report,
                           double elapsed_s) noexcept {
  const StageTimes& times = report.times;
  spent(RequestSpan::kQueue, queue_ms(elapsed_s * 1000, times) / 1000);
  spent(RequestSpan::kDecode, times.decode_resample_us / kMicroseconds);
  spent(RequestSpan::kEncode, times.encode_us / kMicroseconds);
  decoded_pixels.add(static_cast<std::uint64_t>(report.input.width_px) *
                     static_cast<std::uint64_t>(report.input.height_px));
  const bool warned = std::any_of(
      report.warnings.begin(), report.warnings.end(),
      [](const Warning& warning) { return warning.kind == WarningKind::kCodecFallback; });
  // Where the codec was left to the engine no warning tells of it.
  const bool left = device && !is_host_codec(asked) && is_host_codec(report.codec);
  if (!warned && !left) return;
  const std::size_t from = asked == CodecKind::kNvjpeg ? 1 : 0;
  const std::size_t to = report.codec == CodecKind::kReference ? 1 : 0;
  fallbacks[from][to][enum_index(fallback_reason(report.codec_reason))].add();
}

}  // namespace framewire::service::http
