#include <engine/fallback.hpp>

namespace framewire::engine {

Result<void> parse_fallback(std::span<const std::uint8_t> bytes, const ResizeOptions& options,
                            base::Clock::time_point start, const std::string& why,
                            Request& request) {
  if (options.strict) {
    return fail(StatusCode::kUnsupported,
                "codec_fallback: " + why + " (strict accepts no other codec than the one named)");
  }
  if (auto ok = parse_request(bytes, options, start, jpeg::ParseDepth::kWhole, request); !ok) {
    return ok;
  }
  request.report.warnings.push_back({WarningKind::kCodecFallback, why, {}});
  return {};
}

}  // namespace framewire::engine
