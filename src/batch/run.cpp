// The public run(): what an engine, here or in another process, can do, and the numbers that nobody
// has chosen.
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/cores.hpp>
#include <base/start_thread.hpp>
#include <batch/caught.hpp>
#include <batch/runner.hpp>
#include <chrono>
#include <client/retries.hpp>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

namespace framewire::batch {
namespace {

constexpr unsigned kMaxJobs = 1024;
constexpr unsigned kMaxGroup = 1024;

// For a GPU images are handed over in groups: waking a thread for each would cost more than reading
// it. Groups of 32 and 64 are no faster.
constexpr unsigned kGpuGroup = 16;

// A GPU's own threads need the other half of the cores. Measured (seven H100s with 16 cores each,
// 60,000 to 144,000 files of 1920×1080 in memory): 18,300 to 39,900 images/s with 8 jobs, 16,400 to
// 31,600 with 16; on each machine 8 made 0.99 to 1.40 times as many.
unsigned default_jobs(bool has_gpu) {
  const unsigned cores = std::clamp(base::usable_cores(), 1u, kMaxJobs);
  return has_gpu ? (cores + 1) / 2 : cores;
}

/// Hands in several images; one thread to wake, however many.
/// @param engine  an Engine or a Client
template <typename Submitter>
PendingResults begin_all(Submitter& engine, std::span<const std::span<const std::uint8_t>> jpegs,
                         const ResizeOptions& options) {
  struct Answers {
    explicit Answers(std::size_t count)
        : missing(static_cast<std::ptrdiff_t>(count)),
          results(count, fail(StatusCode::kInternal, "no answer")) {}
    std::latch missing;
    std::vector<Result<Resized>> results;
  };
  const auto answers = std::make_shared<Answers>(jpegs.size());
  std::vector<EngineRequest> requests;
  requests.reserve(jpegs.size());
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    requests.push_back({jpegs[i], options, [answers, i](Result<Resized> made) {
                          answers->results[i] = std::move(made);
                          answers->missing.count_down();
                        }});
  }
  // Made first: once they are handed in nothing throws, as the caller's inputs are being read.
  PendingResults results = [answers] {
    answers->missing.wait();
    return std::move(answers->results);
  };
  engine.submit(requests);
  return results;
}

/// Has a client look for a lost server no longer once a run is to end: what is in work would wait
/// for the server, and the run for that.
class RetriesEnd {
 public:
  RetriesEnd(Client& client, const std::atomic<bool>* stop) {
    if (stop == nullptr) return;
    auto started = base::start_thread("fw-stop", [this, &client, stop] {
      // A flag that a handler of signals sets wakes nobody.
      constexpr std::chrono::milliseconds kLook{100};
      std::unique_lock lock(mutex_);
      while (!is_over_ && !*stop) over_.wait_for(lock, kLook);
      if (*stop) client::Retries::stop(client);
    });
    // Without a thread for it the client looks for as long as its timeout says.
    if (started) thread_ = std::move(*started);
  }
  ~RetriesEnd() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  RetriesEnd(const RetriesEnd&) = delete;
  RetriesEnd& operator=(const RetriesEnd&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

Result<void> check(const Settings& settings) {
  const auto wrong = [](std::string_view what, std::string message) {
    return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(std::string(what)));
  };
  if (settings.shard.index >= settings.shard.count) {
    return wrong("shard", fmt::format("found index {} of {}; accepted: 0 to count - 1",
                                      settings.shard.index, settings.shard.count));
  }
  if (settings.jobs > kMaxJobs) {
    return wrong("jobs", fmt::format("found {}; accepted: 0 to {}", settings.jobs, kMaxJobs));
  }
  if (settings.group > kMaxGroup) {
    return wrong("group", fmt::format("found {}; accepted: 0 to {}", settings.group, kMaxGroup));
  }
  return {};
}

}  // namespace

Hooks hooks_of(Engine& engine) {
  Hooks hooks;
  hooks.resize = [&engine](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    return engine.resize(jpeg, options);
  };
  if (engine.devices().empty()) return hooks;
  hooks.begin_all = [&engine](std::span<const std::span<const std::uint8_t>> jpegs,
                              const ResizeOptions& options) {
    return begin_all(engine, jpegs, options);
  };
  hooks.input_memory = [&engine](std::size_t bytes) -> Result<InputSlice> {
    auto memory = engine.input_memory(bytes);
    if (!memory) return fail(memory.error());
    const auto keeper = std::make_shared<const InputMemory>(std::move(*memory));
    return InputSlice{keeper->bytes(), keeper};
  };
  return hooks;
}

Hooks hooks_of(Client& client) {
  Hooks hooks;
  hooks.resize = [&client](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    return client.resize(jpeg, options);
  };
  hooks.begin_all = [&client](std::span<const std::span<const std::uint8_t>> jpegs,
                              const ResizeOptions& options) {
    return begin_all(client, jpegs, options);
  };
  hooks.input_memory = [&client](std::size_t bytes) { return client.input_slice(bytes); };
  return hooks;
}

Result<Summary> run(Source& source, Sink& sink, Engine& engine, const Settings& settings,
                    const RunOptions& with) {
  if (auto good = check(settings); !good) return fail(good.error());
  return caught([&] {
    const bool has_gpu = !engine.devices().empty();
    Settings chosen = settings;
    if (chosen.jobs == 0) chosen.jobs = default_jobs(has_gpu);
    if (chosen.group == 0) chosen.group = has_gpu ? kGpuGroup : 1;
    return run(source, sink, hooks_of(engine), chosen, with);
  });
}

Result<Summary> run(Source& source, Sink& sink, Client& client, const Settings& settings,
                    const RunOptions& with) {
  if (auto good = check(settings); !good) return fail(good.error());
  return caught([&] {
    Settings chosen = settings;
    if (chosen.jobs == 0) chosen.jobs = default_jobs(false);
    if (chosen.group == 0) chosen.group = kGpuGroup;
    const RetriesEnd retries_end(client, with.stop);
    return run(source, sink, hooks_of(client), chosen, with);
  });
}

}  // namespace framewire::batch
