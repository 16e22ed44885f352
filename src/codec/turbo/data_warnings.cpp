#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <codec/turbo/data_warnings.hpp>

namespace framewire::codec::turbo {
namespace {

bool says_damaged(const Warning& warning) {
  return warning.kind == WarningKind::kCorruptData || warning.kind == WarningKind::kTruncated;
}

}  // namespace

Result<std::vector<Warning>> complete_warnings(std::vector<Warning> of_libjpeg,
                                               const DataFindings& found, bool strict) {
  if (found.damaged && std::ranges::none_of(of_libjpeg, says_damaged)) {
    of_libjpeg.push_back({WarningKind::kCorruptData, "a scan has data that no encoder writes", {}});
  }
  if (found.leftover) {
    of_libjpeg.push_back({WarningKind::kExtraneousBytes, "a scan has more data than MCUs", {}});
  }
  if (strict && !of_libjpeg.empty()) return fail(strict_refusal(of_libjpeg.front()));
  return of_libjpeg;
}

}  // namespace framewire::codec::turbo
