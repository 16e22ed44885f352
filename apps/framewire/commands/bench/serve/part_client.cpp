// A client as the published ones were: load, send, store.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <batch/input_file.hpp>
#include <batch/posix_file.hpp>
#include <charconv>
#include <commands/bench/common.hpp>
#include <commands/bench/serve/part.hpp>
#include <framewire/client.hpp>
#include <iostream>
#include <memory>
#include <mutex>
#include <report/console.hpp>
#include <thread>

namespace framewire::app::bench_serve {
namespace {

using base::Clock;
using std::chrono::duration;
using std::chrono::duration_cast;

constexpr std::chrono::seconds kConnectTimeout{120};
constexpr std::size_t kMaxSamples = 1u << 18;  ///< of latency, each thread
/// A thread's part of a window is answered in groups; so long it waits for one at most.
constexpr std::chrono::milliseconds kPoll{50};
/// Requests that are submitted together: the first does not wait until a whole window was loaded.
constexpr std::size_t kGroup = 16;

/// The timed windows: `repeat` of them, one behind the other, after the warm-up.
struct Windows {
  Clock::time_point begin;
  Clock::duration length;
  unsigned count;

  [[nodiscard]] Clock::time_point end() const { return begin + count * length; }
  /// The window in which a moment lies; `count` where it lies in none.
  [[nodiscard]] unsigned at(Clock::time_point moment) const {
    if (moment < begin || moment >= end()) return count;
    return static_cast<unsigned>((moment - begin) / length);
  }
};

struct WindowCounts {
  std::vector<std::uint64_t> images;  ///< of each window
  std::uint64_t failures = 0;
  std::uint64_t wrong = 0;  ///< stored outputs that are not what they should be
  std::uint64_t checked = 0;
  std::uint64_t answers = 0;  ///< with a report, in windows
  StageTimes times;           ///< sums of theirs
  std::vector<double> latency_ms;
  std::string first_error;
};

class Thread {
 public:
  Thread(const ClientJob& job, const ResizeOptions& options, Client& client, unsigned number)
      : job_(job),
        options_(options),
        client_(client),
        prefix_(fmt::format("{}-", number)),
        next_((job.first + number * job.inputs.size() / job.threads) % job.inputs.size()),
        places_(std::max<std::size_t>(1, job.window / job.threads)),
        last_(job.inputs.size()) {
    for (std::size_t i = 0; i < places_.size(); ++i) free_.push_back(i);
  }

  /// Reads every input where files are read once, into memory that the server shares as far as
  /// there is room. @return what cannot be read
  Result<void> load() {
    if (job_.files == FileUse::kEach) return {};
    for (const std::string& input : job_.inputs) {
      const auto file = batch::InputFile::open(input);
      if (!file) return fail(file.error());
      Input loaded;
      if (auto slice = client_.input_slice(file->bytes()); slice) {
        if (auto read = file->read_into(slice->bytes); !read) return fail(read.error());
        loaded.shared = std::move(*slice);
      } else {
        auto bytes = file->read(options_.limits.max_input_bytes);
        if (!bytes) return fail(bytes.error());
        loaded.own = std::move(*bytes);
      }
      inputs_.push_back(std::move(loaded));
    }
    return {};
  }

  void run(const Windows& windows) {
    counts_.images.assign(windows.count, 0);
    while (Clock::now() < windows.end() && !client_.lost()) {
      send();
      take(windows);
    }
    while (free_.size() < places_.size() && !client_.lost()) take(windows);
    verify();
  }

  [[nodiscard]] const WindowCounts& counts() const { return counts_; }

 private:
  /// An input that is read once.
  struct Input {
    InputSlice shared;
    std::vector<std::uint8_t> own;  ///< where there was no room for it there

    [[nodiscard]] std::span<const std::uint8_t> bytes() const {
      return own.empty() ? std::span<const std::uint8_t>(shared.bytes) : own;
    }
  };

  struct Place {
    std::size_t input = 0;
    InputSlice slice;
    Clock::time_point begin;
  };

