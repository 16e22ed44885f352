#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <commands/bench/serve/measurement.hpp>
#include <commands/bench/serve/processes.hpp>
#include <filesystem>
#include <numeric>

namespace framewire::app::bench_serve {
namespace {

using base::Clock;
using service::process::Environment;

constexpr const char* kProgram = "/proc/self/exe";
constexpr std::chrono::seconds kStartTimeout{120};
constexpr std::chrono::seconds kAnswerTimeout{60};
constexpr std::chrono::seconds kServerGrace{20};
/// Time from telling all clients when to begin to that moment: more than the telling takes.
constexpr std::chrono::milliseconds kLead{200};
/// Bounds of LocalServerOptions: what one client, and all clients of one server, may hold.
constexpr std::uint64_t kMaxClientInput = 512ull << 20;
constexpr std::uint64_t kMaxClientOutput = 256ull << 20;
constexpr std::uint64_t kMaxAllClients = 2ull << 30;

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

std::vector<std::string> server_words(const BenchStage& stage, const Combination& combination,
                                      unsigned number) {
  const ServePlan& plan = *stage.plan;
  const auto at = [&](const char* kind) {
    return fmt::format("{}/{}{}", stage.folder, kind, number);
  };
  std::vector<std::string> words = {
      kProgram,        "serve", "--listen",        "unix:" + at("h"),
      "--local",       at("s"), "--local-mode",    "600",
      "--log",         "none",  "--codec",         std::string(to_string(plan.options.codec)),
      "--drain-delay", "0",     "--drain-timeout", "5000"};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  if (!plan.engine.devices.empty()) add("--device", join(plan.engine.devices));
  if (plan.engine.threads != 0) add("--engine-threads", std::to_string(plan.engine.threads));
  std::uint64_t memory = plan.engine.gpu_memory_bytes;
  // Each would take three quarters of what is free when it starts.
  if (memory == 0 && combination.servers > 1) {
    memory = stage.gpu_memory_bytes / 4 * 3 / combination.servers;
  }
  const bool on_gpu =
      plan.options.codec != CodecKind::kTurbo && plan.options.codec != CodecKind::kReference;
  if (memory != 0 && on_gpu) add("--gpu-memory", std::to_string(memory));
  return words;
}

ClientJob job_of(const BenchStage& stage, const Combination& combination, unsigned number) {
  const ServePlan& plan = *stage.plan;
  ClientJob job;
  job.socket = fmt::format("{}/s{}", stage.folder, number / combination.clients);
  job.options = to_string(plan.options);
  job.inputs = stage.inputs;
  job.outputs = fmt::format("{}/out{}", stage.folder, number);
  job.expected = stage.folder + "/expected";
  job.files = plan.files;
  // Clients do not send the same files at the same time.
  job.first = number * stage.inputs.size() / combination.all_clients();
  job.window = plan.window;
  job.threads = plan.client_threads;
  // Twice: half of it is for slices. A page more each: they begin at lines of memory.
  const std::uint64_t share = kMaxAllClients / 4 * 3 / combination.clients;
  job.input_bytes = std::clamp<std::uint64_t>(2 * plan.window * (stage.max_input_bytes + 4096),
                                              4 * stage.max_input_bytes + 65'536,
                                              std::min(kMaxClientInput, share / 4 * 3));
  job.output_bytes = std::clamp<std::uint64_t>(plan.window * (stage.max_output_bytes + 4096),
                                               2 * stage.max_output_bytes + 65'536,
                                               std::min(kMaxClientOutput, share / 4));
  job.warm_s = std::clamp(plan.seconds / 2, 0.1, 1.0);
  job.seconds = plan.seconds;
  job.repeat = plan.repeat;
  return job;
}

Result<Environment> environment_of(BenchStage& stage, const Combination& combination) {
  using service::mps::Daemon;
  if (!combination.mps) return Daemon::no_daemon(stage.folder + "/no-mps");
  if (stage.daemon && !stage.daemon->alive()) stage.daemon.reset();
  if (!stage.daemon) {
    service::mps::DaemonOptions options;
    options.program = stage.plan->mps_program;
    auto daemon = Daemon::start(options);
    if (!daemon) return fail(daemon.error());
    stage.daemon.emplace(std::move(*daemon));
  }
  return stage.daemon->environment({stage.plan->mps_threads, 0});
}

/// Processor time of everybody, so that the cores that each kind keeps busy can be told.
struct Busy {
  double servers = 0;
  double clients = 0;
  double mps = 0;
};

Busy busy(const Processes& processes, unsigned servers, const std::vector<pid_t>& mps) {
  Busy all;
  for (std::size_t i = 0; i < processes.count(); ++i) {
    (i < servers ? all.servers : all.clients) += processor_seconds(processes.pid(i));
  }
  for (const pid_t pid : mps) all.mps += processor_seconds(pid);
  return all;
}

Result<void> start_all(const BenchStage& stage, const Combination& combination,
                       const Environment& environment, Processes& processes) {
  for (unsigned i = 0; i < combination.servers; ++i) {
    auto started = processes.start(fmt::format("server {}", i + 1),
                                   server_words(stage, combination, i), environment, {});
    if (!started) return started;
  }
  for (unsigned i = 0; i < combination.all_clients(); ++i) {
    const ClientJob job = job_of(stage, combination, i);
    std::error_code ignored;
    std::filesystem::create_directory(job.outputs, ignored);
    auto started = processes.start(fmt::format("client {}", i + 1),
                                   {kProgram, "bench", std::string(kPartWord), "-"}, {},
                                   one_line(to_json(job)));
    if (!started) return started;
  }
  return {};
}

/// How many processes use MPS, as its daemon says; null where it words that in another way.
/// @return unsupported where it says that nobody does
Result<Json> count_mps_clients(const BenchStage& stage, const Combination& combination) {
  if (!combination.mps) return Json(0);
  if (const auto servers = stage.daemon->servers(); servers && servers->empty()) {
    return fail(StatusCode::kUnsupported,
                "no server of the bench has become a client of MPS: it has no GPU, or the daemon "
                "refused it; see nvidia-smi for the compute mode");
  }
  const auto clients = stage.daemon->clients();
  return clients ? Json(clients->size()) : Json(nullptr);
}

double sum(const std::vector<Json>& answers, const char* name) {
  return std::accumulate(answers.begin(), answers.end(), 0.0, [&](double all, const Json& answer) {
    return all + answer.at(name).get<double>();
  });
}

double most(const std::vector<Json>& answers, const char* name) {
  double found = 0;
  for (const Json& answer : answers) found = std::max(found, answer.at(name).get<double>());
  return found;
}

std::vector<double> rates_of(const std::vector<Json>& answers, const ServePlan& plan) {
  std::vector<double> rates(plan.repeat, 0);
  for (const Json& answer : answers) {
    for (unsigned i = 0; i < plan.repeat; ++i) {
      rates[i] += answer.at("images").at(i).get<double>() / plan.seconds;
    }
  }
  return rates;
}

Json times_of(const std::vector<Json>& answers) {
  const double count = std::max(1.0, sum(answers, "answers"));
  return {{"parse", sum(answers, "parse_us") / count},
          {"decode_resample", sum(answers, "decode_resample_us") / count},
          {"encode", sum(answers, "encode_us") / count},
          {"total", sum(answers, "total_us") / count}};
}

Json row_of(const Combination& combination, const std::vector<Json>& answers,
            const ServePlan& plan) {
  const auto rates = rates_of(answers, plan);
  const auto [least, greatest] = std::minmax_element(rates.begin(), rates.end());
  Json row = {
      {"engines", combination.shared ? "shared" : "separate"},
      {"servers", combination.servers},
      {"clients_a_server", combination.clients},
      {"mps", combination.mps},
      {"images_per_second", median(rates)},
      {"images_per_second_min", *least},
      {"images_per_second_max", *greatest},
      {"latency_ms", {{"p50_max", most(answers, "p50_ms")}, {"p99_max", most(answers, "p99_ms")}}},
      {"times_us", times_of(answers)},
      {"failures", static_cast<std::uint64_t>(sum(answers, "failures"))},
      {"verified", static_cast<std::uint64_t>(sum(answers, "checked"))},
      {"wrong", static_cast<std::uint64_t>(sum(answers, "wrong"))}};
  for (const Json& answer : answers) {
    const std::string first = answer.at("first_error").get<std::string>();
    if (!first.empty()) row["first_error"] = first;
  }
  return row;
}

Result<std::vector<Json>> parse_answers(const std::vector<std::string>& lines) {
  std::vector<Json> answers;
  for (const std::string& line : lines) {
    answers.push_back(Json::parse(line, nullptr, false));
    if (!answers.back().is_object()) {
      return fail(StatusCode::kInternal, fmt::format("a process answered '{}'", line));
    }
  }
  return answers;
}

}  // namespace

Result<Json> measure(BenchStage& stage, const Combination& combination) {
  const ServePlan& plan = *stage.plan;
  const auto environment = environment_of(stage, combination);
  if (!environment) return fail(environment.error());
  Processes processes;
  const unsigned servers = combination.servers;
  if (auto ok = start_all(stage, combination, *environment, processes); !ok) {
    return fail(ok.error());
  }
  const auto ready = processes.read_lines(servers, Clock::now() + kStartTimeout);
  if (!ready) return fail(ready.error());
  const auto users = count_mps_clients(stage, combination);
  if (!users) return fail(users.error());
  const auto mps = combination.mps ? stage.daemon->servers().value_or(std::vector<pid_t>{})
                                   : std::vector<pid_t>{};
  const auto begin = Clock::now() + kLead;
  processes.tell(servers,
                 fmt::format("{}\n", std::chrono::nanoseconds(begin.time_since_epoch()).count()));
  const auto after = [&](double seconds) {
    return begin +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const double warm = job_of(stage, combination, 0).warm_s;
  const double whole = plan.seconds * plan.repeat;
  if (auto ok = processes.watch(after(warm)); !ok) return fail(ok.error());
  const auto start = Clock::now();
  const Busy before = busy(processes, servers, mps);
  // A little less than the clients' last window, after which they end.
  if (auto ok = processes.watch(after(warm + whole * 0.95)); !ok) return fail(ok.error());
  const Busy now = busy(processes, servers, mps);
  const double took = base::elapsed_us(start) / 1e6;
  const auto lines = processes.read_lines(servers, Clock::now() + kAnswerTimeout);
  if (!lines) return fail(lines.error());
  processes.end(servers, kServerGrace);
  const auto answers = parse_answers(*lines);
  if (!answers) return fail(answers.error());
  Json row = row_of(combination, *answers, plan);
  row["mps_clients"] = *users;
  row["busy_cores"] = {{"servers", (now.servers - before.servers) / took},
                       {"clients", (now.clients - before.clients) / took},
                       {"mps", (now.mps - before.mps) / took}};
  return row;
}

Result<Json> make_expected(const BenchStage& stage) {
  EngineJob job{to_string(stage.plan->options), stage.inputs, stage.folder + "/expected",
                stage.plan->engine.devices};
  Processes processes;
  auto started = processes.start(
      "the engine to compare with", {kProgram, "bench", std::string(kPartWord), "-"},
      service::mps::Daemon::no_daemon(stage.folder + "/no-mps"), one_line(to_json(job)));
  if (!started) return fail(started.error());
  const auto allowed = kStartTimeout + std::chrono::seconds(stage.inputs.size() * 30);
  const auto lines = processes.read_lines(0, Clock::now() + allowed);
  if (!lines) return fail(lines.error());
  auto answers = parse_answers(*lines);
  if (!answers) return fail(answers.error());
  return std::move(answers->front());
}

}  // namespace framewire::app::bench_serve
