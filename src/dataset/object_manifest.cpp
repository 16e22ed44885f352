#include <fmt/format.h>
#include <algorithm>
#include <base/random.hpp>
#include <charconv>
#include <chrono>
#include <dataset/object_lines.hpp>
#include <dataset/object_manifest.hpp>
#include <dataset/row_lines.hpp>
#include <future>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::dataset {
namespace {

using store::ObjectInfo;

constexpr std::string_view kPartEnding = ".jsonl";
/// Parts that are read at once.
constexpr std::size_t kPartsAhead = 16;

void add_rows(std::string_view text, batch::DoneIndex& done) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto row = batch::parse_row(text.substr(0, end))) done.add(*row);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Names of parts begin with the time at which their process began, in microseconds, so that they
/// are in order within a second of the server's clock. @return 0 for a name that is not ours
std::uint64_t time_in_name(std::string_view name) {
  // Later names are still numbers of that many digits.
  constexpr std::uint64_t kLatest = 9'999'999'999'999'999;
  std::uint64_t time_us = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, time_us);
  return error == std::errc() && rest != end && *rest == '-' && time_us < kLatest ? time_us : 0;
}

std::uint64_t now_us() {
  const auto now = std::chrono::floor<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now.count(), 1));
}

/// A part on its way.
struct PartRead {
  std::string text;
  std::promise<Result<std::size_t>> got;
  std::future<Result<std::size_t>> result = got.get_future();
};

// Some parts, in order. They are larger than a part only where they are not ours.
Result<void> read_some(store::ObjectStore& store, std::span<const ObjectInfo> parts,
                       std::size_t max_bytes, batch::DoneIndex& done) {
  std::vector<std::shared_ptr<PartRead>> reads;
  for (const ObjectInfo& part : parts) {
    auto read = std::make_shared<PartRead>();
    reads.push_back(read);
    if (part.bytes > max_bytes) continue;
    read->text.resize(static_cast<std::size_t>(part.bytes));
    store.start_read(part, 0,
                     {reinterpret_cast<std::uint8_t*>(read->text.data()), read->text.size()},
                     [read](Result<std::size_t> got) { read->got.set_value(std::move(got)); });
  }
  Result<void> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].bytes > max_bytes) {
      auto read =
          read_object_lines(store, parts[i], [&](std::string_view line) { add_rows(line, done); });
      if (!read && all) all = std::move(read);
      continue;
    }
    // All of them are waited for: they are written to until then.
    const auto got = reads[i]->result.get();
    if (!got && all) all = fail(got.error());
    if (got && all) add_rows(reads[i]->text, done);
  }
  return all;
}

}  // namespace

ObjectManifest::ObjectManifest(const ObjectManifestOptions& options, std::string run)
    : options_(options), run_(std::move(run)) {}
ObjectManifest::~ObjectManifest() = default;

Result<std::unique_ptr<ObjectManifest>> ObjectManifest::open(const ObjectManifestOptions& options) {
  const auto number = base::random_number<std::uint64_t>();
  if (!number) return fail(number.error());
  auto earlier = read_parts(options);
  if (!earlier) return fail(earlier.error());
  // Behind all that was read, whatever this machine's clock says.
  const std::uint64_t began_us = std::max(now_us(), earlier->latest_us + 1);
  std::unique_ptr<ObjectManifest> manifest(
      new ObjectManifest(options, fmt::format("{:016}-{:016x}", began_us, *number)));
  if (options.resume) manifest->done_ = std::move(earlier->done);
  return manifest;
}

Result<ObjectManifest::Earlier> ObjectManifest::read_parts(const ObjectManifestOptions& options) {
  store::ObjectStore& store = *options.where.store;
  std::vector<ObjectInfo> parts;
  const auto listed = store.list(options.where.prefix, "", [&](const ObjectInfo& object) {
    if (object.key.ends_with(kPartEnding)) parts.push_back(object);
    return options.resume || parts.empty();
  });
  if (!listed) return fail(listed.error());
  Earlier earlier;
  batch::DoneIndex& done = earlier.done;
  if (!options.resume) {
    if (parts.empty()) return earlier;
    return fail(Status(StatusCode::kInvalidInput,
                       "has rows already; give --resume to go on, or another name")
                    .about(store.label(options.where.prefix)));
  }
  for (const ObjectInfo& part : parts) {
    const std::string_view name = std::string_view(part.key).substr(options.where.prefix.size());
    earlier.latest_us = std::max(earlier.latest_us, time_in_name(name));
  }
  // The server's clock is one for all who wrote; its seconds are parted by names.
  std::ranges::sort(parts, [](const ObjectInfo& a, const ObjectInfo& b) {
    return std::pair(a.mtime_ns, std::string_view(a.key)) <
           std::pair(b.mtime_ns, std::string_view(b.key));
  });
  for (std::size_t i = 0; i < parts.size(); i += kPartsAhead) {
    const std::size_t some = std::min(kPartsAhead, parts.size() - i);
    auto read = read_some(store, std::span(parts).subspan(i, some),
                          options.part_bytes + kMaxRowBytes, done);
    if (!read) return fail(read.error());
  }
  done.seal();
  return earlier;
}

Result<void> ObjectManifest::append(const batch::Row& row) {
  const std::string line = to_json_line(row);
  std::unique_lock lock(mutex_);
  // What is being stored is one part, and what waits another: more would wait in memory.
  stored_.wait(lock, [&] { return !storing_ || rows_.size() < options_.part_bytes; });
  if (failure_) return fail(*failure_);
  if (rows_.empty()) oldest_ = Clock::now();
  rows_ += line;
  const bool full = rows_.size() >= options_.part_bytes || Clock::now() - oldest_ >= options_.wait;
  if (!full || storing_) return {};
  return store_part(lock);
}

Result<void> ObjectManifest::store_part(std::unique_lock<std::mutex>& lock) {
  storing_ = true;
  const std::string rows = std::exchange(rows_, {});
  const std::uint64_t number = parts_++;
  lock.unlock();
  auto put = put_part(number, rows);
  lock.lock();
  storing_ = false;
  stored_.notify_all();
  if (put) return {};
  failure_ = std::move(put.error());
  return fail(*failure_);
}

// Others wait for the end of this, which an exception would not tell them.
Result<void> ObjectManifest::put_part(std::uint64_t number, std::string_view rows) noexcept try {
  const std::string key =
      fmt::format("{}{}-{:08}{}", options_.where.prefix, run_, number, kPartEnding);
  const auto put = options_.where.store->put(
      key, {reinterpret_cast<const std::uint8_t*>(rows.data()), rows.size()},
      store::PutCondition::kNone);
  if (!put) return fail(put.error());
  return {};
} catch (const std::exception&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<void> ObjectManifest::finish() {
  std::unique_lock lock(mutex_);
  stored_.wait(lock, [&] { return !storing_; });
  if (failure_) return fail(*failure_);
  if (rows_.empty()) return {};
  return store_part(lock);
}

}  // namespace framewire::dataset