  /// Loads and hands in as much as there is room for.
  void send() {
    while (!free_.empty()) {
      Place& place = places_[free_.back()];
      place.begin = Clock::now();
      place.input = next_;
      const auto jpeg = load_one(place);
      if (!jpeg) break;
      next_ = (next_ + 1) % job_.inputs.size();
      EngineRequest request{*jpeg, options_, {}};
      request.completions = queue_;
      request.tag = free_.back();
      requests_.push_back(std::move(request));
      free_.pop_back();
      if (requests_.size() == kGroup) submit();
    }
    submit();
  }

  void submit() {
    if (!requests_.empty()) client_.submit(requests_);
    requests_.clear();
  }

  /// @return nothing where there is no room now, or the file cannot be read
  std::optional<std::span<const std::uint8_t>> load_one(Place& place) {
    if (job_.files == FileUse::kOnce) return inputs_[place.input].bytes();
    const auto file = batch::InputFile::open(job_.inputs[place.input]);
    if (!file) return give_up(file.error());
    auto slice = client_.input_slice(file->bytes());
    if (!slice) {
      if (slice.error().code() == StatusCode::kBusy) return std::nullopt;
      return give_up(slice.error());
    }
    if (auto read = file->read_into(slice->bytes); !read) return give_up(read.error());
    place.slice = std::move(*slice);
    return place.slice.bytes;
  }

  std::optional<std::span<const std::uint8_t>> give_up(const Status& error) {
    failed(error);
    next_ = (next_ + 1) % job_.inputs.size();
    return std::nullopt;
  }

  void failed(const Status& error) {
    ++counts_.failures;
    if (counts_.first_error.empty()) counts_.first_error = error.to_string();
  }

  void take(const Windows& windows) {
    for (Completion& completion : queue_->take(places_.size(), kPoll)) {
      Place& place = places_[completion.tag];
      place.slice = {};
      free_.push_back(completion.tag);
      if (!completion.result) {
        failed(completion.result.error());
        continue;
      }
      store(place.input, std::move(completion.result->bytes));
      count(windows, place, completion.result->report.times);
    }
  }

  void store(std::size_t input, std::vector<std::uint8_t>&& bytes) {
    if (job_.files == FileUse::kOnce) {
      last_[input] = std::move(bytes);
      return;
    }
    const std::string path = output_file(job_.outputs, prefix_, input);
    const base::FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const int error = file.valid() ? batch::write_all(file.get(), bytes) : errno;
    if (error != 0) failed(batch::io_error(path, "write", error));
    last_[input] = {1};  // it is there
  }

  void count(const Windows& windows, const Place& place, const StageTimes& times) {
    const auto now = Clock::now();
    const unsigned window = windows.at(now);
    if (window == windows.count) return;
    ++counts_.images[window];
    ++counts_.answers;
    counts_.times.parse_us += times.parse_us;
    counts_.times.decode_resample_us += times.decode_resample_us;
    counts_.times.encode_us += times.encode_us;
    counts_.times.total_us += times.total_us;
    if (counts_.latency_ms.size() < kMaxSamples) {
      counts_.latency_ms.push_back(duration<double, std::milli>(now - place.begin).count());
    }
  }

  /// Compares what was stored last for each input.
  void verify() {
    for (std::size_t i = 0; i < last_.size(); ++i) {
      if (last_[i].empty()) continue;
      ++counts_.checked;
      const auto wanted = read(output_file(job_.expected, "", i));
      const auto found = job_.files == FileUse::kOnce ? std::move(last_[i])
                                                      : read(output_file(job_.outputs, prefix_, i));
      if (wanted.empty() || wanted != found) ++counts_.wrong;
    }
  }

  static std::vector<std::uint8_t> read(const std::string& path) {
    const auto file = batch::InputFile::open(path);
    auto bytes =
        file ? file->read(UINT64_MAX) : Result<std::vector<std::uint8_t>>(fail(file.error()));
    return bytes ? std::move(*bytes) : std::vector<std::uint8_t>();
  }

