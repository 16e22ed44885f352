#include <fmt/format.h>
#include <algorithm>
#include <base/utf8.hpp>
#include <batch/names.hpp>
#include <condition_variable>
#include <cstring>
#include <dataset/object_source.hpp>
#include <dataset/sample_key.hpp>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace framewire::dataset {
namespace {

using store::ObjectInfo;

/// What one request reads of an object: all of nearly every picture. The rest is read straight into
/// the memory that it goes to.
constexpr std::uint64_t kFirstBytes = 4u << 20;

/// What is there before it is opened, counted over all objects.
struct Ahead {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t bytes = 0;
};

/// The first bytes of an object, on their way or there.
class ObjectFetch {
 public:
  ObjectFetch(std::shared_ptr<Ahead> ahead, std::uint64_t bytes)
      : ahead_(std::move(ahead)), bytes_(static_cast<std::size_t>(bytes)) {
    const std::lock_guard lock(ahead_->mutex);
    ahead_->bytes += bytes_.size();
  }
  ~ObjectFetch() {
    const std::lock_guard lock(ahead_->mutex);
    ahead_->bytes -= bytes_.size();
  }
  ObjectFetch(const ObjectFetch&) = delete;
  ObjectFetch& operator=(const ObjectFetch&) = delete;

  static void start(const std::shared_ptr<ObjectFetch>& fetch, store::ObjectStore& store,
                    const ObjectInfo& object) {
    store.start_read(object, 0, fetch->bytes_,
                     [fetch](Result<std::size_t> got) { fetch->end(std::move(got)); });
  }
  /// Waits until it is there.
  [[nodiscard]] Result<std::span<const std::uint8_t>> wait() {
    std::unique_lock lock(ahead_->mutex);
    ahead_->changed.wait(lock, [this] { return got_.has_value(); });
    if (!*got_) return fail(got_->error());
    return std::span<const std::uint8_t>(bytes_).first(**got_);
  }

 private:
  void end(Result<std::size_t> got) {
    const std::lock_guard lock(ahead_->mutex);
    got_ = std::move(got);
    ahead_->changed.notify_all();
  }
  const std::shared_ptr<Ahead> ahead_;
  std::vector<std::uint8_t> bytes_;
  std::optional<Result<std::size_t>> got_;
};

/// An object that was listed.
struct Listed {
  ObjectInfo object;
  std::shared_ptr<ObjectFetch> fetch;  ///< null: not begun
};

/// One object, read from its beginning.
class ObjectInput final : public batch::OpenInput {
 public:
  ObjectInput(store::ObjectStore& store, const Listed& listed, std::shared_ptr<Ahead> ahead)
      : store_(store), object_(listed.object), fetch_(listed.fetch), ahead_(std::move(ahead)) {
    facts_.bytes = object_.bytes;
    facts_.mtime_ns = object_.mtime_ns;
    facts_.version = object_.etag;
  }
  const batch::InputFacts& facts() const noexcept override { return facts_; }

  Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const auto some =
        static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), object_.bytes - done_));
    if (some == 0) return std::size_t{0};
    if (done_ == 0 && fetch_ == nullptr) {
      fetch_ = std::make_shared<ObjectFetch>(ahead_, std::min(object_.bytes, kFirstBytes));
      ObjectFetch::start(fetch_, store_, object_);
    }
    auto got = fetch_ != nullptr ? take_fetched(into.first(some))
                                 : store_.read_at(object_, done_, into.first(some));
    if (!got) return got;
    if (*got == 0) {
      return fail(Status(StatusCode::kIoError, "the store gave fewer bytes than the object has")
                      .about(store_.label(object_.key)));
    }
    done_ += *got;
    return got;
  }

 private:
  Result<std::size_t> take_fetched(std::span<std::uint8_t> into) {
    const auto bytes = fetch_->wait();
    if (!bytes) return fail(bytes.error());
    const auto at = static_cast<std::size_t>(done_);
    const std::size_t some = std::min(into.size(), bytes->size() - at);
    std::memcpy(into.data(), bytes->data() + at, some);
    if (at + some == bytes->size()) fetch_.reset();
    return some;
  }

  store::ObjectStore& store_;
  const ObjectInfo object_;
  std::shared_ptr<ObjectFetch> fetch_;  ///< until all of it is read
  const std::shared_ptr<Ahead> ahead_;
  batch::InputFacts facts_;
  std::uint64_t done_ = 0;
};

class ObjectSource final : public batch::Source {
 public:
  ObjectSource(ObjectPrefix where, const ObjectSourceOptions& options)
      : where_(std::move(where)), options_(options) {}

