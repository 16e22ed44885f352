#include <base/ascii.hpp>
#include <base/nanoseconds.hpp>
#include <base/random.hpp>
#include <future>
#include <store/s3/s3_store.hpp>
#include <store/s3/s3_upload.hpp>
#include <store/s3/web_store.hpp>

namespace framewire::store {

Result<std::shared_ptr<ObjectStore>> open_store(const std::string& bucket,
                                                const StoreSettings& settings) {
  if (is_web_url(bucket)) return s3::open_web_store(bucket, settings, {});
  return s3::open_s3_store(bucket, settings, {}, process_environment);
}

namespace s3 {

Result<std::shared_ptr<ObjectStore>> open_s3_store(const std::string& bucket,
                                                   const StoreSettings& settings,
                                                   const StoreTiming& timing,
                                                   const EnvironmentLookup& environment) {
  auto client = S3Client::make(bucket, settings, timing, environment);
  if (!client) return fail(std::move(client.error()));
  return std::make_shared<S3Store>(bucket, settings, *std::move(client));
}

Result<std::string> make_write_id() {
  std::array<std::byte, 16> bytes{};
  if (auto filled = base::fill_random(bytes); !filled) return fail(std::move(filled.error()));
  return base::to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

TextPairs headers_of(PutCondition condition) {
  if (condition == PutCondition::kNone) return {};
  return {{"if-none-match", "*"}};
}

TextPairs if_same(const std::string& etag) { return {{"if-match", '"' + etag + '"'}}; }

// Where the object has gone meanwhile servers answer If-Match with 412 or 404.
bool says_changed(const S3Answer& answer, const TextPairs& condition) {
  if (condition.empty()) return false;
  return answer.fields.status == 412 ||
         (answer.fields.status == 404 && answer.error.code == "NoSuchKey");
}

Status refusal_of_write(const S3Answer& answer, const TextPairs& condition) {
  const bool unknown =
      answer.fields.status == 501 && !condition.empty() && condition.front().first == "if-match";
  if (!unknown) return refusal(answer);
  return {StatusCode::kUnsupported,
          refusal(answer).message() + "; it does not know writes with If-Match"};
}

S3Store::S3Store(std::string bucket, const StoreSettings& settings,
                 std::unique_ptr<S3Client> client)
    : bucket_(std::move(bucket)),
      max_reads_(settings.reads_in_flight),
      parts_in_flight_(settings.parts_in_flight),
      client_(std::move(client)) {}

S3Store::~S3Store() { close(); }

void S3Store::close() noexcept {
  std::deque<S3Call> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
  }
  for (const S3Call& call : waiting) {
    call.done(fail(StatusCode::kCancelled, "the store is being closed"));
  }
  client_->close();
}

std::string S3Store::label(std::string_view key) const {
  return "s3://" + bucket_ + '/' + std::string(key);
}

tl::unexpected<Status> S3Store::failed(std::string_view key, const Status& why) const {
  return fail(Status(why.code(), why.message()).about(label(key)));
}

Result<std::optional<ObjectInfo>> S3Store::find(const std::string& key) {
  S3Call call;
  call.method = "HEAD";
  call.key = key;
  auto answer = client_->perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  if (answer->fields.status == 404) return std::nullopt;
  if (answer->fields.status >= 300) return failed(key, explain(*answer));
  const auto time = parse_http_date(answer->fields.last_modified);
  auto etag = unquoted_etag(answer->fields.etag);
  if (!answer->fields.length || !time || !etag) {
    return failed(key, Status(StatusCode::kIoError,
                              "the server's answer has no length, Last-Modified or ETag"));
  }
  return ObjectInfo{key, *answer->fields.length, *std::move(etag),
                    base::to_nanoseconds(time->time_since_epoch().count()),
                    std::move(answer->fields.mark)};
}

Result<ListingPage> S3Store::list_page(const std::string& prefix, const std::string& after,
                                       const std::string& token) {
  S3Call call;
  call.method = "GET";
  call.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}};
  if (!token.empty()) {
    call.query.emplace_back("continuation-token", token);
  } else if (!after.empty()) {
    call.query.emplace_back("start-after", after);
  }
  call.max_answer_bytes = kMaxListingBytes;
  auto answer = client_->perform(std::move(call));
  if (!answer) return failed(prefix, answer.error());
  if (answer->fields.status >= 300) return failed(prefix, explain(*answer));
  auto page = parse_listing(answer->body);
  if (!page) return failed(prefix, page.error());
  return page;
}

Result<void> S3Store::list(const std::string& prefix, const std::string& after,
                           const std::function<bool(const ObjectInfo&)>& take) {
  // Without keys a server could answer pages for ever.
  constexpr unsigned kMaxEmptyPages = 100;
  unsigned empty_pages = 0;
  std::string last = after;
  std::string token;
  do {
    auto page = list_page(prefix, after, token);
    if (!page) return fail(std::move(page.error()));
    for (const ObjectInfo& object : page->objects) {
      if (!object.key.starts_with(prefix) || object.key <= last) {
        return failed(object.key, Status(StatusCode::kIoError,
                                         "the server lists keys out of order, or not asked for"));
      }
      last = object.key;
      if (!take(object)) return {};
    }
    empty_pages = page->objects.empty() ? empty_pages + 1 : 0;
    token = std::move(page->next);
  } while (!token.empty() && empty_pages < kMaxEmptyPages);
  if (token.empty()) return {};
  return failed(prefix, Status(StatusCode::kIoError, "the server's listing has no end"));
}

