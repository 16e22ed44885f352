#include <algorithm>
#include <cstring>
#include <ipc/answer.hpp>
#include <ipc/greeting.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace framewire::ipc {
namespace {

constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kMaxWarnings = 256;

// Whether both ends of kVersion and kMessageVersion know a value. Without a default, so that a new
// value does not compile until it stands here: raise both versions with it.
constexpr bool is_of_version(CodecKind kind) noexcept {
  switch (kind) {
    case CodecKind::kAuto:
    case CodecKind::kReference:
    case CodecKind::kTurbo:
    case CodecKind::kCuda:
    case CodecKind::kNvjpeg:
      return true;
  }
  return false;
}
constexpr bool is_of_version(WarningKind kind) noexcept {
  switch (kind) {
    case WarningKind::kTruncated:
    case WarningKind::kCorruptData:
    case WarningKind::kExtraneousBytes:
    case WarningKind::kMissingScan:
    case WarningKind::kBadSegment:
    case WarningKind::kExifIgnored:
    case WarningKind::kIccIgnored:
    case WarningKind::kGainMapDropped:
    case WarningKind::kItemDropped:
    case WarningKind::kXmpIgnored:
    case WarningKind::kCodecFallback:
    case WarningKind::kMaxBytesMissed:
      return true;
  }
  return false;
}

/// Writes fields one after the other; those that do not fit are noticed, not written.
class AnswerWriter {
 public:
  explicit AnswerWriter(std::span<std::byte> out) : out_(out) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void operator()(const T& value) { put(&value, sizeof value); }
  void operator()(CodecKind kind) { (*this)(static_cast<std::uint8_t>(kind)); }
  void operator()(const std::string& text) {
    const auto bytes = static_cast<std::uint16_t>(std::min(text.size(), kMaxText));
    (*this)(bytes);
    put(text.data(), bytes);
  }
  void operator()(const std::optional<std::uint64_t>& value) {
    (*this)(value.has_value());
    (*this)(value.value_or(0));
  }

  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// As if the fields behind had not been written.
  void cut(std::size_t bytes) {
    bytes_ = bytes;
    fits_ = true;
  }
  void rewrite(std::size_t at, std::uint16_t value) {
    std::memcpy(out_.data() + at, &value, sizeof value);
  }

 private:
  void put(const void* from, std::size_t bytes) {
    fits_ = fits_ && bytes <= out_.size() - bytes_;
    if (!fits_ || bytes == 0) return;
    std::memcpy(out_.data() + bytes_, from, bytes);
    bytes_ += bytes;
  }

  std::span<std::byte> out_;
  std::size_t bytes_ = 0;
  bool fits_ = true;
};

/// Reads them back; what is not there, or cannot be, makes the whole invalid.
class AnswerReader {
 public:
  explicit AnswerReader(std::span<const std::byte> left) : left_(left) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    if (!take(sizeof value)) return;
    std::memcpy(&value, taken_.data(), sizeof value);
  }
  // Another byte than 0 and 1 is no bool.
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    valid_ = valid_ && byte <= 1;
    value = byte == 1;
  }
  void operator()(CodecKind& kind) {
    std::uint8_t byte = 0;
    (*this)(byte);
    const auto read = static_cast<CodecKind>(byte);
    valid_ = valid_ && is_of_version(read);
    if (valid_) kind = read;
  }
  void operator()(std::string& text) {
    std::uint16_t bytes = 0;
    (*this)(bytes);
    if (bytes > kMaxText || !take(bytes)) {
      valid_ = false;
      return;
    }
    text.assign(reinterpret_cast<const char*>(taken_.data()), taken_.size());
  }
  void operator()(std::optional<std::uint64_t>& value) {
    bool has = false;
    std::uint64_t number = 0;
    (*this)(has);
    (*this)(number);
    if (has) value = number;
  }

  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] bool at_end() const { return valid_ && left_.empty(); }

 private:
  bool take(std::size_t bytes) {
    valid_ = valid_ && bytes <= left_.size();
    if (!valid_) return false;
    taken_ = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return true;
  }

  std::span<const std::byte> left_;
  std::span<const std::byte> taken_;
  bool valid_ = true;
};

// Every field is bound by name: with one more in the struct this does not compile.
template <typename Fields, typename Summary>
void each_of_summary(Fields& fields, Summary& summary) {
  auto& [width_px, height_px, bytes, components, sampling, process] = summary;
  fields(width_px);
  fields(height_px);
  fields(bytes);
  fields(components);
  fields(sampling);
  fields(process);
}

/// All but the warnings.
template <typename Fields, typename AnyReport>
void each_of_report(Fields& fields, AnyReport& report) {
  auto& [input, output, codec, codec_reason, decode_scale, quality, color_converted,
         assumed_profile, gain_map_kept, original_kept, times, warnings] = report;
  auto& [parse_us, decode_resample_us, encode_us, total_us] = times;
  each_of_summary(fields, input);
  each_of_summary(fields, output);
  fields(codec);
  fields(codec_reason);
  fields(decode_scale);
  fields(quality);
  fields(color_converted);
  fields(assumed_profile);
  fields(gain_map_kept);
  fields(original_kept);
  fields(parse_us);
  fields(decode_resample_us);
  fields(encode_us);
  fields(total_us);
  (void)warnings;
}

}  // namespace

std::size_t write_report(const Report& report, std::span<std::byte> out) noexcept {
  AnswerWriter fields(out);
  each_of_report(fields, report);
  const std::size_t place_of_count = fields.bytes();
  std::uint16_t count = 0;
  fields(count);
  if (!fields.fits()) return 0;
  for (const Warning& warning : report.warnings) {
    const std::size_t before = fields.bytes();
    fields(static_cast<std::uint8_t>(warning.kind));
    fields(warning.message);
    fields(warning.offset);
    if (!fields.fits() || count == kMaxWarnings) {
      fields.cut(before);
      break;
    }
    ++count;
  }
  fields.rewrite(place_of_count, count);
  return fields.bytes();
}

std::size_t write_error(const Status& status, std::span<std::byte> out) noexcept {
  AnswerWriter fields(out);
  fields(number_of(status.code()));
  fields(status.message());
  fields(status.subject());
  fields(status.offset());
  return fields.fits() ? fields.bytes() : 0;
}

std::optional<Report> read_report(std::span<const std::byte> bytes) {
  AnswerReader fields(bytes);
  Report report;
  each_of_report(fields, report);
  std::uint16_t count = 0;
  fields(count);
  for (std::uint16_t i = 0; fields.valid() && i < count; ++i) {
    std::uint8_t kind = 0;
    Warning warning;
    fields(kind);
    fields(warning.message);
    fields(warning.offset);
    warning.kind = static_cast<WarningKind>(kind);
    if (!is_of_version(warning.kind)) return std::nullopt;
    if (fields.valid()) report.warnings.push_back(std::move(warning));
  }
  if (!fields.at_end()) return std::nullopt;
  return report;
}

std::optional<Status> read_error(std::span<const std::byte> bytes) {
  AnswerReader fields(bytes);
  std::uint32_t code = 0;
  std::string message;
  std::string subject;
  std::optional<std::uint64_t> offset;
  fields(code);
  fields(message);
  fields(subject);
  fields(offset);
  if (!fields.at_end() || number_of(code_of(code)) != code) return std::nullopt;
  Status status(code_of(code), std::move(message));
  // Both return the status itself, which must not be moved into itself.
  if (!subject.empty()) (void)std::move(status).about(std::move(subject));
  if (offset) (void)std::move(status).at(*offset);
  return status;
}

}  // namespace framewire::ipc
