#include <fmt/format.h>
#include <algorithm>
#include <base/nanoseconds.hpp>
#include <optional>
#include <store/s3/gunzip.hpp>
#include <store/s3/web_store.hpp>

namespace framewire::store::s3 {
namespace {

// Some 20 MB where every address is as long as it may be. More shards than that are never open.
constexpr std::size_t kMaxPlaces = 1'000;

// Behind a redirect it is an error, which tells where nothing was.
bool is_missing(const S3Answer& answer) noexcept {
  const unsigned status = answer.fields.status;
  return !answer.place && (status == 404 || status == 410);
}

// A weak one says that the content means the same, not that its bytes are the same.
std::string strong_etag(const HttpAnswerHead& fields) {
  if (fields.etag.starts_with("W/")) return {};
  return unquoted_etag(fields.etag).value_or("");
}

ObjectInfo info_of(const std::string& key, const HttpAnswerHead& fields, std::uint64_t bytes) {
  const auto time = parse_http_date(fields.last_modified);
  return {key, bytes, strong_etag(fields),
          time ? base::to_nanoseconds(time->time_since_epoch().count()) : 0};
}

/// Collects one object.
class WholeSink final : public BodySink {
 public:
  explicit WholeSink(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  Result<void> begin(const ObjectHead& head) override {
    bytes.clear();
    gunzip_.reset();
    if (is_gzip(head.content_encoding)) {
      gunzip_.emplace();
    } else if (!head.content_encoding.empty()) {
      return fail(StatusCode::kUnsupported,
                  fmt::format("has Content-Encoding {}; accepted: gzip, identity",
                              printable(head.content_encoding, 100)));
    }
    if (!gunzip_ && *head.bytes > max_bytes_) return too_large(*head.bytes);
    return {};
  }
  Result<bool> append(std::span<const std::uint8_t> more) override {
    if (!gunzip_) return add(more);
    gunzip_->give(more);
    while (true) {
      const auto piece = gunzip_->next();
      if (!piece) return fail(piece.error());
      if (piece->empty()) return true;
      if (auto added = add(*piece); !added) return added;
    }
  }
  /// Whether a body that is sent compressed has come to its end.
  [[nodiscard]] bool is_whole() const noexcept { return !gunzip_ || gunzip_->ended(); }
  std::vector<std::uint8_t> bytes;

 private:
  [[nodiscard]] Result<bool> add(std::span<const std::uint8_t> more) {
    if (more.size() > max_bytes_ - bytes.size()) return too_large(bytes.size() + more.size());
    bytes.insert(bytes.end(), more.begin(), more.end());
    return true;
  }
  [[nodiscard]] tl::unexpected<Status> too_large(std::uint64_t found) const {
    return fail(StatusCode::kTooLarge,
                fmt::format("has {} bytes or more; accepted: up to {}", found, max_bytes_));
  }
  const std::uint64_t max_bytes_;
  std::optional<Gunzip> gunzip_;  ///< where the body is compressed
};

}  // namespace

Result<std::shared_ptr<ObjectStore>> open_web_store(const std::string& origin,
                                                    const StoreSettings& settings,
                                                    const StoreTiming& timing) {
  auto client = S3Client::make_web(origin, settings, timing);
  if (!client) return fail(std::move(client.error()));
  return std::make_shared<WebStore>(origin, settings, *std::move(client));
}

WebStore::WebStore(std::string origin, const StoreSettings& settings,
                   std::unique_ptr<S3Client> client)
    : S3Store(origin, settings, std::move(client)), origin_(std::move(origin)) {}

std::string WebStore::label(std::string_view key) const {
  return origin_ + '/' + std::string(key.substr(0, key.find('?')));
}

Status WebStore::explain(const S3Answer& answer) const {
  const unsigned status = answer.fields.status;
  std::string text = fmt::format("the server answered {}", status);
  if (status == 412) text += "; it changed while it was read";
  text += hops_text(answer.place.get());
  if (status >= 300 && status < 400) return {StatusCode::kInvalidInput, std::move(text)};
  return {code_of_answer(status, {}), std::move(text)};
}

std::shared_ptr<const WebPlace> WebStore::place_of(const std::string& key) {
  const std::lock_guard lock(places_mutex_);
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : found->second;
}

void WebStore::keep_place(const std::string& key, const S3Answer& answer) {
  const std::lock_guard lock(places_mutex_);
  if (!answer.place) {
    places_.erase(key);
    return;
  }
  // Who is forgotten is redirected again.
  if (places_.size() >= kMaxPlaces && !places_.contains(key)) places_.clear();
  places_[key] = answer.place;
}

Result<std::optional<ObjectInfo>> WebStore::find(const std::string& key) {
  S3Call call;
  call.method = "HEAD";
  call.key = key;
  auto answer = client().perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  const HttpAnswerHead& fields = answer->fields;
  if (is_missing(*answer)) return std::nullopt;
  // An address that is signed holds for GET alone; some servers know no HEAD.
  const bool head_refused =
      fields.status == 400 || fields.status == 403 || fields.status == 405 || fields.status == 501;
  if (head_refused || (fields.status < 300 && !fields.length)) return find_by_range(key);
  if (fields.status >= 300) return failed(key, explain(*answer));
  keep_place(key, *answer);
  return info_of(key, fields, *fields.length);
}

Result<std::optional<ObjectInfo>> WebStore::find_by_range(const std::string& key) {
  S3Call call;
  call.method = "GET";
  call.key = key;
  call.headers = {{"range", "bytes=0-0"}};
  call.needs_part = true;
  call.max_answer_bytes = 1;
  auto answer = client().perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  const HttpAnswerHead& fields = answer->fields;
  if (is_missing(*answer)) return std::nullopt;
  if (fields.status >= 300) return failed(key, explain(*answer));
  const auto range = parse_content_range(fields.content_range);
  if (!range || range->first != 0 || range->last != 0 || !range->object_bytes) {
    return failed(key, Status(StatusCode::kIoError,
                              fmt::format("the server's answer does not say how long the whole is: "
                                          "Content-Range: {}",
                                          printable(fields.content_range, 100))));
  }
  keep_place(key, *answer);
  return info_of(key, fields, *range->object_bytes);
}

Result<std::optional<WholeObject>> WebStore::read_whole(const std::string& key,
                                                        std::uint64_t max_bytes) {
  const auto sink = std::make_shared<WholeSink>(max_bytes);
  S3Call call;
  call.method = "GET";
  call.key = key;
  call.sink = sink;
  auto answer = client().perform(std::move(call));
  if (!answer) return failed(key, answer.error());
  if (is_missing(*answer)) return std::nullopt;
  if (answer->fields.status >= 300) return failed(key, explain(*answer));
  if (!sink->is_whole()) {
    return failed(key, Status(StatusCode::kIoError, "is cut off: its gzip does not end"));
  }
  ObjectInfo info = info_of(key, answer->fields, sink->bytes.size());
  return WholeObject{std::move(info), std::move(sink->bytes)};
}

tl::unexpected<Status> WebStore::read_only(const std::string& key) const {
  return failed(key, Status(StatusCode::kUnsupported,
                            "is an address of a web server, which can only be read, by whole "
                            "names; accepted: a folder, or s3://BUCKET/PREFIX/"));
}

Result<void> WebStore::list(const std::string& prefix, const std::string&,
                            const std::function<bool(const ObjectInfo&)>&) {
  return read_only(prefix);
}

Result<PutOutcome> WebStore::put(const std::string& key, std::span<const std::uint8_t>,
                                 PutCondition) {
  return read_only(key);
}

Result<PutOutcome> WebStore::replace(const ObjectInfo& seen, std::span<const std::uint8_t>) {
  return read_only(seen.key);
}

Result<std::unique_ptr<ObjectUpload>> WebStore::upload(const std::string& key) {
  return read_only(key);
}

Result<void> WebStore::remove(const std::string& key) { return read_only(key); }

}  // namespace framewire::store::s3
