// framewire bench WHAT IN…
#include <fmt/format.h>
#include <algorithm>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <commands/bench/common.hpp>
#include <report/console.hpp>
#ifdef FRAMEWIRE_SERVICE
#include <commands/bench/serve/bench_serve.hpp>
#include <commands/bench/serve/part.hpp>
#endif

namespace framewire::app {
namespace {

constexpr std::string_view kJpeg2jpegOnly[] = {"batch",    "streams",         "memory", "parts",
                                               "profiles", "under-way",       "vary",   "rate",
                                               "seed",     "memory-over-time"};
constexpr std::string_view kEngines[] = {"threads", "device", "gpu-memory", "warm"};
constexpr std::string_view kServeOnly[] = {
    "servers", "clients", "engines",        "mps",           "mps-program", "mps-threads",
    "files",   "window",  "client-threads", "input-restart", "input-size",  "work"};

// An option that the bench would leave aside is refused: whoever gives it expects a figure of it.
Result<void> check_options(const Arguments& arguments) {
  const std::string& what = arguments.paths[0];
  const auto given = [&](std::span<const std::string_view> names) {
    const auto found = std::ranges::find_if(
        names, [&](std::string_view name) { return arguments.given.contains(std::string(name)); });
    return found == names.end() ? std::string_view() : *found;
  };
  const auto refuse = [&](std::string_view option, std::string_view of) {
    return misuse(
        fmt::format("--{}: bench {} has no use for it; accepted with {}", option, what, of));
  };
  if (const auto option = given(kJpeg2jpegOnly); what != "jpeg2jpeg" && !option.empty()) {
    return refuse(option, "jpeg2jpeg");
  }
  if (const auto option = given(kServeOnly); what != "serve" && !option.empty()) {
    return refuse(option, "serve");
  }
  if (const auto option = given(kEngines); what == "resize" && !option.empty()) {
    return refuse(option, "jpeg2jpeg and serve");
  }
  if (what != "resize" && arguments.given.contains("jobs")) return refuse("jobs", "resize");
  return {};
}

}  // namespace

int run_bench(const Arguments& arguments) {
  const std::string& what = arguments.paths[0];
  const bool known = what == "resize" || what == "jpeg2jpeg" || what == "serve";
  if (auto good = check_options(arguments); known && !good) {
    return report_usage("bench", good.error());
  }
  if (what == "resize") return run_bench_resize(arguments);
  if (what == "jpeg2jpeg") return run_bench_jpeg2jpeg(arguments);
#ifdef FRAMEWIRE_SERVICE
  if (what == "serve" || what == bench_serve::kPartWord) return run_bench_serve(arguments);
#endif
  return report_usage(
      "bench", fmt::format("found '{}'; accepted: framewire bench {} IN…", what, kBenchWords));
}

}  // namespace framewire::app
