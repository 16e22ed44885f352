// The program's commands as data: the parser, completion and the manual all read this.
#pragma once

#include <framewire/options.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

/// What the program tells its caller; also in the manual and docs/errors.md.
enum ExitCode : int {
  kAllDone = 0,
  kSomeFailed = 1,    ///< an input could not be processed; of doctor: no GPUDirect RDMA
  kUsage = 2,         ///< the command line makes no sense
  kEnvironment = 3,   ///< a folder cannot be made, no space, memory ran out
  kInterrupted = 130  ///< ended by SIGINT or SIGTERM after finishing the images in work
};

/// A parsed command line.
struct Arguments {
  std::vector<std::string> paths;
  ResizeOptions options;                                ///< of commands that take them
  std::map<std::string, std::string, std::less<>> own;  ///< the command's own options, as given

  /// Names of all options that the command line gives, with their texts; no defaults.
  std::map<std::string, std::string, std::less<>> given;

  [[nodiscard]] bool has(std::string_view name) const { return own.find(name) != own.end(); }
  /// The option's text; its default, or "", where it was not given.
  [[nodiscard]] std::string get(std::string_view name) const;
};

struct Command {
  std::string_view name;
  std::string_view arguments;  ///< as in "resize IN OUT"
  std::string_view help;       ///< one line
  std::string_view details;    ///< paragraphs for the manual and for --help
  bool takes_resize_options = false;
  std::span<const OptionSpec> own;
  std::string_view words;  ///< choices for the first argument, "a|b"; empty where it is a file
  std::size_t min_arguments = 0;
  std::size_t max_arguments = 0;  ///< 0: no bound
  int (*run)(const Arguments&) = nullptr;
  /// Whether its own options go before those of a file and of the environment: "" and a flag's
  /// false say something then.
  bool overrides_settings = false;
};

/// The first argument of bench.
#ifdef FRAMEWIRE_SERVICE
inline constexpr std::string_view kBenchWords = "resize|jpeg2jpeg|serve";
#else
inline constexpr std::string_view kBenchWords = "resize|jpeg2jpeg";
#endif

/// Every command, in the order in which to show them. Static storage.
[[nodiscard]] std::span<const Command> commands() noexcept;

/// The command's own options and, where it takes them, those of resizing.
[[nodiscard]] std::vector<OptionSpec> options_of(const Command& command);

// Each in a folder of commands/; completion, man and version in commands/help/.
[[nodiscard]] int run_resize(const Arguments& arguments);
[[nodiscard]] int run_batch(const Arguments& arguments);
[[nodiscard]] int run_inspect(const Arguments& arguments);
[[nodiscard]] int run_report(const Arguments& arguments);
[[nodiscard]] int run_index(const Arguments& arguments);
[[nodiscard]] int run_bench(const Arguments& arguments);
[[nodiscard]] int run_doctor(const Arguments& arguments);
[[nodiscard]] int run_perf(const Arguments& arguments);
#ifdef FRAMEWIRE_SERVICE
[[nodiscard]] int run_serve(const Arguments& arguments);
/// What `serve --workers` starts: the program with the one word "serve-worker". Not for users.
[[nodiscard]] int run_serve_worker();
#endif
[[nodiscard]] int run_split(const Arguments& arguments);
[[nodiscard]] int run_tensor(const Arguments& arguments);
[[nodiscard]] int run_stream(const Arguments& arguments);
[[nodiscard]] int run_sink(const Arguments& arguments);
[[nodiscard]] int run_sign(const Arguments& arguments);  // FRAMEWIRE_SERVICE
[[nodiscard]] int run_completion(const Arguments& arguments);
[[nodiscard]] int run_man(const Arguments& arguments);
[[nodiscard]] int run_version(const Arguments& arguments);

}  // namespace framewire::app