  const ClientJob& job_;
  const ResizeOptions& options_;
  Client& client_;
  std::string prefix_;
  std::size_t next_;
  std::shared_ptr<CompletionQueue> queue_ = std::make_shared<CompletionQueue>();
  std::vector<Place> places_;
  std::vector<std::size_t> free_;
  std::vector<EngineRequest> requests_;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::uint8_t>> last_;  ///< what was stored for each input
  WindowCounts counts_;
};

Result<Client> connect(const ClientJob& job) {
  ClientOptions options;
  options.slots = static_cast<std::uint32_t>(job.window);
  options.input_bytes = job.input_bytes;
  options.output_bytes = job.output_bytes;
  const auto until = Clock::now() + kConnectTimeout;
  while (true) {
    auto client = Client::connect(job.socket, options);
    // Its server may still be starting.
    if (client || client.error().code() != StatusCode::kIoError || Clock::now() >= until) {
      return client;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<Windows> read_start(const ClientJob& job) {
  std::string line;
  std::int64_t start_ns = 0;
  const bool given = static_cast<bool>(std::getline(std::cin, line)) &&
                     parse_number(line, start_ns) && start_ns > 0;
  if (!given) return fail(StatusCode::kCancelled, "the bench has ended");
  const Clock::time_point start{std::chrono::nanoseconds(start_ns)};
  return Windows{start + duration_cast<Clock::duration>(duration<double>(job.warm_s)),
                 duration_cast<Clock::duration>(duration<double>(job.seconds)), job.repeat};
}

Json result_of(const std::vector<std::unique_ptr<Thread>>& threads, unsigned repeat) {
  WindowCounts all;
  all.images.assign(repeat, 0);
  for (const auto& thread : threads) {
    const WindowCounts& one = thread->counts();
    for (unsigned i = 0; i < repeat; ++i) all.images[i] += one.images[i];
    all.failures += one.failures;
    all.wrong += one.wrong;
    all.checked += one.checked;
    all.answers += one.answers;
    all.times.parse_us += one.times.parse_us;
    all.times.decode_resample_us += one.times.decode_resample_us;
    all.times.encode_us += one.times.encode_us;
    all.times.total_us += one.times.total_us;
    all.latency_ms.insert(all.latency_ms.end(), one.latency_ms.begin(), one.latency_ms.end());
    if (all.first_error.empty()) all.first_error = one.first_error;
  }
  std::sort(all.latency_ms.begin(), all.latency_ms.end());
  return {{"images", all.images},
          {"failures", all.failures},
          {"wrong", all.wrong},
          {"checked", all.checked},
          {"answers", all.answers},
          {"parse_us", all.times.parse_us},
          {"decode_resample_us", all.times.decode_resample_us},
          {"encode_us", all.times.encode_us},
          {"total_us", all.times.total_us},
          {"p50_ms", percentile(all.latency_ms, 0.5)},
          {"p99_ms", percentile(all.latency_ms, 0.99)},
          {"first_error", all.first_error}};
}

}  // namespace

Result<void> run_client(const ClientJob& job) {
  auto options = read_options(job.options);
  if (!options) return fail(options.error());
  options->codec = CodecKind::kAuto;  // the server's
  auto client = connect(job);
  if (!client) return fail(client.error());
  std::vector<std::unique_ptr<Thread>> parts;
  for (unsigned i = 0; i < job.threads; ++i) {
    parts.push_back(std::make_unique<Thread>(job, *options, *client, i));
    if (auto loaded = parts.back()->load(); !loaded) return loaded;
  }
  if (!print("ready\n")) return fail(StatusCode::kCancelled, "the bench has ended");
  const auto windows = read_start(job);
  if (!windows) return fail(windows.error());
  std::vector<std::thread> threads;
  for (const auto& part : parts) threads.emplace_back([&part, &windows] { part->run(*windows); });
  for (std::thread& thread : threads) thread.join();
  if (const auto lost = client->lost()) return fail(*lost);
  if (!print(one_line(result_of(parts, job.repeat)))) {
    return fail(StatusCode::kCancelled, "the bench has ended");
  }
  return {};
}

}  // namespace framewire::app::bench_serve
