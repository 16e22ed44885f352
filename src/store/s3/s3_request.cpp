#include <fmt/format.h>
#include <algorithm>
#include <base/nanoseconds.hpp>
#include <cstring>
#include <store/s3/s3_request.hpp>
#include <store/signature.hpp>

namespace framewire::store::s3 {
namespace {

constexpr long kReceiveBytes = 256 * 1'024;
constexpr long kSendBytes = 512 * 1'024;
constexpr long kMinBytesPerSecond = 1'024;

SystemTime now_by_server(const S3Context& context) {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
         std::chrono::seconds(context.clock_offset_s.load());
}

}  // namespace

S3Request::S3Request(S3Context& context, S3Call call, std::string payload_hash)
    : context_(context),
      call_(std::move(call)),
      payload_hash_(std::move(payload_hash)),
      place_(call_.place) {}

std::chrono::milliseconds S3Request::total() const noexcept {
  const std::size_t bytes = call_.range ? call_.range->into.size() : call_.body.size();
  return context_.timing.total + std::chrono::seconds(bytes >> 20);
}

base::Clock::time_point S3Request::end() const noexcept {
  return std::min(*began_ + total(), call_.deadline);
}

std::optional<HttpTask::Next> S3Request::prepare(CURL* easy) {
  const auto now = base::Clock::now();
  if (!began_) began_ = now;
  if (now >= call_.deadline) {
    return answer(fail(StatusCode::kDeadline, "the time was over before the request was sent"));
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end() - now);
  ++attempts_;
  auto ready = set_up(easy, std::max(left, std::chrono::milliseconds(1)));
  if (ready) return std::nullopt;
  // Credentials that have ended may be renewed in a moment.
  if (ready.error().code() == StatusCode::kDenied) {
    return again(std::move(ready.error()), std::chrono::milliseconds(0));
  }
  return answer(fail(std::move(ready.error())));
}

void S3Request::add_range(TextPairs& headers) const {
  if (!call_.range) return;
  const ObjectRange& range = *call_.range;
  headers.emplace_back("range", fmt::format("bytes={}-{}", range.offset + filled_,
                                            range.offset + range.into.size() - 1));
  if (!range.etag.empty()) headers.emplace_back("if-match", '"' + range.etag + '"');
}

TextPairs S3Request::web_headers() const {
  TextPairs headers = call_.headers;
  add_range(headers);
  headers.emplace_back("accept-encoding", "identity");
  return headers;
}

Result<TextPairs> S3Request::signed_headers() {
  if (is_web()) return web_headers();
  auto credentials = context_.credentials->current();
  if (!credentials) return fail(std::move(credentials.error()));
  const SystemTime now = now_by_server(context_);
  TextPairs headers = call_.headers;
  headers.emplace_back("host", call_.address->host());
  headers.emplace_back("x-amz-content-sha256", payload_hash_);
  headers.emplace_back("x-amz-date", basic_iso_time(now));
  if (!credentials->session_token.empty()) {
    headers.emplace_back("x-amz-security-token", credentials->session_token);
  }
  add_range(headers);
  auto signature = authorization(
      {call_.method, call_.address->path(call_.key), call_.query, headers, payload_hash_},
      {now, call_.address->region(), "s3"}, *credentials);
  if (!signature) return fail(std::move(signature.error()));
  secrets_ = {signature->substr(signature->rfind('=') + 1), credentials->session_token};
  headers.emplace_back("authorization", *std::move(signature));
  // What libcurl would add: a wait of a second before bodies, and a type that is not theirs.
  headers.emplace_back("expect", "");
  headers.emplace_back("content-type", "");
  if (call_.sink) headers.emplace_back("accept-encoding", "identity");
  for (const auto& [name, value] : headers) {
    const auto is_control = [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; };
    if (std::ranges::none_of(value, is_control)) continue;
    return fail(StatusCode::kInvalidInput,
                fmt::format("the header {} would have a line break or another control character "
                            "in it; accepted: credentials and a region without",
                            name));
  }
  return headers;
}

std::string S3Request::url() const {
  if (place_) return place_->url;
  std::string url = call_.address->origin() + call_.address->path(call_.key);
  if (!call_.query.empty()) url += '?' + canonical_query(call_.query);
  return url;
}

bool S3Request::set_method(CURL* easy) {
  if (call_.method == "HEAD") return set_option(easy, CURLOPT_NOBODY, 1L);
  if (call_.method == "GET") return true;
  if (call_.method == "DELETE") return set_option(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
  // libcurl reads the body where it is. It takes no pointer for "no body at all".
  const char* const body =
      call_.body.empty() ? "" : reinterpret_cast<const char*>(call_.body.data());
  return set_option(easy, CURLOPT_POSTFIELDS, body) &&
         set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                    static_cast<curl_off_t>(call_.body.size())) &&
         set_option(easy, CURLOPT_CUSTOMREQUEST, call_.method.c_str()) &&
         set_option(easy, CURLOPT_UPLOAD_BUFFERSIZE, kSendBytes);
}

Result<void> S3Request::set_up(CURL* easy, std::chrono::milliseconds left) {
  fields_ = {};
  body_.clear();
  fault_.reset();
  paused_ = false;
  error_text_[0] = '\0';
  auto headers = signed_headers();
  if (!headers) return fail(std::move(headers.error()));
  headers_ = header_list(*headers);
  const StoreTiming& timing = context_.timing;
  const bool request = headers_ && set_common_options(easy, url()) && set_method(easy) &&
                       set_option(easy, CURLOPT_HTTPHEADER, headers_.get());
  const bool bounds =
      set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timing.connect.count())) &&
      set_option(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count())) &&
      set_option(easy, CURLOPT_BUFFERSIZE, kReceiveBytes) &&
      (call_.answer_comes_late ||
       (set_option(easy, CURLOPT_LOW_SPEED_LIMIT, kMinBytesPerSecond) &&
        set_option(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(timing.stalled.count()))));
  const bool callbacks =
      set_option(easy, CURLOPT_ERRORBUFFER, error_text_.data()) &&
      set_option(easy, CURLOPT_HEADERFUNCTION, &S3Request::on_header) &&
      set_option(easy, CURLOPT_HEADERDATA, static_cast<void*>(this)) &&
      set_option(easy, CURLOPT_WRITEFUNCTION, &S3Request::on_body) &&
      set_option(easy, CURLOPT_WRITEDATA, static_cast<void*>(this)) &&
      (!call_.cancelled || (set_option(easy, CURLOPT_NOPROGRESS, 0L) &&
                            set_option(easy, CURLOPT_XFERINFOFUNCTION, &S3Request::on_progress) &&
                            set_option(easy, CURLOPT_XFERINFODATA, static_cast<void*>(this))));
  if (!request || !bounds || !callbacks) {
    return fail(StatusCode::kBusy, "libcurl refused a request");
  }
  return {};
}

