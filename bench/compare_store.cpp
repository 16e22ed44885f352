// Ranges of one object, by ObjectStore, by libcurl alone and by the program curl, by turns: how
// much of what a server gives is lost to signatures, checks and bookkeeping.
//
//   compare_store ENDPOINT BUCKET KEY [RANGES [MIB [ROUNDS]]]
//
// Reads the whole object in ranges of MIB (16), RANGES (64) at once. ObjectStore and libcurl copy
// what comes into memory, with as many threads; `curl --parallel` has one thread, and /dev/null for
// it. Its start is part of its time. Processor time is that of the reader alone, without the
// server's. The server must know HEAD, ETag and Range, and answer without a signature too: a folder
// behind nginx does, and so does moto. docs/benchmarking.md
#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <base/cores.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
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
  std::string bucket;
  store::StoreSettings settings;
  std::string url;
  std::uint64_t object_bytes = 0;
  std::uint64_t range_bytes = 0;
  unsigned ranges = 64;
};

[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "compare_store: {}\n", why);
  std::exit(1);
}

// One reading of the whole object.
struct Turn {
  double gigabytes_per_s = 0;
  double cpu_s_per_gigabyte = 0;
};

double cpu_seconds(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Begins with the object's first request, and ends with its last byte.
class Stopwatch {
 public:
  explicit Stopwatch(int whose) : whose_(whose), cpu_s_(cpu_seconds(whose)) {}
  [[nodiscard]] Turn stop(std::uint64_t bytes) const {
    const double gigabytes = static_cast<double>(bytes) / 1e9;
    return {gigabytes / std::chrono::duration<double>(Clock::now() - began_).count(),
            (cpu_seconds(whose_) - cpu_s_) / gigabytes};
  }

 private:
  const int whose_;
  const double cpu_s_;
  const Clock::time_point began_ = Clock::now();
};

// Where ranges land; made before any clock starts.
using Memory = std::vector<std::vector<std::uint8_t>>;

std::shared_ptr<store::ObjectStore> opened_store(const Plan& plan) {
  auto opened = store::open_store(plan.bucket, plan.settings);
  if (!opened) stop(opened.error().to_string());
  return *std::move(opened);
}

// Opens a store of its own: no turn finds connections that an earlier one has left.
Turn by_store(const store::ObjectInfo& object, const Plan& plan, Memory& memory) {
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < memory.size(); ++i) free.push_back(i);
  std::uint64_t got = 0;
  const Stopwatch watch(RUSAGE_SELF);
  const auto store = opened_store(plan);
  for (std::uint64_t at = 0; at < object.bytes; at += plan.range_bytes) {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return !free.empty(); });
    const std::size_t slot = free.back();
    free.pop_back();
    lock.unlock();
    store->start_read(object, at, memory[slot], [&, slot](Result<std::size_t> read) {
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
  return watch.stop(got);
}

struct PlainRange {
  std::span<std::uint8_t> memory;
  std::size_t filled = 0;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  auto& range = *static_cast<PlainRange*>(to);
  const std::size_t bytes = size * count;
  if (bytes > range.memory.size() - range.filled) return 0;
  std::memcpy(range.memory.data() + range.filled, data, bytes);
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
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
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

Turn by_libcurl(const Plan& plan, Memory& memory) {
  const unsigned threads = std::clamp(base::usable_cores() / 4, 2U, 8U);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> got = 0;
  std::vector<std::thread> running;
  const Stopwatch watch(RUSAGE_SELF);
  for (unsigned i = 0; i < threads; ++i) {
    const std::size_t first = memory.size() * i / threads;
    const std::size_t end = memory.size() * (i + 1) / threads;
    running.emplace_back([&, share = std::span(memory).subspan(first, end - first)] {
      got += run_plain(plan, share, next);
    });
  }
  for (std::thread& thread : running) thread.join();
  if (got != plan.object_bytes) stop("libcurl read another length");
  return watch.stop(got);
}

// What `curl -K` reads: each range a transfer of its own. It is gone with this.
class CurlConfig {
 public:
  explicit CurlConfig(const Plan& plan) {
    const int made = mkstemp(path_.data());
    if (made < 0) stop("no file can be made in /tmp");
    close(made);
    std::ofstream file(path_.data());
    for (std::uint64_t at = 0; at < plan.object_bytes; at += plan.range_bytes) {
      file << fmt::format(
          "{}url = \"{}\"\nrange = \"{}-{}\"\noutput = \"/dev/null\"\n"
          "write-out = \"%{{size_download}}\\n\"\nsilent\nfail\nhttp1.1\n",
          at > 0 ? "next\n" : "", plan.url, at,
          std::min(at + plan.range_bytes, plan.object_bytes) - 1);
    }
    if (!file.flush()) stop("the configuration of curl cannot be written");
  }
  ~CurlConfig() { unlink(path_.data()); }
  CurlConfig(const CurlConfig&) = delete;
  CurlConfig& operator=(const CurlConfig&) = delete;
  [[nodiscard]] const char* path() const { return path_.data(); }

 private:
  std::array<char, 32> path_{"/tmp/compare_store.XXXXXX"};
};

Turn by_curl_program(const Plan& plan, const CurlConfig& config) {
  const std::string command = fmt::format(
      "exec curl --parallel --parallel-immediate --parallel-max {} --no-progress-meter --config {}",
      plan.ranges, config.path());
  const Stopwatch watch(RUSAGE_CHILDREN);
  std::FILE* const curl = popen(command.c_str(), "r");
  if (curl == nullptr) stop("the program curl does not start");
  std::uint64_t got = 0;
  unsigned long long bytes = 0;
  while (std::fscanf(curl, "%llu", &bytes) == 1) got += bytes;
  if (pclose(curl) != 0) stop("the program curl failed");
  const Turn turn = watch.stop(got);
  if (got != plan.object_bytes) stop("the program curl read another length");
  return turn;
}

struct Reader {
  const char* name;
  std::function<Turn()> read;
  std::vector<double> rates;  ///< GB/s
  std::vector<double> costs;  ///< processor seconds a GB
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of each round the store's beside another's, in percent.
void print_ratios(const Reader& store, const Reader& other) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < store.rates.size(); ++i) {
    ratios.push_back(100 * store.rates[i] / other.rates[i]);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("store beside {}: median {:.0f} % ({:.0f} to {:.0f})\n", other.name, median(ratios),
             *least, *most);
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
  plan.bucket = argv[2];
  plan.settings.endpoint = argv[1];
  plan.settings.reads_in_flight = plan.ranges;
  const auto object = opened_store(plan)->find(argv[3]);
  if (!object) stop(object.error().to_string());
  if (!*object) stop("there is no such object");
  plan.object_bytes = (*object)->bytes;

  Memory memory(plan.ranges, std::vector<std::uint8_t>(plan.range_bytes));
  const CurlConfig config(plan);
  std::array<Reader, 3> readers{
      {{"store", [&] { return by_store(**object, plan, memory); }, {}, {}},
       {"libcurl", [&] { return by_libcurl(plan, memory); }, {}, {}},
       {"curl", [&] { return by_curl_program(plan, config); }, {}, {}}}};
  for (unsigned round = 0; round < rounds; ++round) {
    // Each is first, second and last as often as the others.
    for (std::size_t i = 0; i < readers.size(); ++i) {
      Reader& reader = readers[(round + i) % readers.size()];
      const Turn turn = reader.read();
      reader.rates.push_back(turn.gigabytes_per_s);
      reader.costs.push_back(turn.cpu_s_per_gigabyte);
    }
    fmt::print("round {}:", round + 1);
    for (const Reader& reader : readers) {
      fmt::print(" {} {:.3f} GB/s,", reader.name, reader.rates.back());
    }
    fmt::print("\n");
  }
  fmt::print("{} bytes, {} ranges of {} bytes at once\n", plan.object_bytes, plan.ranges,
             plan.range_bytes);
  for (const Reader& reader : readers) {
    const auto [least, most] = std::minmax_element(reader.rates.begin(), reader.rates.end());
    fmt::print("{}: median {:.3f} GB/s ({:.3f} to {:.3f}), {:.3f} s of processor time a GB\n",
               reader.name, median(reader.rates), *least, *most, median(reader.costs));
  }
  print_ratios(readers[0], readers[1]);
  print_ratios(readers[0], readers[2]);
  return 0;
}
