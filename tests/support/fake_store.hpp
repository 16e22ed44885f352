// A bucket in memory, whose requests a test can watch, delay, fail, or do something before.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <store/object_store.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::store::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes to_bytes(std::string_view text) { return {text.begin(), text.end()}; }

/// What is done to a bucket.
enum class Request : std::uint8_t { kFind, kList, kRead, kPut, kUpload, kPart, kComplete, kRemove };

/// All members may be called by any number of threads at once, also by what `before` does.
class FakeStore final : public ObjectStore {
 public:
  /// Called before a request is done, by the thread that does it. @return an error in its place
  using Before = std::function<std::optional<Status>(Request, const std::string& key)>;

  explicit FakeStore(std::string bucket = "bucket", unsigned threads = 4)
      : bucket_(std::move(bucket)) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~FakeStore() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  /// From now on everything is stored at the same time.
  void stop_clock() {
    const std::lock_guard lock(mutex_);
    ticks_ = false;
  }

  std::string label(std::string_view key) const override {
    return fmt::format("s3://{}/{}", bucket_, key);
  }
  Result<std::optional<ObjectInfo>> find(const std::string& key) override {
    if (auto fault = meet(Request::kFind, key)) return fail(*fault);
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return std::nullopt;
    ObjectInfo told = info(*found);
    told.mark = found->second.mark;
    return told;
  }
  Result<void> list(const std::string& prefix, const std::string& after,
                    const std::function<bool(const ObjectInfo&)>& take) override {
    std::string last = after;
    for (;;) {
      if (auto fault = meet(Request::kList, prefix)) return fail(*fault);
      std::vector<ObjectInfo> page;
      {
        const std::lock_guard lock(mutex_);
        auto at = last < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(last);
        for (; at != objects_.end() && at->first.starts_with(prefix) && page.size() < page_keys;
             ++at) {
          page.push_back(info(*at));
        }
      }
      if (page.empty()) return {};
      for (const ObjectInfo& object : page) {
        if (!take(object)) return {};
      }
      last = page.back().key;
    }
  }
  Result<std::size_t> read_at(const ObjectInfo& object, std::uint64_t offset,
                              std::span<std::uint8_t> into) override {
    const unsigned now = ++reading;
    for (unsigned seen = most_reading;
         now > seen && !most_reading.compare_exchange_weak(seen, now);) {
    }
    auto got = read_now(object, offset, into);
    --reading;
    return got;
  }
  void start_read(const ObjectInfo& object, std::uint64_t offset, std::span<std::uint8_t> into,
                  Done done) override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back([this, object, offset, into, done = std::move(done)] {
      done(read_at(object, offset, into));
    });
    changed_.notify_all();
  }
  Result<PutOutcome> put(const std::string& key, std::span<const std::uint8_t> bytes,
                         PutCondition condition) override {
    if (auto fault = meet(Request::kPut, key)) return fail(*fault);
    return store(key, Bytes(bytes.begin(), bytes.end()), condition);
  }
  Result<PutOutcome> replace(const ObjectInfo& seen, std::span<const std::uint8_t> bytes) override {
    if (auto fault = meet(Request::kPut, seen.key)) return fail(*fault);
    if (!knows_if_match) return no_if_match(seen.key);
    return store(seen.key, Bytes(bytes.begin(), bytes.end()), PutCondition::kNone, "", seen.etag);
  }
  Result<std::unique_ptr<ObjectUpload>> upload(const std::string& key) override {
    if (auto fault = meet(Request::kUpload, key)) return fail(*fault);
    return std::make_unique<Upload>(*this, key);
  }
  Result<void> remove(const std::string& key) override {
    if (auto fault = meet(Request::kRemove, key)) return fail(*fault);
    const std::lock_guard lock(mutex_);
    objects_.erase(key);
    return {};
  }

  /// Without faults, for the test itself.
  void set(const std::string& key, Bytes bytes) {
    (void)store(key, std::move(bytes), PutCondition::kNone);
  }
  void erase(const std::string& key) {
    const std::lock_guard lock(mutex_);
    objects_.erase(key);
  }
  [[nodiscard]] std::map<std::string, Bytes> all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, Bytes> copies;
    for (const auto& [key, object] : objects_) copies[key] = *object.bytes;
    return copies;
  }
  [[nodiscard]] bool has(const std::string& key) const { return all().contains(key); }
  [[nodiscard]] std::uint64_t count(Request request) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(request);
    return found == counts_.end() ? 0 : found->second;
  }

  Before before;  ///< set while nobody uses the store
  /// Likewise, of reads alone, with the offset.
  std::function<std::optional<Status>(const std::string& key, std::uint64_t offset)> before_read;
  std::size_t page_keys = 3;
  bool knows_if_match = true;
  std::string untold;  ///< prefix of objects of which neither version nor time is told
  std::atomic<unsigned> reading{0};
  std::atomic<unsigned> most_reading{0};
  std::atomic<unsigned> uploads{0};  ///< begun, and neither completed nor given up

 private:
  struct Object {
    std::shared_ptr<const Bytes> bytes;
    std::int64_t mtime_ns = 0;
    std::string mark;
  };
  class Upload final : public ObjectUpload {
   public:
    Upload(FakeStore& store, std::string key) : store_(store), key_(std::move(key)) {
      ++store_.uploads;
    }
    ~Upload() override { --store_.uploads; }
    void mark(std::string text) override { mark_ = std::move(text); }
    Result<void> append(std::span<const std::uint8_t> bytes) override {
      if (auto fault = store_.meet(Request::kPart, key_)) return fail(*fault);
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      return {};
    }
    Result<PutOutcome> complete(PutCondition condition) override {
      if (auto fault = store_.meet(Request::kComplete, key_)) return fail(*fault);
      auto made = store_.store(key_, bytes_, condition, mark_);
      if (made && *made == PutOutcome::kStored) etag_ = etag_of(bytes_);
      return made;
    }
    Result<PutOutcome> replace(const std::string& etag) override {
      if (auto fault = store_.meet(Request::kComplete, key_)) return fail(*fault);
      if (!store_.knows_if_match) return store_.no_if_match(key_);
      auto made = store_.store(key_, bytes_, PutCondition::kNone, mark_, etag);
      if (made && *made == PutOutcome::kStored) etag_ = etag_of(bytes_);
      return made;
    }
    std::string etag() const override { return etag_; }

   private:
    FakeStore& store_;
    const std::string key_;
    Bytes bytes_;
    std::string mark_;
    std::string etag_;
  };

  static std::string etag_of(const Bytes& bytes) {
    return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
  }
  [[nodiscard]] tl::unexpected<Status> no_if_match(const std::string& key) const {
    return fail(Status(StatusCode::kUnsupported, "does not know If-Match").about(label(key)));
  }
  [[nodiscard]] ObjectInfo info(const std::pair<const std::string, Object>& entry) const {
    if (!untold.empty() && entry.first.starts_with(untold)) {
      return {entry.first, entry.second.bytes->size(), "", 0};
    }
    return {entry.first, entry.second.bytes->size(), etag_of(*entry.second.bytes),
            entry.second.mtime_ns};
  }
  std::optional<Status> meet(Request request, const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      ++counts_[request];
    }
    auto fault = before ? before(request, key) : std::nullopt;
    if (!fault) return fault;
    return Status(fault->code(), fault->message()).about(label(key));
  }
  Result<std::size_t> read_now(const ObjectInfo& object, std::uint64_t offset,
                               std::span<std::uint8_t> into) {
    if (auto fault = meet(Request::kRead, object.key)) return fail(*fault);
    if (auto fault = before_read ? before_read(object.key, offset) : std::nullopt) {
      return fail(Status(fault->code(), fault->message()).about(label(object.key)));
    }
    std::shared_ptr<const Bytes> bytes;
    {
      const std::lock_guard lock(mutex_);
      const auto found = objects_.find(object.key);
      if (found != objects_.end()) bytes = found->second.bytes;
    }
    if (bytes == nullptr || (!object.etag.empty() && etag_of(*bytes) != object.etag)) {
      return fail(
          Status(StatusCode::kInvalidInput, "changed while it was read").about(label(object.key)));
    }
    if (offset >= bytes->size()) return std::size_t{0};
    const std::size_t some = std::min<std::size_t>(into.size(), bytes->size() - offset);
    std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(offset), some, into.begin());
    return some;
  }
  Result<PutOutcome> store(const std::string& key, Bytes bytes, PutCondition condition,
                           const std::string& mark = "", const std::string& replaced = "") {
    const std::lock_guard lock(mutex_);
    const auto there = objects_.find(key);
    if (condition == PutCondition::kIfAbsent && there != objects_.end()) return PutOutcome::kExists;
    const bool same = there != objects_.end() && etag_of(*there->second.bytes) == replaced;
    if (!replaced.empty() && !same) return PutOutcome::kExists;
    objects_[key] = {std::make_shared<const Bytes>(std::move(bytes)), clock_ += ticks_ ? 1 : 0,
                     mark};
    return PutOutcome::kStored;
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  const std::string bucket_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Object> objects_;
  std::map<Request, std::uint64_t> counts_;
  std::int64_t clock_ = 0;
  bool ticks_ = true;
  std::deque<std::function<void()>> jobs_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::store::test