std::size_t S3Request::on_header(char* data, std::size_t size, std::size_t count,
                                 void* self) noexcept {
  auto& request = *static_cast<S3Request*>(self);
  try {
    if (request.header({data, size * count})) return size * count;
  } catch (const std::exception&) {
    request.fault_.emplace(StatusCode::kBusy, "memory ran out");
  }
  return 0;
}

std::size_t S3Request::on_body(char* data, std::size_t size, std::size_t count,
                               void* self) noexcept {
  auto& request = *static_cast<S3Request*>(self);
  try {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data);
    if (request.body({bytes, size * count})) {
      return request.paused_ ? CURL_WRITEFUNC_PAUSE : size * count;
    }
  } catch (const std::exception&) {
    request.fault_.emplace(StatusCode::kBusy, "memory ran out");
  }
  return CURL_WRITEFUNC_ERROR;
}

int S3Request::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<const S3Request*>(self)->cancelled() ? 1 : 0;
}

bool S3Request::header(std::string_view line) {
  const bool known = fields_.complete();
  if (!fields_.take(line) || fields_.locations > 1) {
    fault_.emplace(StatusCode::kIoError,
                   "the server's answer has a malformed head, or too long a one");
    return false;
  }
  if (known || !fields_.complete() || fields_.status >= 300) return true;
  Result<void> taken;
  if (fields_.status == 200 && (call_.needs_part || (is_web() && call_.range))) {
    const bool whole = call_.range && call_.range->offset == 0 && filled_ == 0 &&
                       call_.range->into.size() == call_.range->object_bytes;
    if (!whole) {
      fault_.emplace(StatusCode::kUnsupported,
                     "the server sends all of it where a range was asked for; accepted for tar "
                     "shards: servers that know ranges");
      return false;
    }
  }
  if (call_.range) taken = check_range();
  if (call_.sink) taken = begin_sink();
  if (!taken) fault_ = std::move(taken.error());
  return taken.has_value();
}

Result<void> S3Request::begin_sink() const {
  if (fields_.status != 200 || !fields_.length) {
    return fail(StatusCode::kIoError,
                fmt::format("the server's answer has status {} and {} length; accepted: all of the "
                            "object, with its length",
                            fields_.status, fields_.length ? "a" : "no"));
  }
  return call_.sink->begin(object_head(fields_));
}

