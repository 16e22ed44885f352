#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <chrono>
#include <commands/bench/common.hpp>
#include <commands/bench/throughput.hpp>
#include <cstddef>
#include <thread>
#include <utility>

namespace framewire::app {

unsigned submitters_of(const Engine& engine) {
  constexpr std::size_t kSubmittersEach = 2;
  return static_cast<unsigned>(kSubmittersEach * std::max<std::size_t>(1, engine.devices().size()));
}

Throughput measure_throughput(Engine& engine, const Workload& workload, double seconds) {
  const unsigned submitters = submitters_of(engine);
  std::atomic<std::uint64_t> images{0};
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> pixels_out{0};
  std::atomic<std::uint64_t> parse_ns{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<bool> stop{false};
  const auto submit = [&](std::uint64_t first) {
    for (std::uint64_t i = first; !stop; i += submitters) {
      engine.submit(workload.input(i), workload.options(i), [&](const Result<Resized>& result) {
        if (!result) {
          ++failures;
          return;
        }
        bytes_in += result->report.input.bytes;
        bytes_out += result->bytes.size();
        const ImageSummary& output = result->report.output;
        pixels_out += static_cast<std::uint64_t>(output.width_px) *
                      static_cast<std::uint64_t>(output.height_px);
        parse_ns += static_cast<std::uint64_t>(result->report.times.parse_us * 1000);
        ++images;
      });
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < submitters; ++t) threads.emplace_back(submit, t);
  // The queue fills first; what is counted is the steady state.
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.25, seconds / 4)));
  const std::uint64_t before = images;
  const std::uint64_t bytes_before = bytes_in;
  const auto start = base::Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::uint64_t done = images - before;
  const std::uint64_t bytes_done = bytes_in - bytes_before;
  const double took = base::elapsed_us(start) / 1e6;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  engine.drain();
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, images));
  const double rate = static_cast<double>(done) / took;
  return {rate,
          static_cast<double>(bytes_done) / 1e9 / took,
          static_cast<double>(pixels_out) / all * rate / 1e6,
          static_cast<double>(bytes_out) / all,
          static_cast<double>(parse_ns) / 1000 / all,
          failures};
}

Json rates_json(const std::vector<Throughput>& runs) {
  const auto values = [&](double Throughput::*member) {
    std::vector<double> all;
    all.reserve(runs.size());
    for (const Throughput& run : runs) all.push_back(run.*member);
    return all;
  };
  const auto images = values(&Throughput::images_per_second);
  const auto [least, most] = std::minmax_element(images.begin(), images.end());
  std::uint64_t failures = 0;
  Json each = Json::array();
  for (const Throughput& run : runs) {
    failures += run.failures;
    each.push_back({{"images_per_second", run.images_per_second},
                    {"gigabytes_in_per_second", run.gigabytes_in_per_second},
                    {"megapixels_out_per_second", run.megapixels_out_per_second},
                    {"failures", run.failures}});
  }
  return {{"images_per_second", median(images)},
          {"images_per_second_min", *least},
          {"images_per_second_max", *most},
          {"gigabytes_in_per_second", median(values(&Throughput::gigabytes_in_per_second))},
          {"megapixels_out_per_second", median(values(&Throughput::megapixels_out_per_second))},
          {"bytes_out", median(values(&Throughput::bytes_out))},
          {"parse_us", median(values(&Throughput::parse_us))},
          {"failures", failures},
          {"runs", std::move(each)}};
}

}  // namespace framewire::app
