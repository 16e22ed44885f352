// What becomes of a request after an attempt.
#include <fmt/format.h>
#include <algorithm>
#include <base/random.hpp>
#include <store/s3/s3_request.hpp>

namespace framewire::store::s3 {
namespace {

// S3 refuses requests whose time is 15 minutes from its own.
constexpr std::chrono::minutes kMaxSkew{10};

// What the network did, and may not do again.
bool is_transient(CURLcode code) noexcept {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return true;
    default:
      return false;
  }
}

double chance() {
  const auto number = base::random_number<std::uint32_t>();
  return number ? static_cast<double>(*number) / 4294967295.0 : 0.5;
}

std::string describe(unsigned status, const ServiceError& error) {
  std::string text = fmt::format("the server answered {}", status);
  if (!error.code.empty()) text += ' ' + error.code;
  if (!error.message.empty()) text += ": " + error.message;
  return text;
}

}  // namespace

HttpTask::Next S3Request::ended(CURLcode code) {
  headers_.reset();
  if (cancelled()) return answer(fail(StatusCode::kCancelled, "was given up"));
  if (fault_) return answer(fail(*std::move(fault_)));
  // A refusal counts though its body was cut, by us or by the network.
  if (fields_.complete() && fields_.status >= 300) return judge_refusal();
  // A range is whole with its last byte, whatever the connection does behind it.
  const bool whole = call_.range && fields_.complete() && filled_ == call_.range->into.size();
  if (code != CURLE_OK && !whole) return judge_failure(code);
  if (!fields_.complete()) return answer(fail(StatusCode::kIoError, "the server sent no answer"));
  return judge_answer();
}

HttpTask::Next S3Request::judge_failure(CURLcode code) {
  const std::string_view text =
      error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  if (code == CURLE_OUT_OF_MEMORY && !fields_.complete()) {
    // So libcurl calls a line of a head that is longer than it takes.
    return answer(
        fail(StatusCode::kIoError, "the server's answer has too long a head, or memory ran out"));
  }
  const bool late = code == CURLE_OPERATION_TIMEDOUT;
  Status why(late ? StatusCode::kDeadline : StatusCode::kIoError, printable(text));
  if (is_transient(code)) return again(std::move(why), std::chrono::milliseconds(0));
  return answer(fail(std::move(why)));
}

HttpTask::Next S3Request::judge_answer() {
  if (call_.range && filled_ < call_.range->into.size()) {
    return again(Status(StatusCode::kIoError, "the server's answer was cut"),
                 std::chrono::milliseconds(0));
  }
  if (call_.answer_comes_late && !is_completion(body_)) {
    // It stands for the status that could not be sent any more.
    const ServiceError error =
        parse_service_error(body_).value_or(ServiceError{"InternalError", "", ""});
    if (may_retry(0, error.code)) {
      return again(Status(StatusCode::kIoError, describe(fields_.status, error)),
                   std::chrono::milliseconds(0));
    }
    return answer(
        fail(code_of_answer(fields_.status, error.code), describe(fields_.status, error)));
  }
  return answer(S3Answer{std::move(fields_), std::move(body_), {}, nullptr});
}

HttpTask::Next S3Request::judge_refusal() {
  const unsigned status = fields_.status;
  // Signed addresses end; the first one knows a new one. Never twice: its place is another object.
  const bool has_ended =
      fields_.is_redirect() || status == 401 || status == 403 || status == 404 || status == 410;
  if (place_ && place_ == call_.place && has_ended) {
    place_.reset();
    --attempts_;
    return base::Clock::now();
  }
  if (is_web() && fields_.is_redirect()) return follow_redirect();
  const ServiceError error = parse_service_error(body_).value_or(ServiceError{});
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  Status why(code_of_answer(status, error.code), describe(status, error));
  // Answers to HEAD have no body, so no code either: their status, and the time, have to do.
  const bool signs = !is_web();
  const bool without_code = signs && call_.method == "HEAD";
  const auto date = parse_http_date(fields_.date);
  const bool is_skewed =
      date && without_code && status == 403 &&
      std::chrono::abs(*date - now - std::chrono::seconds(context_.clock_offset_s.load())) >
          kMaxSkew;
  if (signs && date && (is_skewed || blames_clock(status, error.code)) &&
      !std::exchange(clock_corrected_, true)) {
    context_.clock_offset_s.store((*date - now).count());
    return again(std::move(why), std::chrono::milliseconds(0));
  }
  if (signs && (blames_expiry(status, error.code) ||
                (without_code && status == 400 && context_.credentials->can_renew()))) {
    context_.credentials->renew_soon();
    return again(std::move(why), std::chrono::milliseconds(0));
  }
  if (may_retry(status, error.code)) {
    const auto asked = parse_retry_after(fields_.retry_after, now, context_.timing);
    return again(std::move(why), asked.value_or(std::chrono::milliseconds(0)));
  }
  return answer(S3Answer{std::move(fields_), {}, error, nullptr});
}

// The time of a request, which begins with its first attempt, is that of all hops.
HttpTask::Next S3Request::follow_redirect() {
  auto place = redirected(url(), place_.get(), fields_.location);
  if (!place) {
    place_.reset();  // told already
    return answer(fail(std::move(place.error())));
  }
  place_ = std::make_shared<const WebPlace>(*std::move(place));
  const auto now = base::Clock::now();
  if (now >= end()) {
    return answer(fail(StatusCode::kDeadline, "the time was over before the last redirect"));
  }
  --attempts_;
  return now;
}

HttpTask::Next S3Request::again(Status why, std::chrono::milliseconds at_least) {
  const auto now = base::Clock::now();
  const auto wait = std::max(backoff(attempts_, chance(), context_.timing), at_least);
  const bool late = now + wait >= end();
  if (attempts_ >= context_.attempts || late) {
    // Who is busy for longer than there is time is busy all the same.
    const bool deadline = late && why.code() != StatusCode::kBusy;
    return answer(fail(deadline ? StatusCode::kDeadline : why.code(),
                       fmt::format("{} (attempt {})", why.message(), attempts_)));
  }
  return now + wait;
}

Status refusal(const S3Answer& answer) {
  const unsigned status = answer.fields.status;
  std::string text = describe(status, answer.error);
  const std::string region = answer.error.region.empty()
                                 ? printable(answer.fields.bucket_region, 64)
                                 : answer.error.region;
  if ((status == 301 || status == 307 || status == 400) && !region.empty()) {
    text += "; the bucket is in region " + region;
  } else if (status >= 301 && status <= 308) {
    text += "; redirects are not followed: name the endpoint, or the region, where the bucket is";
  } else if (status == 403 && answer.error.code.empty()) {
    text += "; the credentials may not do this, or not learn whether there is such an object";
  } else if (status == 412) {
    text += "; the object changed while it was read";
  }
  return {code_of_answer(status, answer.error.code), std::move(text)};
}

}  // namespace framewire::store::s3
