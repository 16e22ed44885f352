#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <algorithm>
#include <atomic>
#include <base/nanoseconds.hpp>
#include <base/start_thread.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <service/cache/disk_cache.hpp>
#include <service/cache/index.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::service::cache {
namespace {

using Clock = std::chrono::steady_clock;

// How often the folder is gone through for what other processes did: never more than a fiftieth of
// a core's time.
constexpr std::chrono::seconds kScanInterval{60};
constexpr int kScanShare = 50;
constexpr std::chrono::seconds kSayInterval{60};
// Where the disk is full, this part of what is kept goes.
constexpr std::uint64_t kShrink = 8;

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return base::to_nanoseconds(now);
}

// About one name alone: nothing that was meant to be here, and no reason to stop for.
bool is_about_one_name(int error) noexcept {
  return error == EISDIR || error == ENOTEMPTY || error == EEXIST;
}

bool is_full(int error) noexcept { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

/// Entries that wait to be written or removed, whatever they hold.
constexpr std::size_t kMaxWaiting = 65'536;

class DiskCache::Impl {
 public:
  Impl(CacheSettings settings, Say say, Folder folder)
      : settings_(std::move(settings)),
        say_(std::move(say)),
        write_(settings_.write ? settings_.write : WriteBytes(write_bytes)),
        max_entry_bytes_(std::min(settings_.max_entry_bytes, settings_.max_bytes / 8)),
        read_budget_(std::make_shared<std::atomic<std::uint64_t>>(settings_.max_read_bytes)),
        folder_(std::make_shared<const Folder>(std::move(folder))) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      waiting_.clear();
    }
    wake_writer_.notify_all();
    wake_reader_.notify_all();
    wake_scanner_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Result<void> start() {
    auto started = base::add_thread(threads_, "fw-cache-write", [this] { write_all(); });
    if (started) started = base::add_thread(threads_, "fw-cache-scan", [this] { scan_all(); });
    for (unsigned i = 0; i < settings_.read_threads && started; ++i) {
      started = base::add_thread(threads_, "fw-cache-read", [this] { run_all(); });
    }
    return started;
  }

  std::optional<FoundEntry> find(const Key& key) noexcept {
    try {
      ReadResult result =
          folder()->read(key, max_entry_bytes_, [this](std::size_t bytes) { return take(bytes); });
      const EntryName name = name_of(key);
      const std::int64_t now = now_ns();
      const std::lock_guard lock(mutex_);
      if (result.damaged) ++stats_.damaged;
      if (!result.entry) {
        if (result.damaged) index_.remove(name);
        return std::nullopt;
      }
      const std::int64_t stored_s = result.entry->header.stored_s;
      // `stored_s` may be any number, of which no age can be counted. What was stored later than
      // now was stored by a wrong clock: nothing is known of its age.
      const std::int64_t now_s = now / base::kNanosecondsPerSecond;
      if (stored_s > now_s || stored_s < now_s - settings_.max_age_s) return std::nullopt;
      if (!index_.touch(name, now)) index_.put(name, result.entry->disk_bytes, now);
      return FoundEntry{result.entry->head, result.entry->body, result.entry->memory, stored_s};
    } catch (...) {
      return std::nullopt;
    }
  }

  bool run(std::function<void()> task) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      if (ending_ || tasks_.size() >= settings_.max_waiting_reads) return false;
      tasks_.push_back(std::move(task));
    } catch (...) {
      return false;
    }
    wake_reader_.notify_one();
    return true;
  }

  void keep(NewEntry entry) noexcept {
    const std::uint64_t bytes = entry.head.size() + entry.body.size();
    try {
      const std::lock_guard lock(mutex_);
      const bool fits = EntryHeader::kBytes + bytes <= max_entry_bytes_ &&
                        entry.head.size() <= EntryHeader::kMaxHeadBytes;
      if (!fits || ending_ || Clock::now() < paused_until_ ||
          waiting_bytes_ + bytes > settings_.max_waiting_bytes) {
        ++stats_.dropped;
        return;
      }
      waiting_.push_back(std::move(entry));
      waiting_bytes_ += bytes;
    } catch (...) {
      return;
    }
    wake_writer_.notify_one();
  }

  void forget(const Key& key) noexcept {
    try {
      NewEntry entry;
      entry.key = key;
      entry.is_gone = true;
      const std::lock_guard lock(mutex_);
      if (ending_) return;
      if (waiting_.size() >= kMaxWaiting) {
        ++stats_.dropped;
        return;
      }
      waiting_.push_back(std::move(entry));
    } catch (...) {
      return;
    }
    wake_writer_.notify_one();
  }

  Stats stats() const {
    const std::lock_guard lock(mutex_);
    Stats stats = stats_;
    stats.bytes = index_.bytes();
    stats.entries = index_.entries();
    return stats;
  }

 private:
  std::shared_ptr<const Folder> folder() const {
    const std::lock_guard lock(mutex_);
    return folder_;
  }

  // Memory for an entry, counted until it is given back.
  std::shared_ptr<std::uint8_t[]> take(std::size_t bytes) {
    std::uint64_t left = read_budget_->load();
    do {
      if (left < bytes) return nullptr;
    } while (!read_budget_->compare_exchange_weak(left, left - bytes));
    const auto give_back = [budget = read_budget_, bytes](const std::uint8_t* memory) {
      delete[] memory;
      budget->fetch_add(bytes);
    };
    auto* const memory = new (std::nothrow) std::uint8_t[bytes];
    if (memory == nullptr) {
      read_budget_->fetch_add(bytes);
      return nullptr;
    }
    return std::shared_ptr<std::uint8_t[]>(memory, give_back);  // also where this throws
  }

  void run_all() noexcept {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        wake_reader_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      try {
        task();
      } catch (...) {  // the request that it belongs to ends with its time
      }
    }
  }

  void write_all() noexcept {
    while (true) {
      NewEntry entry;
      {
        std::unique_lock lock(mutex_);
        wake_writer_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (ending_) return;
        entry = std::move(waiting_.front());
        waiting_.pop_front();
      }
      const std::uint64_t bytes = entry.head.size() + entry.body.size();
      try {
        entry.is_gone ? remove_one(entry.key) : write_one(entry);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        ++stats_.dropped;
      }
      entry = {};
      const std::lock_guard lock(mutex_);
      waiting_bytes_ -= bytes;
    }
  }

  void write_one(const NewEntry& entry) {
    EntryHeader header;
    header.key = entry.key;
    const std::span<const std::uint8_t> head(
        reinterpret_cast<const std::uint8_t*>(entry.head.data()), entry.head.size());
    header.head_bytes = head.size();
    header.body_bytes = entry.body.size();
    header.stored_s = now_ns() / base::kNanosecondsPerSecond;
    header.checksum = checksum_of(header, head, entry.body);
    const std::uint64_t bytes =
        Folder::disk_bytes(EntryHeader::kBytes + head.size() + entry.body.size());
    const EntryName name = name_of(entry.key);
    if (!look_at_folder()) return;
    // In the index first: no file that could not be counted is written. Room is made before, too.
    make_room(bytes, 1);
    {
      const std::lock_guard lock(mutex_);
      index_.put(name, bytes, now_ns());
    }
    const int error = folder()->write(header, head, entry.body, write_);
    if (error != 0) return on_write_error(name, error);
    {
      // The folder may have been gone through meanwhile, and the file was not there yet.
      const std::lock_guard lock(mutex_);
      index_.put(name, bytes, now_ns());
    }
    make_room(0, 0);
    const std::lock_guard lock(mutex_);
    ++stats_.written;
  }

  void remove_one(const Key& key) {
    const EntryName name = name_of(key);
    folder()->remove(name);
    const std::lock_guard lock(mutex_);
    index_.remove(name);
  }

  void on_write_error(const EntryName& name, int error) {
    std::uint64_t bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      index_.remove(name);
      ++stats_.write_errors;
      bytes = index_.bytes();
      if (!is_about_one_name(error)) {
        paused_until_ = Clock::now() + std::chrono::milliseconds(settings_.pause_ms);
        look_again_ = true;
      }
    }
    complain(fmt::format("the cache cannot write: {}", std::generic_category().message(error)));
    // Whoever else fills the disk gets room, and later entries some, too.
    if (!is_full(error)) return;
    const std::uint64_t target = std::min(bytes - bytes / kShrink, settings_.max_bytes);
    make_room(settings_.max_bytes - target, 0);
  }

  // After an error the folder is looked for again: it may have been removed and made anew.
  // @return whether there is one
  bool look_at_folder() {
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(look_again_, false)) return true;
    }
    auto again = Folder::open(settings_.folder);
    if (!again) {
      complain(fmt::format("the cache's folder: {}", again.error().message()));
      const std::lock_guard lock(mutex_);
      ++stats_.write_errors;
      look_again_ = true;
      paused_until_ = Clock::now() + std::chrono::milliseconds(settings_.pause_ms);
      return false;
    }
    auto opened = std::make_shared<const Folder>(std::move(*again));
    const std::lock_guard lock(mutex_);
    folder_ = std::move(opened);
    return true;
  }

  // Removes entries until there is room for more.
  void make_room(std::uint64_t bytes, std::uint64_t entries) {
    while (true) {
      std::optional<EntryName> victim;
      std::shared_ptr<const Folder> folder;
      {
        const std::lock_guard lock(mutex_);
        const bool fits = index_.bytes() + bytes <= settings_.max_bytes &&
                          index_.entries() + entries <= settings_.max_entries;
        if (fits) return;
        victim = index_.victim();
        if (!victim) return;
        index_.remove(*victim);
        ++stats_.evicted;
        folder = folder_;
      }
      folder->remove(*victim);
    }
  }

  void complain(std::string_view line) {
    {
      const std::lock_guard lock(mutex_);
      const auto now = Clock::now();
      if (now < quiet_until_) return;
      quiet_until_ = now + kSayInterval;
    }
    if (say_) say_(line);
  }

  void scan_all() noexcept {
    while (true) {
      const auto begun = Clock::now();
      try {
        scan();
      } catch (...) {  // memory: the next scan sees more
      }
      const auto pause =
          std::max<Clock::duration>(kScanInterval, (Clock::now() - begun) * kScanShare);
      std::unique_lock lock(mutex_);
      if (wake_scanner_.wait_for(lock, pause, [this] { return ending_; })) return;
    }
  }

  void scan() {
    {
      const std::lock_guard lock(mutex_);
      index_.begin_round();
    }
    bool ended = false;
    const bool whole = folder()->scan(
        max_entry_bytes_, [&](const EntryName& name, std::uint64_t bytes, std::int64_t used_ns) {
          {
            const std::lock_guard lock(mutex_);
            if (ending_) return !(ended = true);
            index_.put(name, bytes, used_ns);
          }
          make_room(0, 0);
          return true;
        });
    const std::lock_guard lock(mutex_);
    if (whole && !ended) index_.forget_unseen();
  }

  const CacheSettings settings_;
  const Say say_;
  const WriteBytes write_;
  const std::uint64_t max_entry_bytes_;
  const std::shared_ptr<std::atomic<std::uint64_t>> read_budget_;  // keepers outlive the cache

  mutable std::mutex mutex_;
  std::shared_ptr<const Folder> folder_;
  Index index_;
  Stats stats_;
  std::deque<NewEntry> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::deque<std::function<void()>> tasks_;
  Clock::time_point paused_until_{};
  Clock::time_point quiet_until_{};
  bool look_again_ = false;
  bool ending_ = false;
  std::condition_variable wake_writer_;
  std::condition_variable wake_reader_;
  std::condition_variable wake_scanner_;
  std::vector<std::thread> threads_;
};

DiskCache::DiskCache(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
DiskCache::~DiskCache() = default;

Result<std::unique_ptr<DiskCache>> DiskCache::open(CacheSettings settings, Say say) {
  try {
    auto folder = Folder::open(settings.folder);
    if (!folder) return fail(folder.error());
    auto impl = std::make_unique<Impl>(std::move(settings), std::move(say), std::move(*folder));
    if (auto started = impl->start(); !started) return fail(std::move(started.error()));
    return std::unique_ptr<DiskCache>(new DiskCache(std::move(impl)));
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }
}

std::optional<FoundEntry> DiskCache::find(const Key& key) noexcept { return impl_->find(key); }
bool DiskCache::run(std::function<void()> task) noexcept { return impl_->run(std::move(task)); }
void DiskCache::keep(NewEntry entry) noexcept { impl_->keep(std::move(entry)); }
void DiskCache::forget(const Key& key) noexcept { impl_->forget(key); }
Stats DiskCache::stats() const { return impl_->stats(); }

}  // namespace framewire::service::cache
