#include <algorithm>
#include <service/http/report_fields.hpp>
#include <string>

namespace framewire::service::http {
namespace {

constexpr unsigned kWarningKinds = static_cast<unsigned>(WarningKind::kMaxBytesMissed) + 1;

}  // namespace

void add_report_fields(Response& response, const Report& report) {
  response.add_field("X-Framewire-Codec", to_string(report.codec));
  response.add_field("X-Framewire-Codec-Reason", report.codec_reason);
  std::string words;
  for (const Warning& warning : warnings_of_bits(warning_bits(report.warnings))) {
    if (!words.empty()) words += ", ";
    words += to_string(warning.kind);
  }
  if (!words.empty()) response.add_field("X-Framewire-Warnings", words);
}

std::uint64_t warning_bits(const std::vector<Warning>& warnings) noexcept {
  std::uint64_t bits = 0;
  for (const Warning& warning : warnings) {
    bits |= std::uint64_t{1} << static_cast<unsigned>(warning.kind);
  }
  return bits;
}

std::vector<Warning> warnings_of_bits(std::uint64_t bits) {
  std::vector<Warning> warnings;
  for (unsigned kind = 0; kind < kWarningKinds; ++kind) {
    if ((bits >> kind & 1) != 0) warnings.push_back({static_cast<WarningKind>(kind), {}, {}});
  }
  return warnings;
}

bool are_warning_bits(std::uint64_t bits) noexcept { return bits >> kWarningKinds == 0; }

double queue_ms(double elapsed_ms, const StageTimes& times) noexcept {
  const double work_us = times.parse_us + times.decode_resample_us + times.encode_us;
  return std::max(0.0, elapsed_ms - work_us / 1000);
}

}  // namespace framewire::service::http
