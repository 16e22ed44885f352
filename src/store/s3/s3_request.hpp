// One request to S3: signed, sent, judged, and sent again.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <store/address.hpp>
#include <store/http_answer_head.hpp>
#include <store/object_reader.hpp>
#include <store/s3/credential_keeper.hpp>
#include <store/s3/http_loops.hpp>
#include <store/s3/web_place.hpp>
#include <store/xml_answers.hpp>

namespace framewire::store::s3 {

/// What all requests to an endpoint share. Outlives them.
struct S3Context {
  StoreTiming timing;
  unsigned attempts = 5;
  CredentialKeeper* credentials = nullptr;  ///< null: requests are not signed
  /// Seconds that the server's clock is ahead of ours, as far as it has complained.
  std::atomic<std::int64_t> clock_offset_s = 0;
};

/// Bytes of one version of an object.
struct ObjectRange {
  std::span<std::uint8_t> into;  ///< all of it is there: the object is that long
  std::uint64_t offset = 0;
  std::string etag;  ///< empty: the server told none
  std::uint64_t object_bytes = 0;
  std::int64_t mtime_ns = 0;  ///< Last-Modified, by which an object without ETag is known; 0: not
};

/// The last answer to a request, whatever its status.
struct S3Answer {
  HttpAnswerHead fields;
  std::string body;                       ///< of what is no range
  ServiceError error;                     ///< of a status from 300 on; parts may be empty
  std::shared_ptr<const WebPlace> place;  ///< whose answer it is; null: nobody redirected
};

/// What is asked for.
struct S3Call {
  std::shared_ptr<const BucketAddress> address;  ///< empty: of the client's own bucket
  std::string method;                            ///< GET, HEAD, PUT, POST or DELETE
  std::string key;                               ///< empty: the bucket itself
  TextPairs query;
  /// Of web servers: where to begin, as an earlier request was redirected. Where that place refuses
  /// or has nothing (any more), the address above is asked, once.
  std::shared_ptr<const WebPlace> place;
  TextPairs headers;  ///< names in lower case; without those that sign
  std::span<const std::uint8_t> body;
  std::shared_ptr<const void> keeper;  ///< of the body; empty: the caller keeps it until the answer
  std::optional<ObjectRange> range;
  bool needs_part = false;         ///< an answer of 200 is an error: all instead of what was asked
  std::shared_ptr<BodySink> sink;  ///< takes the body of an answer of 200, which needs a length
  std::size_t max_answer_bytes = kMaxAnswerBytes;
  /// An answer of 200 may hold an <Error>, or begin long before it ends: CompleteMultipartUpload.
  bool answer_comes_late = false;
  base::Clock::time_point deadline = base::Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  ///< may be empty
  /// Called once, by a loop's thread. Errors: io_error, deadline, busy, denied for credentials that
  /// ended, cancelled; without a subject.
  std::function<void(Result<S3Answer>)> done;
};

class S3Request final : public HttpTask {
 public:
  /// @param payload_hash  SHA-256 of the body, hexadecimal
  S3Request(S3Context& context, S3Call call, std::string payload_hash);

  [[nodiscard]] std::optional<Next> prepare(CURL* easy) override;
  [[nodiscard]] Next ended(CURLcode code) override;
  [[nodiscard]] bool cancelled() const noexcept override {
    return call_.cancelled && call_.cancelled->load();
  }
  void give_up(Status why) noexcept override;
  [[nodiscard]] bool is_paused() const noexcept override { return paused_; }
  void begin_turn() noexcept override;
  /// The call, of a request that no loop has taken.
  [[nodiscard]] S3Call take_call() noexcept { return std::move(call_); }

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept;

  [[nodiscard]] Result<void> set_up(CURL* easy, std::chrono::milliseconds left);
  [[nodiscard]] Result<TextPairs> signed_headers();
  [[nodiscard]] TextPairs web_headers() const;
  void add_range(TextPairs& headers) const;
  /// Where the attempt goes to.
  [[nodiscard]] std::string url() const;
  /// Requests to web servers are not signed, and follow redirects.
  [[nodiscard]] bool is_web() const noexcept { return context_.credentials == nullptr; }
  [[nodiscard]] bool set_method(CURL* easy);
  [[nodiscard]] bool header(std::string_view line);
  [[nodiscard]] bool body(std::span<const std::uint8_t> bytes);
  [[nodiscard]] Result<void> check_range() const;
  [[nodiscard]] Result<void> begin_sink() const;
  [[nodiscard]] std::chrono::milliseconds total() const noexcept;
  /// Of all attempts, once the first has begun.
  [[nodiscard]] base::Clock::time_point end() const noexcept;

  [[nodiscard]] Next judge_failure(CURLcode code);
  [[nodiscard]] Next judge_answer();
  [[nodiscard]] Next judge_refusal();
  [[nodiscard]] Next follow_redirect();
  [[nodiscard]] Next again(Status why, std::chrono::milliseconds at_least);
  [[nodiscard]] Next answer(Result<S3Answer> result);
  void hide_secrets(std::string& text) const;

  S3Context& context_;
  S3Call call_;
  const std::string payload_hash_;
  std::optional<base::Clock::time_point> began_;
  unsigned attempts_ = 0;  ///< that have begun
  bool clock_corrected_ = false;
  std::shared_ptr<const WebPlace> place_;  ///< that redirects have led to
  std::size_t filled_ = 0;                 ///< of the range, over all attempts

  // Of the attempt under way.
  CurlList headers_;
  HttpAnswerHead fields_;
  std::string body_;
  std::optional<Status> fault_;  ///< why we gave it up
  bool paused_ = false;          ///< the sink has left some of the body for another turn
  /// What was sent and is not to be told, whatever the server repeats.
  std::array<std::string, 2> secrets_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

/// The head of an answer as a reader's caller sees it.
[[nodiscard]] ObjectHead object_head(const HttpAnswerHead& fields);

/// What an answer that refuses means, for the caller of a store.
[[nodiscard]] Status refusal(const S3Answer& answer);

}  // namespace framewire::store::s3
