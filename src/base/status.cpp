#include <fmt/format.h>
#include <framewire/image.hpp>
#include <framewire/status.hpp>

namespace framewire {

std::string_view to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kInvalidInput:
      return "invalid_input";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kTooLarge:
      return "too_large";
    case StatusCode::kBusy:
      return "busy";
    case StatusCode::kDeadline:
      return "deadline";
    case StatusCode::kIoError:
      return "io_error";
    case StatusCode::kDeviceLost:
      return "device_lost";
    case StatusCode::kPeerLost:
      return "peer_lost";
    case StatusCode::kDenied:
      return "denied";
    case StatusCode::kInternal:
      return "internal";
    case StatusCode::kCancelled:
      return "cancelled";
  }
  return "internal";
}

std::string_view to_string(CodecKind kind) noexcept {
  switch (kind) {
    case CodecKind::kAuto:
      return "auto";
    case CodecKind::kReference:
      return "reference";
    case CodecKind::kTurbo:
      return "turbo";
    case CodecKind::kCuda:
      return "cuda";
    case CodecKind::kNvjpeg:
      return "nvjpeg";
  }
  return "unknown";
}

std::string_view to_string(WarningKind kind) noexcept {
  switch (kind) {
    case WarningKind::kTruncated:
      return "truncated";
    case WarningKind::kCorruptData:
      return "corrupt_data";
    case WarningKind::kExtraneousBytes:
      return "extraneous_bytes";
    case WarningKind::kMissingScan:
      return "missing_scan";
    case WarningKind::kBadSegment:
      return "bad_segment";
    case WarningKind::kExifIgnored:
      return "exif_ignored";
    case WarningKind::kIccIgnored:
      return "icc_ignored";
    case WarningKind::kGainMapDropped:
      return "gain_map_dropped";
    case WarningKind::kItemDropped:
      return "item_dropped";
    case WarningKind::kXmpIgnored:
      return "xmp_ignored";
    case WarningKind::kCodecFallback:
      return "codec_fallback";
    case WarningKind::kMaxBytesMissed:
      return "max_bytes_missed";
  }
  return "unknown";
}

std::string Status::to_string() const {
  std::string text(framewire::to_string(code_));
  if (!subject_.empty()) text += ": " + subject_;
  text += ": " + message_;
  if (offset_) text += fmt::format(" (at byte {})", *offset_);
  return text;
}

}  // namespace framewire
