// framewire perf
#include <fmt/format.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <commands/perf/report.hpp>
#include <connection/connection.hpp>
#include <connection/security.hpp>
#include <framewire/transport.hpp>
#include <optional>
#include <report/console.hpp>
#include <string>
#include <thread>
#include <transport/device.hpp>

namespace framewire::app {
namespace {

using transport::Channel;
using transport::SessionOptions;

constexpr std::uint64_t kMaxIterations = 900'000;

struct SizeRange {
  std::uint64_t from = 1;
  std::uint64_t to = 0;
};

// "64", "8k", "4M", "1G".
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const bool good = options::parse_count(text, 1024, 1, number) && number <= kMaxMessageBytes;
  return good ? std::optional(number) : std::nullopt;
}

Result<SizeRange> parse_sizes(const std::string& text) {
  const auto colon = text.find(':');
  const auto from = parse_size(std::string_view(text).substr(0, colon));
  const auto to =
      colon == std::string::npos ? from : parse_size(std::string_view(text).substr(colon + 1));
  if (!from || !to || *from > *to) {
    return misuse(fmt::format(
        "--sizes: found '{}'; accepted: FROM:TO in bytes, with k, M or G, from 1 to 1G", text));
  }
  return SizeRange{*from, *to};
}

// Adds where this end's memory lies, and what is required of the way to the other's.
Result<void> place_and_require(SessionOptions& options, const MemoryPlace& place,
                               const std::string& require) {
  place_at(options, place);
  const auto requirement = transport::parse_requirement(require);
  if (!requirement) return fail(requirement.error());
  options.require = *requirement;
  return {};
}

int serve_one(Channel& channel, const MemoryPlace& place) {
  auto memory = PerfMemory::make(4096, place);
  for (std::uint64_t largest = 4096; memory;) {
    const auto row = await_row(channel, *memory);
    if (!row) {
      // The client has what it wanted, and left.
      return row.error().code() == StatusCode::kPeerLost ? kAllDone : report(row.error());
    }
    if (row->size_bytes > largest) {
      largest = row->size_bytes;
      memory = PerfMemory::make(largest, place);
      if (!memory) break;
    }
    if (const auto done = run_row(channel, *memory, *row, false); !done) {
      return report(done.error());
    }
  }
  return report(memory.error());
}

int serve(const std::string& address, const SessionOptions& options, const MemoryPlace& place) {
  auto listener = transport::Listener::listen(address, options);
  if (!listener) return refuse(listener.error());
  say(fmt::format("listening on port {}", listener->port()));
  while (true) {
    auto channel = listener->accept(3'600'000);
    if (!channel) {
      // A peer that fails to connect does not end the command.
      report(channel.error());
      continue;
    }
    // The port is closed: further clients are refused, instead of connected and never served.
    static_cast<void>(transport::Listener(std::move(*listener)));
    return serve_one(*channel, place);
  }
}

class PerfClient {
 public:
  /// @param iterations  of each row; 0: as many as OSU
  PerfClient(Channel& channel, PerfMemory& memory, const Arguments& arguments,
             std::uint32_t iterations)
      : channel_(channel),
        memory_(memory),
        iterations_(iterations),
        json_(arguments.has("json")),
        percentiles_(!arguments.has("osu")),
        verify_(arguments.has("verify")),
        pauses_(!arguments.has("continuous")) {}

  int measure(PerfTest test, const SizeRange& sizes, std::uint32_t window) {
    if (!json_ && !print(perf_title(test, percentiles_))) return kEnvironment;
    Json rows = Json::array();
    for (std::uint64_t size = sizes.from; size <= sizes.to; size *= 2) {
      auto row = osu_row(test, size, window);
      row.verify = verify_;
      row.pauses = pauses_;
      if (iterations_ != 0) {
        row.rounds = iterations_;
        row.skipped = iterations_ / 10 + 1;
      }
      if (auto told = announce(channel_, memory_, row); !told) return report(told.error());
      auto times = run_row(channel_, memory_, row, true);
      if (!times) return report(times.error());
      const auto figures = figures_of(row, std::move(*times));
      rows.push_back(to_json(figures));
      if (!json_ && !print(perf_line(figures, percentiles_))) return kEnvironment;
    }
    const transport::PathReport path = channel_.path();
    if (!json_) {
      const auto staged = path.staged_bytes;
      if (staged > 0) say(fmt::format("{} bytes staged through this end's host memory", staged));
      return kAllDone;
    }
    const Json whole = {{"test", std::array{"latency", "bw", "bibw"}[static_cast<int>(test)]},
                        {"unit", test == PerfTest::kLatency ? "us" : "MB/s"},
                        {"path", path.name},
                        {"direct", to_string(path.direct)},
                        {"gpudirect", path.gpudirect},
                        {"peer_gpudirect", path.peer_gpudirect},
                        {"staged_bytes", path.staged_bytes},
                        {"peer", channel_.config().peer},
                        {"window", test == PerfTest::kLatency ? 1 : window},
                        {"verified", verify_},
                        {"continuous", !pauses_},
                        {"rows", std::move(rows)}};
    return print(pretty(whole) + "\n") ? kAllDone : kEnvironment;
  }