ObjectHead object_head(const HttpAnswerHead& fields) {
  return {fields.length,           fields.etag,          fields.last_modified, fields.content_type,
          fields.content_encoding, fields.cache_control, fields.expires};
}

Result<void> S3Request::check_range() const {
  const ObjectRange& range = *call_.range;
  const std::uint64_t first = range.offset + filled_;
  const std::uint64_t bytes = range.into.size() - filled_;
  const auto wrong = [](std::string_view what, std::string_view found) {
    return fail(StatusCode::kIoError,
                fmt::format("the server's answer has {}: {}", what, printable(found, 100)));
  };
  if (fields_.status == 206) {
    const auto got = parse_content_range(fields_.content_range);
    if (!got || got->first != first || got->last != first + bytes - 1 ||
        (got->object_bytes && *got->object_bytes != range.object_bytes)) {
      return wrong(fmt::format("another range than {} bytes from {} on", bytes, first),
                   fields_.content_range);
    }
  } else if (fields_.status != 200 || first != 0 || bytes != range.object_bytes) {
    return wrong("all of the object where a range was asked for, or nothing",
                 fmt::format("status {}", fields_.status));
  }
  if (fields_.length && *fields_.length != bytes) {
    return wrong(fmt::format("another length than {} bytes", bytes),
                 fmt::format("{}", *fields_.length));
  }
  const auto etag = unquoted_etag(fields_.etag);
  if (!range.etag.empty() && !fields_.etag.empty() && etag != range.etag) {
    return wrong(fmt::format("another ETag than {}", range.etag), fields_.etag);
  }
  const auto time = parse_http_date(fields_.last_modified);
  if (range.mtime_ns != 0 && time &&
      base::to_nanoseconds(time->time_since_epoch().count()) != range.mtime_ns) {
    return fail(StatusCode::kInvalidInput, "it changed while it was read");
  }
  return {};
}

bool S3Request::body(std::span<const std::uint8_t> bytes) {
  if (call_.range && fields_.status < 300) {
    const std::span<std::uint8_t> left = call_.range->into.subspan(filled_);
    if (bytes.size() > left.size()) {
      fault_.emplace(StatusCode::kIoError, "the server sent more bytes than were asked for");
      return false;
    }
    std::memcpy(left.data(), bytes.data(), bytes.size());
    filled_ += bytes.size();
    return true;
  }
  const bool refused = fields_.status >= 300;
  if (call_.sink && !refused) {
    auto taken = call_.sink->append(bytes);
    if (!taken) fault_ = std::move(taken.error());
    paused_ = taken && !*taken;
    return taken.has_value();
  }
  const std::size_t most = refused ? kMaxAnswerBytes : call_.max_answer_bytes;
  const std::size_t taken = std::min(bytes.size(), most - body_.size());
  body_.append(reinterpret_cast<const char*>(bytes.data()), taken);
  if (taken == bytes.size()) return true;
  // Of a refusal its beginning will do; the connection is given up.
  if (!refused) {
    fault_.emplace(StatusCode::kIoError,
                   fmt::format("the server's answer is larger than {} bytes", most));
  }
  return false;
}

void S3Request::begin_turn() noexcept {
  paused_ = false;
  call_.sink->begin_turn();
}

void S3Request::give_up(Status why) noexcept {
  if (call_.done) std::exchange(call_.done, nullptr)(fail(std::move(why)));
}

// A server, or a proxy before it, may repeat a request in the text that says why it was refused.
void S3Request::hide_secrets(std::string& text) const {
  constexpr std::size_t kTellingBytes = 16;
  for (const std::string& secret : secrets_) {
    for (std::size_t i = 0; i + kTellingBytes <= text.size(); ++i) {
      const std::string_view some = std::string_view(text).substr(i, kTellingBytes);
      if (secret.find(some) == std::string::npos) continue;
      text = "(not shown: it repeats what was sent to sign the request)";
      return;
    }
  }
}

HttpTask::Next S3Request::answer(Result<S3Answer> result) {
  if (result) {
    for (std::string* const text : {&result->error.code, &result->error.message,
                                    &result->error.region, &result->fields.bucket_region}) {
      hide_secrets(*text);
    }
    result->place = std::move(place_);
  } else {
    std::string message = result.error().message() + hops_text(place_.get());
    hide_secrets(message);
    if (message != result.error().message()) {
      result = fail(result.error().code(), std::move(message));
    }
  }
  std::exchange(call_.done, nullptr)(std::move(result));
  return std::nullopt;
}

}  // namespace framewire::store::s3
