#include <fmt/format.h>
#include <algorithm>
#include <store/part_sizes.hpp>
#include <store/s3/s3_upload.hpp>

namespace framewire::store::s3 {

S3Upload::S3Upload(std::shared_ptr<S3Store> store, std::string key, unsigned parts_in_flight)
    : store_(std::move(store)),
      key_(std::move(key)),
      parts_in_flight_(parts_in_flight),
      cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

S3Upload::~S3Upload() { abandon(); }

void S3Upload::abandon() noexcept {
  cancelled_->store(true);
  try {
    (void)wait_for_parts(0);
    if (upload_id_.empty()) return;
    S3Call call;
    call.method = "DELETE";
    call.key = key_;
    call.query = {{"uploadId", upload_id_}};
    (void)store_->client().perform(std::move(call));
  } catch (const std::exception&) {
    // What is left behind goes by the bucket's rule for uploads that are not completed.
  }
}

Result<void> S3Upload::append(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = part_bytes(parts_ + 1);
    // A whole part waits for the byte behind it: an object of one part is one PUT.
    if (collected_.size() == size) {
      if (auto sent = send_part(); !sent) return sent;
      continue;
    }
    if (collected_.empty() && parts_ > 0) collected_.reserve(size);
    const auto taken = bytes.first(std::min(bytes.size(), size - collected_.size()));
    collected_.insert(collected_.end(), taken.begin(), taken.end());
    bytes = bytes.subspan(taken.size());
  }
  const std::lock_guard lock(mutex_);
  if (failure_) return fail(*failure_);
  return {};
}

Result<void> S3Upload::begin() {
  auto id = make_write_id();
  if (!id) return store_->failed(key_, id.error());
  write_id_ = *std::move(id);
  S3Call call;
  call.method = "POST";
  call.key = key_;
  call.query = {{"uploads", ""}};
  call.headers = {{std::string(kWriteIdHeader), write_id_}};
  if (!mark_.empty()) call.headers.emplace_back(kMarkHeader, mark_);
  auto answer = store_->client().perform(std::move(call));
  if (!answer) return store_->failed(key_, answer.error());
  if (answer->fields.status >= 300) return store_->failed(key_, refusal(*answer));
  auto upload = parse_upload_id(answer->body);
  if (!upload) return store_->failed(key_, upload.error());
  upload_id_ = *std::move(upload);
  return {};
}

Result<void> S3Upload::send_part() {
  if (parts_ == kMaxParts) {
    return store_->failed(key_, Status(StatusCode::kTooLarge, "is larger than 10,000 parts hold"));
  }
  if (upload_id_.empty()) {
    if (auto begun = begin(); !begun) return begun;
  }
  if (auto free = wait_for_parts(parts_in_flight_ - 1); !free) return free;
  // A part that is counted and not sent would be waited for without end, so all that may throw
  // comes before it is counted.
  const unsigned number = parts_ + 1;
  const auto part = std::make_shared<PartBytes>();
  S3Call call;
  call.method = "PUT";
  call.key = key_;
  call.query = {{"partNumber", fmt::format("{}", number)}, {"uploadId", upload_id_}};
  call.keeper = part;
  call.cancelled = cancelled_;
  call.done = [this, number](Result<S3Answer> answer) { part_ended(number, std::move(answer)); };
  {
    const std::lock_guard lock(mutex_);
    etags_.resize(number);
    ++in_flight_;
  }
  parts_ = number;
  part->swap(collected_);
  call.body = *part;
  store_->client().submit(std::move(call));
  return {};
}

Result<std::string> S3Upload::etag_of_part(const Result<S3Answer>& answer) const noexcept try {
  if (!answer) return store_->failed(key_, answer.error());
  if (answer->fields.status >= 300) return store_->failed(key_, refusal(*answer));
  auto etag = unquoted_etag(answer->fields.etag);
  if (!etag || etag->empty()) {
    return store_->failed(
        key_, Status(StatusCode::kIoError, "the server's answer to a part has no ETag"));
  }
  return *std::move(etag);
} catch (const std::exception&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void S3Upload::part_ended(unsigned number, Result<S3Answer> answer) noexcept {
  auto etag = etag_of_part(answer);
  const std::lock_guard lock(mutex_);
  if (etag) {
    etags_[number - 1] = *std::move(etag);
  } else if (!failure_) {
    failure_ = std::move(etag.error());
  }
  --in_flight_;
  part_done_.notify_all();  // under the lock: whoever waits may destroy this
}

Result<void> S3Upload::wait_for_parts(unsigned left) {
  std::unique_lock lock(mutex_);
  part_done_.wait(lock, [&] { return in_flight_ <= left; });
  if (failure_) return fail(*failure_);
  return {};
}

Result<PutOutcome> S3Upload::complete_if(const TextPairs& condition) {
  if (parts_ == 0) {
    // Kept where somebody was first: it may be asked for again.
    auto outcome = store_->put(key_, collected_, condition, mark_, etag_);
    if (outcome && *outcome == PutOutcome::kStored) collected_ = {};
    return outcome;
  }
  if (!collected_.empty()) {
    if (auto sent = send_part(); !sent) return fail(std::move(sent.error()));
  }
  if (auto all = wait_for_parts(0); !all) return fail(std::move(all.error()));
  return complete_parts(condition);
}

Result<PutOutcome> S3Upload::complete_parts(const TextPairs& condition) {
  const std::string body = completion_body(etags_);
  S3Call call;
  call.method = "POST";
  call.key = key_;
  call.query = {{"uploadId", upload_id_}};
  call.headers = condition;
  call.body = {reinterpret_cast<const std::uint8_t*>(body.data()), body.size()};
  call.answer_comes_late = true;
  auto answer = store_->client().perform(std::move(call));
  if (answer && answer->fields.status < 300) {
    upload_id_.clear();
    etag_ = completed_etag(answer->body);
    return PutOutcome::kStored;
  }
  const bool changed = answer && says_changed(*answer, condition);
  if (answer && !changed && answer->error.code != "NoSuchUpload") {
    return store_->failed(key_, refusal_of_write(*answer, condition));
  }
  // Somebody was first, or we were and did not hear of it.
  const auto own = store_->is_own_write(key_, write_id_);
  if (own && *own) {
    upload_id_.clear();
    return PutOutcome::kStored;
  }
  if (!answer) return store_->failed(key_, answer.error());
  if (!own) return fail(own.error());
  if (changed) return PutOutcome::kExists;
  return store_->failed(key_, refusal(*answer));
}

}  // namespace framewire::store::s3
