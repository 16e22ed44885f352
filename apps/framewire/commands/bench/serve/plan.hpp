// What framewire bench serve is asked to measure.
#pragma once

#include <command_line/command.hpp>
#include <commands/bench/common.hpp>
#include <commands/bench/serve/part.hpp>
#include <framewire/engine.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::app::bench_serve {

/// Processes that are measured together.
struct Combination {
  bool shared = false;  ///< one engine for all clients; otherwise one in each server
  unsigned servers = 1;
  unsigned clients = 1;  ///< of each server
  bool mps = false;

  [[nodiscard]] unsigned all_clients() const { return servers * clients; }
};

struct ServePlan : BenchPlan {
  ResizeOptions options;  ///< of requests, with the codec
  EngineOptions engine;   ///< of each server: devices, memory, threads
  std::vector<unsigned> servers;
  std::vector<unsigned> clients;
  std::vector<bool> mps;
  bool separate = true;
  bool shared = true;
  FileUse files = FileUse::kEach;
  std::size_t window = 0;  ///< requests of one client unanswered at once
  unsigned client_threads = 0;
  std::optional<std::int32_t> input_restart;  ///< inputs are encoded anew with this interval
  std::int32_t input_width_px = 0;            ///< and in this size; 0: as they are
  std::int32_t input_height_px = 0;
  std::string work;          ///< folder for files
  unsigned mps_threads = 0;  ///< percent of the GPU's threads for each server; 0: all
  std::string mps_program;   ///< empty: looked for

  [[nodiscard]] bool encodes_inputs() const { return input_restart || input_width_px != 0; }
  /// Every combination once: first engines apart, then those that one engine serves.
  [[nodiscard]] std::vector<Combination> combinations() const;
};

/// @return misuse()
[[nodiscard]] Result<ServePlan> make_plan(const Arguments& arguments);

}  // namespace framewire::app::bench_serve
