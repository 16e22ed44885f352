#include <fmt/format.h>
#include <commands/bench/common.hpp>
#include <commands/bench/serve/published.hpp>
#include <commands/bench/serve/table.hpp>
#include <utility>
#include <vector>

namespace framewire::app::bench_serve {
namespace {

/// Images a second of the measurement that was made so; "-" where there is none.
std::string rate(const Json& rows, bool shared, unsigned servers, unsigned clients, bool mps) {
  for (const Json& row : rows) {
    const bool same = row["engines"] == (shared ? "shared" : "separate") &&
                      row["servers"] == servers && row["clients_a_server"] == clients &&
                      row["mps"] == mps;
    if (same) return fmt::format("{:.0f}", row["images_per_second"].get<double>());
  }
  return "-";
}

/// One engine that serves as many clients, whichever way that came to be measured.
std::string shared_rate(const Json& rows, unsigned clients) {
  const std::string shared = rate(rows, true, 1, clients, false);
  return shared == "-" ? rate(rows, false, 1, clients, false) : shared;
}

std::string details(const Json& row) {
  const Json& busy = row["busy_cores"];
  const Json& times = row["times_us"];
  return fmt::format(
      "{:<8} {:>7} {:>7} {:>4} {:>10.0f} {:>19} {:>8.1f} {:>8.1f} {:>6.2f} {:>6.2f} {:>5.2f} "
      "{:>8.0f} {:>8.0f} {:>7} {:>6}\n",
      row["engines"].get<std::string>(), row["servers"].get<unsigned>(),
      row["clients_a_server"].get<unsigned>(), row["mps"].get<bool>() ? "on" : "off",
      row["images_per_second"].get<double>(),
      fmt::format("{:.0f} - {:.0f}", row["images_per_second_min"].get<double>(),
                  row["images_per_second_max"].get<double>()),
      row["latency_ms"]["p50_max"].get<double>(), row["latency_ms"]["p99_max"].get<double>(),
      busy["servers"].get<double>(), busy["clients"].get<double>(), busy["mps"].get<double>(),
      times["decode_resample"].get<double>(), times["total"].get<double>(),
      row["failures"].get<std::uint64_t>(), row["wrong"].get<std::uint64_t>());
}

std::string comparison(const Json& result) {
  std::string text =
      fmt::format("{:>7} {:>7} {:>13} {:>13} {:>13} {:>13} {:>13}\n", "servers", "clients",
                  "published", "with MPS", "separate", "with MPS", "one engine");
  for (const Json& line : result["lines"]) {
    const auto servers = line["servers"].get<unsigned>();
    const auto clients = line["clients_a_server"].get<unsigned>();
    const Json& was = line["published"];
    const auto published = [&](const char* name) {
      return was.is_null() ? std::string("-") : std::to_string(was[name].get<unsigned>());
    };
    const Json& rows = result["rows"];
    text += fmt::format(
        "{:>7} {:>7} {:>13} {:>13} {:>13} {:>13} {:>13}\n", servers, clients,
        published("without_mps"), published("with_mps"), rate(rows, false, servers, clients, false),
        rate(rows, false, servers, clients, true), shared_rate(rows, servers * clients));
  }
  return text;
}

}  // namespace

std::string table(const Json& result) {
  std::string devices;
  for (const Json& device : result["devices"]) {
    devices +=
        fmt::format("; GPU {} {}", device["ordinal"].get<int>(), device["name"].get<std::string>());
  }
  const std::string driver = result["driver"].is_null() ? "" : result["driver"].get<std::string>();
  if (!driver.empty()) devices += ", driver " + driver;
  std::string text = heading(result, devices);
  text += fmt::format("images/s of all clients together; {}\n", result["timed"].get<std::string>());
  if (result["compared_with_published"].get<bool>()) {
    text += fmt::format("{}\n", published_conditions());
  }
  text += "\n" + comparison(result);
  text += fmt::format(
      "\n{:<8} {:>7} {:>7} {:>4} {:>10} {:>19} {:>8} {:>8} {:>6} {:>6} {:>5} {:>8} {:>8} {:>7} "
      "{:>6}\n",
      "engines", "servers", "clients", "MPS", "images/s", "min - max", "p50 ms", "p99 ms", "server",
      "client", "MPS", "codec us", "all us", "failed", "wrong");
  for (const Json& row : result["rows"]) text += details(row);
  text +=
      "server, client, MPS: cores that they keep busy; codec us, all us: of a request in the "
      "engine, on a GPU its batch\n";
  return text;
}

}  // namespace framewire::app::bench_serve