Result<std::size_t> S3Store::read_at(const ObjectInfo& object, std::uint64_t offset,
                                     std::span<std::uint8_t> into) {
  const auto promise = std::make_shared<std::promise<Result<std::size_t>>>();
  auto got = promise->get_future();
  start_read(object, offset, into,
             [promise](Result<std::size_t> result) { promise->set_value(std::move(result)); });
  return got.get();
}

void S3Store::start_read(const ObjectInfo& object, std::uint64_t offset,
                         std::span<std::uint8_t> into, Done done) {
  if (offset >= object.bytes || into.empty()) return done(std::size_t{0});
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), object.bytes - offset));
  S3Call call;
  call.method = "GET";
  call.key = object.key;
  call.place = place_of(object.key);
  call.range = ObjectRange{into.first(bytes), offset, object.etag, object.bytes,
                           object.etag.empty() ? object.mtime_ns : 0};
  call.done = [this, bytes, key = object.key, done = std::move(done)](Result<S3Answer> answer) {
    // Before the caller's turn: it may wait for the next read.
    read_ended();
    done(result_of_read(key, bytes, answer));
  };
  {
    const std::lock_guard lock(mutex_);
    if (reads_ >= max_reads_) {
      waiting_.push_back(std::move(call));
      return;
    }
    ++reads_;
  }
  client_->submit(std::move(call));
}

// Whoever reads waits for an answer, which an exception would not be.
Result<std::size_t> S3Store::result_of_read(const std::string& key, std::size_t bytes,
                                            const Result<S3Answer>& answer) noexcept try {
  if (!answer) return failed(key, answer.error());
  if (answer->fields.status >= 300) return failed(key, explain(*answer));
  keep_place(key, *answer);
  return bytes;
} catch (const std::exception&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void S3Store::read_ended() {
  S3Call next;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || waiting_.empty()) {
      --reads_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
    // Under the lock: once the store is closed_, its client goes.
    if (client_->try_submit(next)) return;
  }
  next.done(fail(StatusCode::kBusy, "memory ran out"));  // comes here for the one behind it
}

Result<bool> S3Store::is_own_write(const std::string& key, const std::string& write_id) {
  S3Call call;
  call.method = "HEAD";
  call.key = key;
  auto answer = client_->perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  if (answer->fields.status == 404) return false;
  if (answer->fields.status >= 300) return failed(key, explain(*answer));
  return answer->fields.write_id == write_id;
}

Result<PutOutcome> S3Store::put(const std::string& key, std::span<const std::uint8_t> bytes,
                                PutCondition condition) {
  std::string etag;
  return put(key, bytes, headers_of(condition), "", etag);
}

Result<PutOutcome> S3Store::replace(const ObjectInfo& seen, std::span<const std::uint8_t> bytes) {
  std::string etag;
  return put(seen.key, bytes, if_same(seen.etag), "", etag);
}

Result<PutOutcome> S3Store::put(const std::string& key, std::span<const std::uint8_t> bytes,
                                const TextPairs& condition, const std::string& mark,
                                std::string& etag) {
  S3Call call;
  call.method = "PUT";
  call.key = key;
  call.body = bytes;
  if (!mark.empty()) call.headers.emplace_back(kMarkHeader, mark);
  std::string write_id;
  if (!condition.empty()) {
    auto made = make_write_id();
    if (!made) return failed(key, made.error());
    write_id = *std::move(made);
    call.headers.insert(call.headers.end(), condition.begin(), condition.end());
    call.headers.emplace_back(kWriteIdHeader, write_id);
  }
  auto answer = client_->perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  if (answer->fields.status < 300) {
    etag = unquoted_etag(answer->fields.etag).value_or("");
    return PutOutcome::kStored;
  }
  if (!says_changed(*answer, condition)) {
    return failed(key, refusal_of_write(*answer, condition));
  }
  auto own = is_own_write(key, write_id);
  if (!own) return fail(std::move(own.error()));
  return *own ? PutOutcome::kStored : PutOutcome::kExists;
}

Result<std::unique_ptr<ObjectUpload>> S3Store::upload(const std::string& key) {
  return std::make_unique<S3Upload>(shared_from_this(), key, parts_in_flight_);
}

Result<void> S3Store::remove(const std::string& key) {
  S3Call call;
  call.method = "DELETE";
  call.key = key;
  auto answer = client_->perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  // 404 is also a bucket that is not there, or an upload.
  if (answer->fields.status < 300 || answer->error.code == "NoSuchKey") return {};
  return failed(key, explain(*answer));
}

}  // namespace s3
}  // namespace framewire::store
