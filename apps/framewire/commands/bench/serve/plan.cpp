#include <fmt/format.h>
#include <algorithm>
#include <command_line/gpu_options.hpp>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <commands/bench/serve/plan.hpp>
#include <filesystem>
#include <set>

namespace framewire::app::bench_serve {
namespace {

constexpr unsigned kMaxServers = 16;
/// Clients of one server, at most: LocalServerOptions::max_clients.
constexpr unsigned kMaxClients = 32;
/// Requests of one client under way, at most: LocalServerOptions::slots.
constexpr std::size_t kMaxWindow = 1024;

Result<std::vector<unsigned>> take_list(const Arguments& arguments, const char* name,
                                        unsigned max) {
  std::vector<unsigned> numbers;
  for (const std::string& text : split_at_commas(arguments.get(name))) {
    unsigned number = 0;
    if (!parse_number(text, 1u, max, number)) {
      return misuse(
          fmt::format("--{}: found '{}'; accepted: whole numbers from 1 to {}", name, text, max));
    }
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

Result<std::vector<bool>> take_mps(const Arguments& arguments) {
  std::vector<bool> values;
  for (const std::string& text : split_at_commas(arguments.get("mps"))) {
    if (text != "on" && text != "off") {
      return misuse(fmt::format("--mps: found '{}'; accepted: off, on, or off,on", text));
    }
    const bool on = text == "on";
    if (std::find(values.begin(), values.end(), on) == values.end()) values.push_back(on);
  }
  return values;
}

Result<void> take_engines(const Arguments& arguments, ServePlan& plan) {
  plan.separate = plan.shared = false;
  for (const std::string& text : split_at_commas(arguments.get("engines"))) {
    if (text == "separate") {
      plan.separate = true;
    } else if (text == "shared") {
      plan.shared = true;
    } else {
      return misuse(
          fmt::format("--engines: found '{}'; accepted: separate, shared, or both", text));
    }
  }
  return {};
}

Result<void> take_inputs(const Arguments& arguments, ServePlan& plan) {
  if (arguments.has("input-restart")) {
    std::int32_t restart = 0;
    if (!parse_number(arguments.get("input-restart"), 0, 65535, restart)) {
      return misuse(fmt::format("--input-restart: found '{}'; accepted: 0 to 65535",
                                arguments.get("input-restart")));
    }
    plan.input_restart = restart;
  }
  if (arguments.has("input-size")) {
    ResizeOptions size;
    const std::string text = arguments.get("input-size");
    const auto set = set_option(size, "size", text);
    if (!set || size.width_px == 0 || size.height_px == 0) {
      return misuse(fmt::format("--input-size: found '{}'; accepted: WxH", text));
    }
    plan.input_width_px = size.width_px;
    plan.input_height_px = size.height_px;
  }
  return {};
}

Result<void> take_codec(const Arguments& arguments, ServePlan& plan) {
  plan.options = arguments.options;
  plan.options.codec = CodecKind::kAuto;
  const auto given = arguments.given.find("codec");
  if (given == arguments.given.end()) return {};
  if (auto set = set_option(plan.options, "codec", given->second); !set) {
    return misuse(
        fmt::format("--codec: {}; bench serve measures one codec", set.error().message()));
  }
  return {};
}

Result<void> take_engine(const Arguments& arguments, ServePlan& plan) {
  Arguments with_codec = arguments;
  with_codec.options = plan.options;
  auto engine = make_engine_options(with_codec);
  if (!engine) return fail(engine.error());
  plan.engine = std::move(*engine);
  if (!arguments.has("threads")) return {};
  if (parse_number(arguments.get("threads"), 1u, 1024u, plan.engine.threads)) return {};
  return misuse(fmt::format("--threads: found '{}'; accepted: a whole number from 1 to 1024",
                            arguments.get("threads")));
}

Result<void> take_clients(const Arguments& arguments, ServePlan& plan) {
  if (!parse_number(arguments.get("window"), std::size_t{1}, kMaxWindow, plan.window)) {
    return misuse(fmt::format("--window: found '{}'; accepted: 1 to {}", arguments.get("window"),
                              kMaxWindow));
  }
  if (!parse_number(arguments.get("client-threads"), 1u, 64u, plan.client_threads)) {
    return misuse(fmt::format("--client-threads: found '{}'; accepted: 1 to 64",
                              arguments.get("client-threads")));
  }
  if (plan.client_threads > plan.window) {
    return misuse("--client-threads: accepted: no more than --window");
  }
  const std::string share = arguments.get("mps-threads");
  if (!share.empty() && !parse_number(share, 1u, 100u, plan.mps_threads)) {
    return misuse(fmt::format("--mps-threads: found '{}'; accepted: 1 to 100", share));
  }
  plan.files = arguments.get("files") == "once" ? FileUse::kOnce : FileUse::kEach;
  return {};
}

Result<void> check_counts(const ServePlan& plan) {
  const unsigned most = *std::max_element(plan.servers.begin(), plan.servers.end()) *
                        *std::max_element(plan.clients.begin(), plan.clients.end());
  if (!plan.shared || most <= kMaxClients) return {};
  return misuse(
      fmt::format("--servers, --clients: with --engines shared one server has at most {} "
                  "clients, not {}",
                  kMaxClients, most));
}

}  // namespace

std::vector<Combination> ServePlan::combinations() const {
  std::vector<Combination> all;
  std::set<unsigned> measured;  // numbers of clients that one engine has served without MPS
  for (const unsigned count : servers) {
    for (const unsigned each : clients) {
      for (const bool on : mps) {
        if (!separate) continue;
        all.push_back({false, count, each, on});
        if (count == 1 && !on) measured.insert(each);
      }
    }
  }
  for (const unsigned count : servers) {
    for (const unsigned each : clients) {
      if (shared && measured.insert(count * each).second) {
        all.push_back({true, 1, count * each, false});
      }
    }
  }
  return all;
}

Result<ServePlan> make_plan(const Arguments& arguments) {
  ServePlan plan;
  Arguments without_codec = arguments;
  without_codec.own["codec"] = "auto";  // one, which take_codec() reads
  auto common = make_bench_plan(without_codec);
  if (!common) return fail(common.error());
  static_cast<BenchPlan&>(plan) = std::move(*common);
  auto servers = take_list(arguments, "servers", kMaxServers);
  if (!servers) return fail(servers.error());
  plan.servers = std::move(*servers);
  auto clients = take_list(arguments, "clients", kMaxClients);
  if (!clients) return fail(clients.error());
  plan.clients = std::move(*clients);
  auto mps = take_mps(arguments);
  if (!mps) return fail(mps.error());
  plan.mps = std::move(*mps);
  for (auto* step : {take_engines, take_inputs, take_codec, take_engine, take_clients}) {
    if (auto taken = step(arguments, plan); !taken) return fail(taken.error());
  }
  if (auto counts = check_counts(plan); !counts) return fail(counts.error());
  plan.work = arguments.has("work") ? arguments.get("work")
                                    : std::filesystem::temp_directory_path().string();
  plan.mps_program = arguments.get("mps-program");
  return plan;
}

}  // namespace framewire::app::bench_serve
