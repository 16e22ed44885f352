// Figures about the service: counted where things happen, read when somebody scrapes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <service/http/response.hpp>
#include <service/pictures/client_counters.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::http {

struct SharedState;

/// A number that only grows. Thread safety: all members from any thread, without a lock.
class Counter {
 public:
  void add(std::uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Durations, counted by size. Thread safety: all members from any thread, without a lock.
class DurationHistogram {
 public:
  /// Upper bounds of all buckets but the last, which has none; seconds.
  static constexpr std::array<double, 15> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

  /// @param seconds  negative counts as 0; at most a day
  void observe(double seconds) noexcept;
  [[nodiscard]] std::uint64_t bucket(std::size_t index) const noexcept {
    return buckets_[index].value();
  }
  [[nodiscard]] double sum_s() const noexcept;

 private:
  std::array<Counter, kBounds.size() + 1> buckets_;
  Counter sum_ns_;
};

/// Parts of a request's time.
enum class RequestSpan : std::uint8_t { kQueue, kFetch, kDecode, kEncode, kSend, kCount };

/// How clients come that are not HTTP's.
enum class ClientTransport : std::uint8_t { kLocal, kStream, kUcxRdma, kCount };

/// Why a GPU's codec left a picture to the CPU, in kinds that make labels.
enum class FallbackReason : std::uint8_t { kMemory, kColour, kScans, kUnsupported, kOther, kCount };
[[nodiscard]] FallbackReason fallback_reason(std::string_view codec_reason) noexcept;

template <typename Enum>
constexpr std::size_t enum_index(Enum value) noexcept {
  return static_cast<std::size_t>(value);
}

/// All that is counted about one server. Labels come from enums and tables alone: nothing that a
/// stranger chooses becomes one. Thread safety: all members from any thread, without a lock.
class Metrics {
 public:
  /// @param seconds  from the head's last byte; counted for answers that were read
  void request_ended(Code code, ErrorType type, double seconds) noexcept;
  void spent(RequestSpan span, double seconds) noexcept {
    spans[enum_index(span)].observe(seconds);
  }
  /// A picture came back from the engine.
  /// @param asked       the codec that its options named
  /// @param device      whether the engine has a GPU
  /// @param elapsed_s   since it was handed in
  void picture_made(CodecKind asked, bool device, const Report& report, double elapsed_s) noexcept;

  /// The status codes that have a label of their own; origins may choose others.
  static constexpr std::array<Code, 22> kCodes = {Code::kOk,
                                                  Code::kNotModified,
                                                  Code::kBadRequest,
                                                  Code::kForbidden,
                                                  Code::kNotFound,
                                                  Code::kMethodNotAllowed,
                                                  Code::kRequestTimeout,
                                                  Code::kLengthRequired,
                                                  Code::kPayloadTooLarge,
                                                  Code::kUriTooLong,
                                                  Code::kUnsupportedMediaType,
                                                  Code::kExpectationFailed,
                                                  Code::kUnprocessable,
                                                  Code::kTooManyRequests,
                                                  Code::kHeadTooLarge,
                                                  Code::kClientGone,
                                                  Code::kInternal,
                                                  Code::kNotImplemented,
                                                  Code::kBadGateway,
                                                  Code::kUnavailable,
                                                  Code::kGatewayTimeout,
                                                  Code::kVersionNotSupported};

  Counter requests_begun;
  Counter requests_ended;
  std::array<Counter, kCodes.size() + 1> statuses;  ///< in the order of kCodes; the last: others
  std::array<Counter, enum_index(ErrorType::kCount)> errors;
  Counter refused_connections;
  Counter handshakes_full;
  Counter handshakes_resumed;
  Counter handshakes_failed;
  Counter handshakes_displaced;
  Counter http2_requests;
  Counter http2_floods;
  Counter decoded_pixels;
  Counter coalesced;
  Counter device_retries;
  Counter fallback_images;
  Counter cache_hits;
  Counter cache_misses;
  Counter images_begun;
  Counter images_ended;
  /// [from: cuda, nvjpeg][to: turbo, reference][reason]
  std::array<std::array<std::array<Counter, enum_index(FallbackReason::kCount)>, 2>, 2> fallbacks;
  std::array<ClientCounters, enum_index(ClientTransport::kCount)> clients;
  DurationHistogram durations;
  std::array<DurationHistogram, enum_index(RequestSpan::kCount)> spans;
};

/// One metric as it is told.
struct MetricDescription {
  std::string_view name;    ///< with "framewire_"
  std::string_view type;    ///< "counter", "gauge", "histogram", "summary"
  std::string_view labels;  ///< names, joined by ", "; empty where there are none
  std::string_view help;
};

/// Every metric. Static storage.
[[nodiscard]] std::span<const MetricDescription> metric_descriptions();
/// The same as a table, as docs/serve.md shows it.
[[nodiscard]] std::string metrics_as_markdown();

/// All figures now, in Prometheus' text format (version 0.0.4). Takes locks of the admission's and
/// the engine's and reads a file: not for threads that read sockets. Throws std::bad_alloc.
[[nodiscard]] std::string metrics_text(const SharedState& shared);

}  // namespace framewire::service::http
