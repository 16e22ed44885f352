// The fields of answers to URLs.
#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <base/utf8.hpp>
#include <chrono>
#include <service/http/freshness.hpp>
#include <service/http/images.hpp>
#include <service/http/report_fields.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct CacheControlField {
  std::string text;                 ///< empty: none
  bool counts_from_origin = false;  ///< its times count from when the origin said them
};

// The smaller of what the origin (or else the server) and the URL's own expiry allow. What else the
// origin says, private and no-store above all, holds whatever the URL says.
CacheControlField cache_control(const Exchange& exchange, const ImageOutcome& outcome,
                                const ServiceSettings& settings) {
  const std::int64_t now = unix_now();
  const std::int64_t expires = exchange.image.expires.value_or(0);
  const bool passes = settings.cache_control_passthrough && !outcome.is_fallback;
  const bool has_word = passes && !outcome.cache_control.empty();
  // Of a 304 without a word the client goes by the word that it has, which is not known here.
  const bool has_older_word = passes && outcome.not_modified && !outcome.from_cache &&
                              outcome.cache_control.empty() && outcome.expires.empty();
  if (has_older_word && expires <= 0) return {};
  const bool in_its_field = says_lifetime(outcome.cache_control) || outcome.expires.empty();
  if (has_word && in_its_field && expires <= 0) return {outcome.cache_control, true};
  auto ttl =
      static_cast<std::int64_t>(outcome.is_fallback ? settings.fallback_ttl_s : settings.ttl_s);
  if (passes) {
    const OriginWord word{.cache_control = outcome.cache_control, .expires = outcome.expires};
    ttl = lifetime_left(word, outcome.made_s, now).value_or(ttl);
  }
  if (expires > 0) ttl = std::min(ttl, std::max<std::int64_t>(expires - now, 0));
  if (has_word) return {with_lifetime(outcome.cache_control, ttl)};
  if (has_older_word) return {with_lifetime("private", 0)};
  return {ttl <= 0 ? "no-cache" : fmt::format("max-age={}, public", ttl)};
}

bool is_utf8(Text text) noexcept {
  while (!text.empty()) {
    const base::Utf8Character character = base::first_character(text);
    if (character.bytes == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

// RFC 6266: a name of ASCII for all, and the real one for those who read filename*.
std::string disposition(const url::ImageRequest& request, Text extension) {
  const std::string name = url::answer_filename(request) + std::string(extension);
  std::string plain;
  std::string escaped;
  bool is_ascii = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    is_ascii = is_ascii && byte < 0x80;
    if (byte >= 0x80) {
      plain += '_';
    } else if (c == '"' || c == '\\') {
      plain += fmt::format("%{:02X}", byte);
    } else {
      plain += c;
    }
    if (base::is_letter_or_digit(c) || Text("!#$&+-.^_`|~").find(c) != Text::npos) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", byte);
    }
  }
  const Text kind = request.return_attachment.value_or(false) ? "attachment" : "inline";
  // A file's name may be any bytes, and filename* says that they are UTF-8.
  if (is_ascii || !is_utf8(name)) return fmt::format("{}; filename=\"{}\"", kind, plain);
  return fmt::format("{}; filename=\"{}\"; filename*=UTF-8''{}", kind, plain, escaped);
}

void add_debug_fields(Response& response, const ImageOutcome& outcome) {
  response.add_field("X-Origin-Content-Length", fmt::format("{}", outcome.source_bytes));
  response.add_field("X-Origin-Width", fmt::format("{}", outcome.source_width_px));
  response.add_field("X-Origin-Height", fmt::format("{}", outcome.source_height_px));
  if (!outcome.report) return;
  const Report& report = *outcome.report;
  response.add_field("X-Result-Width", fmt::format("{}", report.output.width_px));
  response.add_field("X-Result-Height", fmt::format("{}", report.output.height_px));
}

void add_caching_fields(Response& response, const Exchange& exchange, const ImageOutcome& outcome,
                        const ServiceSettings& settings) {
  const CacheControlField control = cache_control(exchange, outcome, settings);
  if (!control.text.empty()) response.add_field("Cache-Control", control.text);
  // RFC 9111 5.1: the origin's max-age counts from when the origin said it.
  constexpr std::int64_t kMaxAge_s = std::int64_t{1} << 31;  // RFC 9111 1.2.2
  const std::int64_t age = std::clamp<std::int64_t>(unix_now() - outcome.made_s, 0, kMaxAge_s);
  if (control.counts_from_origin && (age > 0 || outcome.from_cache)) {
    response.add_field("Age", fmt::format("{}", age));
  }
  // A date is the original's: the client may have what other settings made of it. With the tag that
  // RFC 9110 15.4.5 wants it would take those bytes for what the tag stands for.
  const bool by_date = outcome.not_modified && !exchange.head.has("if-none-match");
  if (!outcome.etag.empty() && !by_date) response.add_field("ETag", outcome.etag);
  // An origin may send what is no date ; no client could ask by it.
  if (parse_http_date(outcome.last_modified) != -1) {
    response.add_field("Last-Modified", outcome.last_modified);
  }
  if (settings.url.client_hints) {
    response.add_field("Vary", "Sec-Ch-Dpr, Dpr, Sec-Ch-Width, Width");
  }
}

}  // namespace

Response image_response(Exchange& exchange, const ImageOutcome& outcome,
                        const ServiceSettings& settings) {
  if (outcome.code != Code::kOk) {
    Response response =
        error_response(exchange.error_form, outcome.code, outcome.word, outcome.message);
    if (!outcome.log_line.empty()) response.message = outcome.log_line;
    return response;
  }
  Response response;
  if (outcome.is_fallback) {
    response.code = outcome.fallback_code;
    response.message = outcome.log_line;
    response.add_field("Fallback-Image", "1");
  }
  add_caching_fields(response, exchange, outcome, settings);
  const bool matches = settings.etag && !outcome.is_fallback &&
                       none_match_lists(exchange.head.joined("if-none-match"), outcome.etag);
  if (outcome.not_modified || matches) {
    response.code = Code::kNotModified;
    return response;
  }
  response.content_type = outcome.is_jpeg ? "image/jpeg" : "application/octet-stream";
  response.bytes = outcome.bytes;
  response.keeper = outcome.keeper;
  if (!outcome.cache_status.empty()) response.add_field("Cache-Status", outcome.cache_status);
  response.add_field("Content-Disposition",
                     disposition(exchange.image, outcome.is_jpeg ? ".jpg" : ".bin"));
  const std::string& url = exchange.image.source_url;
  if (settings.canonical_link && (url.starts_with("http://") || url.starts_with("https://")) &&
      url.find('>') == std::string::npos) {
    response.add_field("Link", fmt::format("<{}>; rel=\"canonical\"", url));
  }
  if (outcome.report) {
    const StageTimes& times = outcome.report->times;
    exchange.codec = to_string(outcome.report->codec);
    add_report_fields(response, *outcome.report);
    response.add_field(
        "Server-Timing",
        fmt::format("fetch;dur={:.3f}, queue;dur={:.3f}, parse;dur={:.3f}, decode;dur={:.3f}, "
                    "encode;dur={:.3f}",
                    outcome.fetch_ms, queue_ms(outcome.work_ms, times), times.parse_us / 1000,
                    times.decode_resample_us / 1000, times.encode_us / 1000));
  }
  if (settings.debug_headers) add_debug_fields(response, outcome);
  return response;
}

}  // namespace framewire::service::http
