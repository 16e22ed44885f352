// Ranges of one object, by ObjectStore and by libcurl alone, by turns: how much of what a server
// gives is lost to signatures, checks and bookkeeping.
//
//   compare_store ENDPOINT BUCKET KEY [RANGES [MIB [ROUNDS]]]
//
// Reads the whole object in ranges of MIB (16), RANGES (64) at once. The server must know HEAD,
// ETag and Range, and answer without a signature too: a folder behind nginx does.
// docs/benchmarking.md
#include <curl/curl.h>
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <span>
#include <store/object_store.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace framewire;
using Clock = std::chrono::steady_clock;

struct Plan {
  std::string url;
  std::uint64_t object_bytes = 0;
  std::uint64_t range_bytes = 0;
  unsigned ranges = 64;
};

[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "compare_store: {}\n", why);
  std::exit(1);
}

double gigabytes_per_s(std::uint64_t bytes, Clock::time_point began) {
  return static_cast<double>(bytes) / std::chrono::duration<double>(Clock::now() - began).count() /
         1e9;
}

// Where ranges land; made before any clock starts.
using Memory = std::vector<std::vector<std::uint8_t>>;

double by_store(store::ObjectStore& store, const store::ObjectInfo& object, const Plan& plan,
                Memory& memory) {
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < memory.size(); ++i) free.push_back(i);
  std::uint64_t got = 0;
  const auto began = Clock::now();
  for (std::uint64_t at = 0; at < object.bytes; at += plan.range_bytes) {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return !free.empty(); });
    const std::size_t slot = free.back();
    free.pop_back();
    lock.unlock();
    store.start_read(object, at, memory[slot], [&, slot](Result<std::size_t> read) {
      if (!read) stop(read.error().to_string());
      const std::lock_guard ending(mutex);
      got += *read;
      free.push_back(slot);
      ended.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return free.size() == memory.size(); });
  if (got != object.bytes) stop("the store read another length");
  return gigabytes_per_s(got, began);
}

struct PlainRange {
  std::span<std::uint8_t> memory;
  std::size_t filled = 0;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  auto& range = *static_cast<PlainRange*>(to);
  const std::size_t bytes = size * count;
  if (bytes > range.memory.size() - range.filled) return 0;
  std::copy_n(data, bytes, range.memory.begin() + static_cast<std::ptrdiff_t>(range.filled));
  range.filled += bytes;
  return bytes;
}

// One thread's share of the ranges, by a multi handle of its own.
std::uint64_t run_plain(const Plan& plan, std::span<std::vector<std::uint8_t>> memory,
                        std::atomic<std::uint64_t>& next) {
  CURLM* const multi = curl_multi_init();
  std::vector<PlainRange> ranges(memory.size());
  std::vector<CURL*> handles;
  std::uint64_t got = 0;
  unsigned active = 0;
  const auto begin = [&](CURL* easy) {
    const std::uint64_t at = next.fetch_add(plan.range_bytes);
    if (at >= plan.object_bytes) return;
    const std::string range =
        fmt::format("{}-{}", at, std::min(at + plan.range_bytes, plan.object_bytes) - 1);
    curl_easy_setopt(easy, CURLOPT_RANGE, range.c_str());
    curl_multi_add_handle(multi, easy);
    ++active;
  };
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    PlainRange& range = ranges[i];
    range.memory = memory[i];
    CURL* const easy = curl_easy_init();
    handles.push_back(easy);
    curl_easy_setopt(easy, CURLOPT_URL, plan.url.c_str());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L * 1'024);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &range);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &range);
    begin(easy);
  }
  while (active > 0) {
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (CURLMsg* const message = curl_multi_info_read(multi, &left)) {
      PlainRange* range = nullptr;
      CURL* const easy = message->easy_handle;
      if (message->data.result != CURLE_OK) stop(curl_easy_strerror(message->data.result));
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &range);
      got += std::exchange(range->filled, 0);
      curl_multi_remove_handle(multi, easy);
      --active;
      begin(easy);
    }
    if (active > 0) curl_multi_poll(multi, nullptr, 0, 1'000, nullptr);
  }
  for (CURL* const easy : handles) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi);
  return got;
}

double by_curl(const Plan& plan, Memory& memory) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency() / 4, 2U, 8U);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> got = 0;
  std::vector<std::thread> running;
  const auto began = Clock::now();
  for (unsigned i = 0; i < threads; ++i) {
    const std::size_t first = memory.size() * i / threads;
    const std::size_t end = memory.size() * (i + 1) / threads;
    running.emplace_back([&, share = std::span(memory).subspan(first, end - first)] {
      got += run_plain(plan, share, next);
    });
  }
  for (std::thread& thread : running) thread.join();
  if (got != plan.object_bytes) stop("libcurl read another length");
  return gigabytes_per_s(got, began);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) stop("usage: compare_store ENDPOINT BUCKET KEY [RANGES [MIB [ROUNDS]]]");
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
  };
  Plan plan;
  plan.url = fmt::format("{}/{}/{}", argv[1], argv[2], argv[3]);
  plan.ranges = std::max(number(4, 64), 8U);
  plan.range_bytes = std::uint64_t{number(5, 16)} << 20;
  const unsigned rounds = number(6, 7);
  store::StoreSettings settings;
  settings.endpoint = argv[1];
  settings.reads_in_flight = plan.ranges;
  const auto opened = store::open_store(argv[2], settings);
  if (!opened) stop(opened.error().to_string());
  const auto object = (*opened)->find(argv[3]);
  if (!object) stop(object.error().to_string());
  if (!*object) stop("there is no such object");
  plan.object_bytes = (*object)->bytes;

  Memory memory(plan.ranges, std::vector<std::uint8_t>(plan.range_bytes));
  std::vector<double> ours;
  std::vector<double> curls;
  for (unsigned round = 0; round < rounds; ++round) {
    ours.push_back(by_store(**opened, **object, plan, memory));
    curls.push_back(by_curl(plan, memory));
    fmt::print("round {}: store {:.3f} GB/s, libcurl {:.3f} GB/s\n", round + 1, ours.back(),
               curls.back());
  }
  fmt::print(
      "{} bytes, {} ranges of {} bytes at once: store {:.3f} GB/s, libcurl {:.3f} GB/s, {:.0f} %\n",
      plan.object_bytes, plan.ranges, plan.range_bytes, median(ours), median(curls),
      100 * median(ours) / median(curls));
  return 0;
}
