#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/bench/serve/part.hpp>
#include <iostream>
#include <report/console.hpp>
#include <utility>

namespace framewire::app::bench_serve {
namespace {

template <typename Job, typename Read>
Result<Job> read_job(const Read& read) {
  Job job;
  try {
    read(job);
  } catch (const nlohmann::json::exception& error) {
    return fail(StatusCode::kInvalidInput, fmt::format("no job of a bench: {}", error.what()));
  }
  return job;
}

template <typename Value>
void take(const Json& job, const char* name, Value& value) {
  value = job.at(name).get<Value>();
}

Result<void> run_job(const Json& job) {
  if (job.contains("socket")) {
    const auto client = client_job(job);
    return client ? run_client(*client) : Result<void>(fail(client.error()));
  }
  const auto engine = engine_job(job);
  return engine ? run_engine(*engine) : Result<void>(fail(engine.error()));
}

}  // namespace

Json to_json(const ClientJob& job) {
  return {{"socket", job.socket},
          {"options", job.options},
          {"inputs", job.inputs},
          {"outputs", job.outputs},
          {"expected", job.expected},
          {"each", job.files == FileUse::kEach},
          {"first", job.first},
          {"window", job.window},
          {"threads", job.threads},
          {"input_bytes", job.input_bytes},
          {"output_bytes", job.output_bytes},
          {"warm_s", job.warm_s},
          {"seconds", job.seconds},
          {"repeat", job.repeat}};
}

Json to_json(const EngineJob& job) {
  return {{"options", job.options},
          {"inputs", job.inputs},
          {"expected", job.expected},
          {"devices", job.devices}};
}

Result<ClientJob> client_job(const Json& json) {
  return read_job<ClientJob>([&](ClientJob& job) {
    take(json, "socket", job.socket);
    take(json, "options", job.options);
    take(json, "inputs", job.inputs);
    take(json, "outputs", job.outputs);
    take(json, "expected", job.expected);
    job.files = json.at("each").get<bool>() ? FileUse::kEach : FileUse::kOnce;
    take(json, "first", job.first);
    take(json, "window", job.window);
    take(json, "threads", job.threads);
    take(json, "input_bytes", job.input_bytes);
    take(json, "output_bytes", job.output_bytes);
    take(json, "warm_s", job.warm_s);
    take(json, "seconds", job.seconds);
    take(json, "repeat", job.repeat);
  });
}

Result<EngineJob> engine_job(const Json& json) {
  return read_job<EngineJob>([&](EngineJob& job) {
    take(json, "options", job.options);
    take(json, "inputs", job.inputs);
    take(json, "expected", job.expected);
    take(json, "devices", job.devices);
  });
}

Result<ResizeOptions> read_options(const std::string& text) {
  ResizeOptions options;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const auto equals = one.find('=');
    const auto value = equals == std::string_view::npos ? "" : one.substr(equals + 1);
    if (auto set = set_option(options, one.substr(0, equals), value); !set) {
      return fail(set.error());
    }
  }
  return options;
}

std::string output_file(const std::string& folder, std::string_view prefix, std::size_t number) {
  return fmt::format("{}/{}{}.jpg", folder, prefix, number);
}

int run_part() {
  std::string line;
  if (!std::getline(std::cin, line)) return kUsage;
  const Json job = Json::parse(line, nullptr, false);
  if (!job.is_object()) return report_usage("bench", "found no job; run framewire bench serve");
  const auto done = run_job(job);
  return done ? kAllDone : refuse(done.error());
}

}  // namespace framewire::app::bench_serve
