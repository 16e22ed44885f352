#include <algorithm>
#include <array>
#include <base/ascii.hpp>
#include <store/retry.hpp>

namespace framewire::store {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view code, const std::array<std::string_view, N>& codes) noexcept {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// The last two: what arrived is not what was sent.
constexpr std::array<std::string_view, 8> kTransientCodes = {
    "InternalError", "OperationAborted",         "RequestTimeout",
    "SlowDown",      "ServiceUnavailable",       "ConditionalRequestConflict",
    "BadDigest",     "XAmzContentSHA256Mismatch"};

}  // namespace

bool may_retry(unsigned status, std::string_view code) noexcept {
  switch (status) {
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return is_one_of(code, kTransientCodes);
  }
}

bool blames_clock(unsigned status, std::string_view code) noexcept {
  return status == 403 && (code == "RequestTimeTooSkewed" || code == "RequestExpired");
}

bool blames_expiry(unsigned status, std::string_view code) noexcept {
  return (status == 400 || status == 401 || status == 403) &&
         (code == "ExpiredToken" || code == "TokenRefreshRequired");
}

std::chrono::milliseconds backoff(unsigned attempt, double chance,
                                  const StoreTiming& timing) noexcept {
  const unsigned doublings = std::min(attempt > 0 ? attempt - 1 : 0, 20U);
  const auto bound = std::min(timing.first_wait * (std::int64_t{1} << doublings), timing.max_wait);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(bound.count()) * std::clamp(chance, 0.0, 1.0)));
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, SystemTime now,
                                                           const StoreTiming& timing) noexcept {
  const std::string_view text = base::trim_white(value);
  std::chrono::milliseconds wait{0};
  if (const auto seconds = parse_number(text)) {
    wait = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 86'400));
  } else if (const auto date = parse_http_date(text)) {
    wait = *date - now;
  } else {
    return std::nullopt;
  }
  return std::clamp(wait, std::chrono::milliseconds(0), timing.max_retry_after);
}

StatusCode code_of_answer(unsigned status, std::string_view code) noexcept {
  if (code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired") {
    return StatusCode::kDenied;
  }
  switch (status) {
    case 401:
    case 403:
      return StatusCode::kDenied;
    case 429:
    case 503:
      return StatusCode::kBusy;
    // Another bucket, region or object than there is; or it is not what it was.
    case 301:
    case 307:
    case 400:
    case 404:
    case 412:
    case 416:
      return StatusCode::kInvalidInput;
    default:
      return code == "SlowDown" || code == "ConditionalRequestConflict" ? StatusCode::kBusy
                                                                        : StatusCode::kIoError;
  }
}

}  // namespace framewire::store
