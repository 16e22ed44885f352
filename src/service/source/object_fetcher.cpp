#include <fmt/format.h>
#include <algorithm>
#include <service/source/answer_meaning.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/object_fetcher.hpp>
#include <stop_token>
#include <store/s3/gunzip.hpp>

namespace framewire::service::source {
namespace {

// As long as an origin may be slow.
constexpr std::chrono::seconds kStalled{3};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> check_buckets(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    auto url = store::parse_object_url("s3://" + name + "/");
    if (!url) return fail(std::move(url.error()));
    if (url->bucket == name) continue;
    return fail(Status(StatusCode::kInvalidInput, "is no name of a bucket").about(name));
  }
  return {};
}

FetchErrorKind kind_of_failure(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kTooLarge:
      return FetchErrorKind::kTooLarge;
    case StatusCode::kBusy:
      return FetchErrorKind::kBusy;
    case StatusCode::kDeadline:
      return FetchErrorKind::kTimeout;
    case StatusCode::kCancelled:
      return FetchErrorKind::kCancelled;
    case StatusCode::kIoError:
      return FetchErrorKind::kStore;
    default:
      return FetchErrorKind::kIo;
  }
}

// A value that the server sent, if it may be handed on.
std::string handed_on(std::string& value) {
  return is_field_value(value) ? std::move(value) : std::string();
}

// One object on its way; the reader keeps it until it is answered.
class OriginalSink final : public store::BodySink {
 public:
  OriginalSink(FetchJob& job, const Allocate& allocate, Budget& budget, bool conditional)
      : cancelled_(std::make_shared<std::atomic<bool>>(false)),
        job_(std::move(job)),
        conditional_(conditional),
        body_(allocate, budget, job_.max_bytes, job_.request.may_hold),
        on_stop_(std::in_place, job_.request.stop, Stop{cancelled_}) {}

  [[nodiscard]] const std::shared_ptr<std::atomic<bool>>& cancelled() const { return cancelled_; }

  [[nodiscard]] Result<void> begin(const store::ObjectHead& head) override {
    const std::string& coding = head.content_encoding;
    body_.reset();
    unpacker_.reset();
    if (store::s3::is_gzip(coding)) {
      unpacker_.emplace(body_);  // the length is not the original's
      return {};
    }
    if (!coding.empty()) {
      return take_no_more(FetchErrorKind::kContentEncoding);
    }
    const Body::Fault fault = body_.expect(head.bytes.value_or(0));
    if (fault) return take_no_more(*fault);
    return {};
  }
  [[nodiscard]] Result<bool> append(std::span<const std::uint8_t> bytes) override {
    if (unpacker_) {
      const auto all = unpacker_->append(bytes);
      if (!all) return take_no_more(all.error());
      return *all;
    }
    if (const Body::Fault fault = body_.append(bytes)) return take_no_more(*fault);
    return true;
  }
  void begin_turn() noexcept override {
    if (unpacker_) unpacker_->begin_turn();
  }

  // The job, of a fetch that nobody began.
  [[nodiscard]] FetchJob give_back() {
    on_stop_.reset();
    return std::move(job_);
  }
  void answer(Result<store::ObjectAnswer> answer) noexcept {
    // Nothing may call back into what is about to end.
    on_stop_.reset();
    try {
      job_.answer(result(std::move(answer)));
    } catch (...) {
      job_.answer(fail_fetch(FetchErrorKind::kBusy));
    }
  }

 private:
  struct Stop {
    std::shared_ptr<std::atomic<bool>> flag;
    void operator()() const noexcept { flag->store(true); }
  };

  [[nodiscard]] tl::unexpected<Status> take_no_more(FetchErrorKind why) {
    fault_ = why;
    return fail(StatusCode::kTooLarge, "no more of the object is taken");
  }

  [[nodiscard]] Fetched<Original> result(Result<store::ObjectAnswer> answer) {
    if (fault_) return fail_fetch(*fault_, job_.url.text());
    if (!answer) return fail_fetch(kind_of_failure(answer.error().code()), about(answer.error()));
    Original original;
    original.not_modified = answer->status == 304 && conditional_;
    if (!original.not_modified && answer->status != 200) return refused(*answer);
    original.url = job_.url.text();
    original.etag = handed_on(answer->head.etag);
    original.last_modified = handed_on(answer->head.last_modified);
    original.content_type = handed_on(answer->head.content_type);
    original.cache_control = handed_on(answer->head.cache_control);
    original.expires = handed_on(answer->head.expires);
    if (original.not_modified) return original;
    if (unpacker_ && !unpacker_->ended()) {
      return fail_fetch(FetchErrorKind::kTruncated, job_.url.text() + ": its gzip does not end");
    }
    auto bytes = body_.take();
    if (!bytes) return fail_fetch(bytes.error());
    original.bytes = bytes->bytes;
    original.keeper = std::move(bytes->keeper);
    return original;
  }