  Result<std::optional<batch::Input>> next() override {
    if (auto ahead = read_ahead(); !ahead) return fail(ahead.error());
    if (begun_.empty()) return std::nullopt;
    std::shared_ptr<const Listed> listed = std::move(begun_.front());
    begun_.pop_front();
    batch::Input input;
    input.label = where_.store->label(listed->object.key);
    input.name = name_of(listed->object);
    input.expected = named_like_jpeg(input.name);
    if (auto good = batch::check_name(input.name); !good) {
      input.error = Status(good.error().code(), good.error().message()).about(input.label);
    }
    input.data = std::move(listed);
    return input;
  }
  Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
    return std::make_unique<ObjectInput>(
        *where_.store, *std::static_pointer_cast<const Listed>(input.data), ahead_);
  }
  /// Keys come once each.
  bool checks_names() const noexcept override { return true; }

 private:
  [[nodiscard]] std::string name_of(const ObjectInfo& object) const {
    return object.key.substr(where_.prefix.size());
  }

  Result<void> list_page() {
    constexpr std::size_t kPageNames = 1000;
    std::size_t keys = 0;
    const auto listed = where_.store->list(where_.prefix, last_key_, [&](const ObjectInfo& object) {
      last_key_ = object.key;
      if (!object.key.ends_with('/') && object.key.size() > where_.prefix.size()) {
        names_.push_back(object);
      }
      return ++keys < kPageNames;
    });
    if (!listed) return fail(listed.error());
    // What ends before the page is full ends altogether.
    listed_all_ = keys < kPageNames;
    return {};
  }

  Result<void> read_ahead() {
    while (begun_.size() <= options_.reads_ahead) {
      const bool stopped = options_.stop != nullptr && *options_.stop;
      if (names_.empty() && (listed_all_ || stopped)) return {};
      if (names_.empty()) {
        // Who waits for names has some in hand: the error comes when those are done.
        if (auto listed = list_page(); !listed) {
          if (begun_.empty()) return listed;
          return {};
        }
        continue;
      }
      begun_.push_back(begin(std::move(names_.front())));
      names_.pop_front();
    }
    return {};
  }

  std::shared_ptr<const Listed> begin(ObjectInfo object) {
    auto listed = std::make_shared<Listed>();
    listed->object = std::move(object);
    const std::uint64_t bytes = std::min(listed->object.bytes, kFirstBytes);
    bool room = options_.reads_ahead > 0 && bytes > 0;
    {
      const std::lock_guard lock(ahead_->mutex);
      room = room && ahead_->bytes + bytes <= options_.ahead_bytes;
    }
    room = room && (!options_.wanted || options_.wanted(name_of(listed->object)));
    if (!room) return listed;
    listed->fetch = std::make_shared<ObjectFetch>(ahead_, bytes);
    ObjectFetch::start(listed->fetch, *where_.store, listed->object);
    return listed;
  }

  const ObjectPrefix where_;
  const ObjectSourceOptions options_;
  const std::shared_ptr<Ahead> ahead_ = std::make_shared<Ahead>();
  std::deque<ObjectInfo> names_;  ///< listed, and not begun
  std::deque<std::shared_ptr<const Listed>> begun_;
  std::string last_key_;
  bool listed_all_ = false;
};

class ObjectSink final : public batch::Sink {
 public:
  explicit ObjectSink(ObjectPrefix where) : where_(std::move(where)) {}

  std::string label(const std::string& name) const override {
    return where_.store->label(where_.prefix + name);
  }
  // A bucket that is missing is found out before anything is read for it. Who may not list may
  // still write.
  Result<void> begin(const batch::BeginSink&) override {
    const auto listed =
        where_.store->list(where_.prefix, "", [](const ObjectInfo&) { return false; });
    if (listed || listed.error().code() == StatusCode::kDenied) return {};
    return fail(listed.error());
  }
  Result<std::optional<std::uint64_t>> find(const std::string& name) const override {
    const auto object = where_.store->find(where_.prefix + name);
    if (!object) return fail(object.error());
    if (!*object) return std::nullopt;
    return (*object)->bytes;
  }
  batch::WriteResult commit(const batch::Output& output,
                            std::span<const std::uint8_t> bytes) override {
    const auto refused = [](Status status) {
      const bool environment = status.code() == StatusCode::kDenied;
      return tl::unexpected<batch::WriteError>({std::move(status), environment});
    };
    const std::string key = where_.prefix + output.name;
    // Stores take such bytes for others, or for none, so that two names may become one.
    if (!base::is_utf8(key)) {
      return refused(Status(StatusCode::kInvalidInput,
                            "would have a key that is not UTF-8, as S3 has all keys; accepted: "
                            "another name, or an output folder")
                         .about(output.input));
    }
    if (key.size() > kMaxObjectKeyBytes) {
      return refused(Status(StatusCode::kInvalidInput,
                            fmt::format("would have a key of {} bytes; S3 accepts {}", key.size(),
                                        kMaxObjectKeyBytes))
                         .about(output.label));
    }
    const auto put = where_.store->put(key, bytes, store::PutCondition::kNone);
    if (!put) return refused(put.error());
    return {};
  }

 private:
  const ObjectPrefix where_;
};

}  // namespace

std::function<bool(const std::string&)> not_made_before(const batch::Shard& part,
                                                        const batch::DoneIndex* done) {
  return [part, done](const std::string& name) {
    return batch::in_shard(part, name) && (done == nullptr || !done->made(name));
  };
}

std::unique_ptr<batch::Source> open_object_source(ObjectPrefix where,
                                                  const ObjectSourceOptions& options) {
  return std::make_unique<ObjectSource>(std::move(where), options);
}

std::unique_ptr<batch::Sink> open_object_sink(ObjectPrefix where) {
  return std::make_unique<ObjectSink>(std::move(where));
}

}  // namespace framewire::dataset