 private:
  Channel& channel_;
  PerfMemory& memory_;
  std::uint32_t iterations_;
  bool json_;
  bool percentiles_;
  bool verify_;
  bool pauses_;
};

struct Wanted {
  PerfTest test = PerfTest::kLatency;
  SizeRange sizes;
  std::uint32_t window = 0;
  std::uint32_t rounds = 0;  ///< 0: as many as OSU's benchmarks
};

int be_client(Channel& channel, const MemoryPlace& place, const Wanted& wanted,
              const Arguments& arguments) {
  auto memory = PerfMemory::make(wanted.sizes.to, place);
  if (!memory) return report(memory.error());
  if (!arguments.has("json")) say("over " + channel.path().name);
  return PerfClient(channel, *memory, arguments, wanted.rounds)
      .measure(wanted.test, wanted.sizes, wanted.window);
}

// Measures between two ends in this process, a thread each.
int measure_here(const MemoryPlace& from, const MemoryPlace& to, const SessionOptions& options,
                 const Wanted& wanted, const Arguments& arguments) {
  transport::PathReport path;
  path.name = "loopback";
  if (from.devices != nullptr && to.devices != nullptr) {
    path.direct = from.devices->reach(from.device, to.device);
  }
  if (auto good = check_path(path, options.require); !good) return refuse(good.error());
  auto ends = transport::connect_loopback(options.capacity);
  if (!ends) return report(ends.error());
  std::thread server([&] { serve_one(ends->second, to); });
  const int code = be_client(ends->first, from, wanted, arguments);
  ends->first.close();
  server.join();
  return code;
}

/// Which ends of the connection this process is.
enum class Ends { kServer, kClient, kBoth };

// @return misuse()
Result<Ends> parse_ends(const Arguments& arguments) {
  const bool server = arguments.has("server");
  const bool client = arguments.paths.size() == 2;
  const bool both = !server && !client && arguments.has("from") && arguments.has("to");
  if (both) return Ends::kBoth;
  if (server == client) {
    return misuse(
        "either --server ADDR:PORT, or the HOST:PORT of one, or both --from and --to for two ends "
        "in this process");
  }
  if (arguments.has(server ? "from" : "to")) {
    return misuse("--from is the client's memory, --to the server's");
  }
  return server ? Ends::kServer : Ends::kClient;
}

// @return misuse()
Result<Wanted> parse_wanted(const Arguments& arguments) {
  const std::string& word = arguments.paths[0];
  Wanted wanted;
  wanted.test = word == "latency" ? PerfTest::kLatency
                : word == "bw"    ? PerfTest::kBandwidth
                                  : PerfTest::kBothWays;
  const auto sizes = parse_sizes(arguments.get("sizes"));
  if (!sizes) return fail(sizes.error());
  wanted.sizes = *sizes;
  const auto window = parse_size(arguments.get("window"));
  if (!window || *window > 256) {
    return misuse(fmt::format("--window: found '{}'; accepted: 1 to 256", arguments.get("window")));
  }
  wanted.window = static_cast<std::uint32_t>(*window);
  if (!arguments.has("iterations")) return wanted;
  const auto iterations = parse_size(arguments.get("iterations"));
  if (!iterations || *iterations > kMaxIterations) {
    return misuse(fmt::format("--iterations: found '{}'; accepted: 1 to {}",
                              arguments.get("iterations"), kMaxIterations));
  }
  wanted.rounds = static_cast<std::uint32_t>(*iterations);
  return wanted;
}

}  // namespace

int run_perf(const Arguments& arguments) {
  const std::string& word = arguments.paths[0];
  if (word != "latency" && word != "bw" && word != "bibw") {
    return report_usage(
        "perf",
        fmt::format("found '{}'; accepted: framewire perf latency|bw|bibw [HOST:PORT]", word));
  }
  auto options = session_of(arguments);
  const auto from = find_place(arguments.get("from"));
  if (!from) return refuse(Status(from.error()).about("--from"));
  const auto to = find_place(arguments.get("to"));
  if (!to) return refuse(Status(to.error()).about("--to"));
  const auto ends = parse_ends(arguments);
  if (!ends) return report_usage("perf", ends.error());
  const bool server = *ends == Ends::kServer;
  if (*ends != Ends::kBoth) {
    const auto address = server ? check_address("--server", arguments.get("server"))
                                : check_address("HOST:PORT", arguments.paths[1]);
    if (!address) return report_usage("perf", address.error());
    const auto end = server ? ConnectionEnd::kListens : ConnectionEnd::kConnects;
    if (auto code = refuse_security("perf", arguments, end)) return *code;
  }
  if (auto good = place_and_require(options, server ? *to : *from, arguments.get("require"));
      !good) {
    return refuse(good.error());
  }
  if (server) return serve(arguments.get("server"), options, *to);
  const auto wanted = parse_wanted(arguments);
  if (!wanted) return report_usage("perf", wanted.error());
  if (*ends == Ends::kBoth) return measure_here(*from, *to, options, *wanted, arguments);
  auto channel = transport::connect(arguments.paths[1], options);
  if (!channel) {
    // The address is one: whatever is wrong now is the network's or the peer's.
    report(channel.error());
    return kEnvironment;
  }
  return be_client(*channel, *from, *wanted, arguments);
}

}  // namespace framewire::app
