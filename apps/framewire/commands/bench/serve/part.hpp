// The processes of framewire bench serve, told from each other by a line of JSON that the bench
// writes to their standard input.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <report/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app::bench_serve {

/// The word in `framewire bench serve-part -` that starts one; no word of users'.
inline constexpr std::string_view kPartWord = "serve-part";

/// Where images come from and go to in the timed region.
enum class FileUse : std::uint8_t {
  kEach,  ///< every input is read from its file, every output written to one
  kOnce   ///< inputs are read before, where the server reads them; outputs stay in memory
};

/// What one client does.
struct ClientJob {
  std::string socket;
  std::string options;  ///< as to_string(ResizeOptions)
  std::vector<std::string> inputs;
  std::string outputs;   ///< folder for what is stored
  std::string expected;  ///< folder with the output that each input must have, by number
  FileUse files = FileUse::kEach;
  std::size_t first = 0;   ///< the input to begin with
  std::size_t window = 0;  ///< requests unanswered at once
  unsigned threads = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  double warm_s = 0;
  double seconds = 0;
  unsigned repeat = 0;
};

/// What the engine that others are compared with does.
struct EngineJob {
  std::string options;
  std::vector<std::string> inputs;
  std::string expected;
  std::vector<int> devices;
};

[[nodiscard]] Json to_json(const ClientJob& job);
[[nodiscard]] Json to_json(const EngineJob& job);
[[nodiscard]] Result<ClientJob> client_job(const Json& job);
[[nodiscard]] Result<EngineJob> engine_job(const Json& job);
[[nodiscard]] Result<ResizeOptions> read_options(const std::string& text);

/// The file of an input's output: FOLDER/PREFIXnumber.jpg.
[[nodiscard]] std::string output_file(const std::string& folder, std::string_view prefix,
                                      std::size_t number);

/// Connects, says "ready", waits for a line with the moment to begin, measures, and prints a line
/// with what came of it. @return what ended it early
[[nodiscard]] Result<void> run_client(const ClientJob& job);
/// Makes every output once with an engine in this process, and prints a line. Files in `expected`
/// are numbered as the inputs that could be done.
[[nodiscard]] Result<void> run_engine(const EngineJob& job);

/// Reads the job and does it. @return the exit code
[[nodiscard]] int run_part();

}  // namespace framewire::app::bench_serve
