// framewire resize IN OUT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include "backend.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"

namespace framewire::app {
namespace {

struct Paths {
  const std::string& in;
  const std::string& out;
  [[nodiscard]] bool from_stdin() const { return in == "-"; }
  [[nodiscard]] bool to_stdout() const { return out == "-"; }
};

// A pipe named as a file, such as <(…) in a shell, is read as a stream.
Result<std::vector<std::uint8_t>> read_input(const Paths& paths, std::uint64_t limit) {
  if (paths.from_stdin()) return batch::read_stream(STDIN_FILENO, "standard input", limit);
  struct stat facts {};
  if (::stat(paths.in.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    const batch::FileDescriptor pipe(::open(paths.in.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pipe.valid()) return fail(batch::io_error(paths.in, "open", errno));
    return batch::read_stream(pipe.get(), paths.in, limit);
  }
  const auto file = batch::InputFile::open(paths.in);
  if (!file) return fail(file.error());
  return file->read(limit);
}

// Renaming over /dev/null or a pipe would replace it; what is no regular file is written to.
Result<void> write_output(const Paths& paths, std::span<const std::uint8_t> bytes,
                          batch::Durability durability) {
  if (paths.to_stdout()) return write_to_stdout(bytes);
  struct stat facts {};
  if (::stat(paths.out.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    const batch::FileDescriptor sink(::open(paths.out.c_str(), O_WRONLY | O_CLOEXEC));
    if (!sink.valid()) return fail(batch::io_error(paths.out, "open", errno));
    const int error = batch::write_all(sink.get(), bytes);
    if (error != 0) return fail(batch::io_error(paths.out, "write", error));
    return {};
  }
  auto written = batch::write_atomically(paths.out, bytes, durability);
  if (!written) return fail(written.error().status);
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat facts_a {};
  struct stat facts_b {};
  if (::stat(a.c_str(), &facts_a) != 0 || ::stat(b.c_str(), &facts_b) != 0) return false;
  return S_ISREG(facts_a.st_mode) && facts_a.st_dev == facts_b.st_dev &&
         facts_a.st_ino == facts_b.st_ino;
}

bool is_folder(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// What makes no sense, before any work is done. @return the message, or ""
std::string usage_error(const Paths& paths, const Arguments& arguments) {
  if (paths.to_stdout() && ::isatty(STDOUT_FILENO) != 0) {
    return "standard output is a terminal, which cannot show a JPEG; give a file or a pipe";
  }
  if (paths.to_stdout() && arguments.has("json")) {
    return "--json and the image cannot both go to standard output; give OUT as a file";
  }
  if (!paths.to_stdout() && is_folder(paths.out)) {
    return fmt::format("OUT is a folder: {}; give a file, or use framewire batch", paths.out);
  }
  if (!paths.from_stdin() && !arguments.has("in-place") && same_file(paths.in, paths.out)) {
    return "OUT is IN itself; give another file, or --in-place to replace it";
  }
  return {};
}

std::string one_line(const Paths& paths, const Report& report) {
  return fmt::format("{} {}x{} {} -> {} {}x{} {}{}, {}, {:.1f} ms", printable(paths.in),
                     report.input.width_px, report.input.height_px, human_bytes(report.input.bytes),
                     printable(paths.out), report.output.width_px, report.output.height_px,
                     human_bytes(report.output.bytes),
                     report.original_kept ? " (original kept)" : "", to_string(report.codec),
                     report.times.total_us / 1000);
}

void say_warnings(const Paths& paths, const std::vector<Warning>& warnings) {
  for (const Warning& warning : warnings) {
    const std::string where = warning.offset ? fmt::format(" (at byte {})", *warning.offset) : "";
    say(printable(
        fmt::format("warning: {}: {}: {}{}", paths.in, warning.kind, warning.message, where)));
  }
}

}  // namespace

int run_resize(const Arguments& arguments) {
  const Paths paths{arguments.paths[0], arguments.paths[1]};
  if (const std::string wrong = usage_error(paths, arguments); !wrong.empty()) {
    return report_usage("resize", wrong);
  }
  EngineOptions gpu;
  gpu.streams = 1;
  if (const std::string wrong = take_gpu_options(arguments, gpu); !wrong.empty()) {
    return report_usage("resize", wrong);
  }
  const auto bytes = read_input(paths, arguments.options.limits.max_input_bytes);
  if (!bytes) {
    report(bytes.error());
    return kSomeFailed;
  }
  const auto backend = Backend::make(gpu, false);
  if (!backend) return refuse(backend.error());
  const auto resized = backend->resize(*bytes, arguments.options);
  if (!resized) {
    const std::string name = paths.from_stdin() ? "standard input" : paths.in;
    return report(batch::about_file(resized.error(), name));
  }
  const auto durability =
      arguments.get("durability") == "file" ? batch::Durability::kFile : batch::Durability::kNone;
  if (auto written = write_output(paths, resized->bytes, durability); !written) {
    report(written.error());
    return kEnvironment;
  }
  if (!arguments.has("quiet")) {
    say_warnings(paths, resized->report.warnings);
    say(one_line(paths, resized->report));
  }
  if (!arguments.has("json")) return kAllDone;
  Json json = {{"input", paths.in}, {"output", paths.out}};
  json.update(to_json(resized->report));
  json["options"] = to_string(arguments.options);
  return print(pretty(json)) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
