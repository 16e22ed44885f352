// framewire bench resize IN…
#include <fmt/format.h>
#include <algorithm>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <commands/bench/common.hpp>
#include <engine/codec_router.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

constexpr std::string_view kTimedResize =
    "parse, decode, resample, encode, in memory; not reading files, not verifying";

struct ResizePlan : BenchPlan {
  std::vector<unsigned> jobs;
};

// @return misuse()
Result<ResizePlan> make_resize_plan(const Arguments& arguments) {
  ResizePlan plan;
  for (const std::string& text : split_at_commas(arguments.get("jobs"))) {
    unsigned jobs = 0;
    if (!parse_number(text, 1u, 1024u, jobs)) {
      return misuse(
          fmt::format("--jobs: found '{}'; accepted: whole numbers from 1 to 1024", text));
    }
    plan.jobs.push_back(jobs);
  }
  auto common = make_bench_plan(arguments);
  if (!common) return fail(common.error());
  static_cast<BenchPlan&>(plan) = std::move(*common);
  return plan;
}

struct Rates {
  std::vector<double> images;
  std::vector<double> megabytes;
  std::vector<double> latency_ms;
  std::uint64_t failures = 0;
};

Rates repeat(const Resizer& resizer, const std::vector<const BenchInput*>& inputs,
             const ResizeOptions& options, unsigned jobs, const ResizePlan& plan) {
  Rates rates;
  for (unsigned i = 0; i < plan.repeat; ++i) {
    const BenchRun run = measure(resizer, inputs, options, jobs, plan.seconds);
    rates.images.push_back(static_cast<double>(run.images) / run.seconds);
    rates.megabytes.push_back(static_cast<double>(run.bytes_in) / 1e6 / run.seconds);
    rates.latency_ms.insert(rates.latency_ms.end(), run.latency_ms.begin(), run.latency_ms.end());
    rates.failures += run.failures;
  }
  std::sort(rates.latency_ms.begin(), rates.latency_ms.end());
  return rates;
}

Json row_json(const std::string& codec, unsigned jobs, const Rates& rates) {
  const auto& latency = rates.latency_ms;
  const auto [least, most] = std::minmax_element(rates.images.begin(), rates.images.end());
  return {{"codec", codec},
          {"jobs", jobs},
          {"images_per_second", median(rates.images)},
          {"images_per_second_min", *least},
          {"images_per_second_max", *most},
          {"megabytes_in_per_second", median(rates.megabytes)},
          {"latency_ms", percentiles(latency)},
          {"images", latency.size()},
          {"failures", rates.failures}};
}

std::string resize_table(const Json& result) {
  std::string text = heading(result);
  text += fmt::format("{:<10} {:>4} {:>10} {:>19} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "codec", "jobs",
                      "images/s", "min - max", "MB/s in", "p50 ms", "p90 ms", "p99 ms", "max ms");
  for (const Json& row : result["rows"]) {
    const Json& latency = row["latency_ms"];
    const std::string spread =
        fmt::format("{:.1f} - {:.1f}", row["images_per_second_min"].get<double>(),
                    row["images_per_second_max"].get<double>());
    text += fmt::format(
        "{:<10} {:>4} {:>10.1f} {:>19} {:>9.1f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n",
        row["codec"].get<std::string>(), row["jobs"].get<unsigned>(),
        row["images_per_second"].get<double>(), spread,
        row["megabytes_in_per_second"].get<double>(), latency["p50"].get<double>(),
        latency["p90"].get<double>(), latency["p99"].get<double>(), latency["max"].get<double>());
  }
  return text;
}

// Whether the library's call has a codec at all. @return unsupported
Result<void> check_codec(const std::string& codec) {
  ResizeOptions options;
  if (auto set = set_option(options, "codec", codec); !set) return set;
  const auto route = engine::CodecRouter().choose(options.codec);
  return route ? Result<void>() : fail(route.error());
}

// The rows of one codec, and the inputs that it cannot do, which are left out of them.
void bench_resize_codec(const std::string& codec, const std::vector<BenchInput>& inputs,
                        ResizeOptions options, const ResizePlan& plan, Json& result) {
  (void)set_option(options, "codec", codec);  // checked by make_bench_plan()
  const Resizer resizer;
  const auto resize = [&](const BenchInput& input) { return resizer.resize(input.bytes, options); };
  const auto usable = usable_inputs(codec, inputs, resize, result);
  if (usable.empty()) return;
  for (const unsigned jobs : plan.jobs) {
    const Rates rates = repeat(resizer, usable, options, jobs, plan);
    result["rows"].push_back(row_json(codec, jobs, rates));
  }
}

}  // namespace

int run_bench_resize(const Arguments& arguments) {
  const auto made = make_resize_plan(arguments);
  if (!made) return report_usage("bench", made.error());
  const ResizePlan& plan = *made;
  const auto inputs = load_all(arguments);
  if (!inputs) {
    report(inputs.error());
    return kSomeFailed;
  }
  if (inputs->empty()) return report_usage("bench", "found no JPEG in IN");
  Json result = begin_result(arguments, *inputs, plan, kTimedResize);
  result["unavailable"] = Json::array();
  for (const std::string& codec : plan.codecs) {
    if (auto here = check_codec(codec); !here) {
      say(printable(fmt::format("{}: {}", codec, here.error().to_string())));
      result["unavailable"].push_back({{"codec", codec}, {"error", to_json(here.error())}});
      continue;
    }
    bench_resize_codec(codec, *inputs, arguments.options, plan, result);
  }
  const bool printed = print(arguments.has("json") ? pretty(result) : resize_table(result));
  if (!printed || !result["unavailable"].empty()) return kEnvironment;
  return result["failed"].empty() ? kAllDone : kSomeFailed;
}

}  // namespace framewire::app
