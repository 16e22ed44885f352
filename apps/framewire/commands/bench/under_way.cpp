#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <chrono>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/bench/under_way.hpp>
#include <memory>
#include <semaphore>

namespace framewire::app {
namespace {

constexpr std::size_t kMaxUnderWay = 65'536;

/// Images a second of what `step` hands in and counts, once a quarter of the time has passed.
template <typename Step, typename Count>
double rate(double seconds, const Step& step, const Count& count) {
  const auto begin = base::Clock::now();
  while (base::elapsed_us(begin) < seconds * 0.25e6) step();
  const std::uint64_t before = count();
  const auto start = base::Clock::now();
  while (base::elapsed_us(start) < seconds * 1e6) step();
  return static_cast<double>(count() - before) / (base::elapsed_us(start) / 1e6);
}

struct OneByOne {
  double images_per_second = 0;
  double pixels_out = 0;  ///< mean of an image
};

OneByOne one_by_one(Engine& engine, const Workload& workload, std::size_t many, double seconds) {
  std::counting_semaphore<kMaxUnderWay> room(static_cast<std::ptrdiff_t>(many));
  std::atomic<std::uint64_t> images{0};
  std::atomic<std::uint64_t> pixels{0};
  std::uint64_t next = 0;
  const auto step = [&] {
    room.acquire();
    engine.submit(workload.input(next), workload.options(next), [&](const Result<Resized>& made) {
      if (made) {
        pixels += static_cast<std::uint64_t>(made->report.output.width_px) *
                  static_cast<std::uint64_t>(made->report.output.height_px);
        ++images;
      }
      room.release();
    });
    ++next;
  };
  const double found = rate(seconds, step, [&] { return images.load(); });
  engine.drain();
  const auto made = static_cast<double>(std::max<std::uint64_t>(1, images));
  return {found, static_cast<double>(pixels) / made};
}

double in_groups(Engine& engine, const Workload& workload, std::size_t many, double seconds) {
  const auto queue = std::make_shared<CompletionQueue>();
  std::uint64_t images = 0;
  std::uint64_t next = 0;
  std::vector<EngineRequest> requests;
  const auto hand_in = [&](std::size_t count) {
    requests.resize(count);
    for (EngineRequest& request : requests) {
      request = EngineRequest{workload.input(next), workload.options(next), {}};
      ++next;
      request.completions = queue;
    }
    engine.submit(requests);
  };
  hand_in(many);
  const auto step = [&] {
    const auto group = queue->take(many, std::chrono::seconds(1));
    for (const Completion& completion : group) images += completion.result ? 1 : 0;
    hand_in(group.size());
  };
  const double found = rate(seconds, step, [&] { return images; });
  engine.drain();
  return found;
}

}  // namespace

Result<std::vector<std::size_t>> parse_under_way(const std::string& text) {
  std::vector<std::size_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string& one : split_at_commas(text)) {
    std::size_t many = 0;
    if (!parse_number(one, std::size_t{1}, kMaxUnderWay, many)) {
      return misuse(fmt::format("--under-way: found '{}'; accepted: whole numbers from 1 to {}",
                                text, kMaxUnderWay));
    }
    numbers.push_back(many);
  }
  return numbers;
}

Json measure_under_way(Engine& engine, const Workload& workload,
                       const std::vector<std::size_t>& under_way, double seconds) {
  Json rows = Json::array();
  for (const std::size_t many : under_way) {
    const OneByOne found = one_by_one(engine, workload, many, seconds);
    rows.push_back({{"requests", many},
                    {"pixels_out", found.pixels_out},
                    {"one_by_one", found.images_per_second},
                    {"in_groups", in_groups(engine, workload, many, seconds)}});
  }
  return rows;
}

std::string under_way_lines(std::string_view codec, const Json& rows) {
  std::string lines;
  for (const Json& row : rows) {
    lines += fmt::format("{:<10} {:>5} under way, images/s: one by one {:.0f}, in groups {:.0f}\n",
                         codec, row["requests"].get<std::size_t>(), row["one_by_one"].get<double>(),
                         row["in_groups"].get<double>());
  }
  return lines;
}

}  // namespace framewire::app