  [[nodiscard]] std::string about(const Status& why) const {
    return fmt::format("{}: {}", job_.url.text(), why.message());
  }

  [[nodiscard]] tl::unexpected<FetchError> refused(const store::ObjectAnswer& answer) const {
    const std::string why = answer.why ? about(*answer.why) : job_.url.text();
    if (answer.status == 404) return fail_fetch(FetchErrorKind::kNotFound, why);
    if (answer.status == 429 || answer.status == 503) return fail_fetch(FetchErrorKind::kBusy, why);
    // Another region, or no store at all: what the operator named is wrong, not what the URL did.
    if (answer.status < 400) return fail_fetch(FetchErrorKind::kStore, why);
    return tl::unexpected(fetch_error(FetchErrorKind::kOriginStatus, why, answer.status));
  }

  std::shared_ptr<std::atomic<bool>> cancelled_;
  FetchJob job_;
  bool conditional_;
  Body body_;
  std::optional<BodyUnpacker> unpacker_;  ///< where the object is stored compressed
  std::optional<FetchErrorKind> fault_;   ///< why the sink took no more
  std::optional<std::stop_callback<Stop>> on_stop_;
};

store::ObjectQuery query_of(const FetchJob& job, std::size_t separator_bytes) {
  store::ObjectQuery made;
  made.bucket = job.url.host;
  made.key = job.url.path.substr(1);
  if (!job.url.query.empty()) made.version = job.url.query.substr(separator_bytes);
  if (is_field_value(job.request.if_none_match)) {
    made.if_none_match = job.request.if_none_match;
  } else if (is_field_value(job.request.if_modified_since)) {
    made.if_modified_since = job.request.if_modified_since;
  }
  made.deadline = job.deadline;
  return made;
}

}  // namespace

bool permits_bucket(const ObjectSettings& settings, const std::string& bucket) {
  if (holds(settings.denied_buckets, bucket)) return false;
  return settings.allowed_buckets.empty() || holds(settings.allowed_buckets, bucket);
}

Result<std::unique_ptr<ObjectFetcher>> ObjectFetcher::make(const SourceSettings& settings,
                                                           const Network& network, Budget& budget) {
  for (const auto* names : {&settings.objects.allowed_buckets, &settings.objects.denied_buckets}) {
    if (auto checked = check_buckets(*names); !checked) return fail(std::move(checked.error()));
  }
  store::StoreTiming timing;
  timing.connect = settings.dial_timeout + settings.tls_timeout;
  timing.stalled = kStalled;
  auto reader =
      store::open_reader(settings.objects.store, timing,
                         network.environment ? network.environment : store::process_environment);
  if (!reader) return fail(std::move(reader.error()));
  std::unique_ptr<ObjectFetcher> made(new ObjectFetcher(settings, budget));
  made->reader_ = *std::move(reader);
  return made;
}

ObjectFetcher::~ObjectFetcher() = default;

Fetched<void> ObjectFetcher::submit(FetchJob& job) noexcept {
  constexpr std::string_view kTooMany = "too many objects are being fetched";
  if (under_way_.fetch_add(1) >= settings_.objects.in_flight) {
    under_way_.fetch_sub(1);
    return fail_fetch(FetchErrorKind::kBusy, kTooMany);
  }
  std::shared_ptr<OriginalSink> fetch;
  try {
    store::ObjectQuery query = query_of(job, settings_.objects.version_separator.size());
    const bool conditional = !query.if_none_match.empty() || !query.if_modified_since.empty();
    fetch = std::make_shared<OriginalSink>(job, settings_.allocate, budget_, conditional);
    query.cancelled = fetch->cancelled();
    auto started =
        reader_->start(std::move(query), fetch, [this, fetch](Result<store::ObjectAnswer> answer) {
          under_way_.fetch_sub(1);
          fetch->answer(std::move(answer));
        });
    if (started) return {};
    job = fetch->give_back();
    under_way_.fetch_sub(1);
    return fail_fetch(FetchErrorKind::kBadUrl, started.error().message());
  } catch (...) {
    if (fetch) job = fetch->give_back();
    under_way_.fetch_sub(1);
    return fail_fetch(FetchErrorKind::kBusy, kTooMany);
  }
}

}  // namespace framewire::service::source
