// framewire resize IN OUT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include <command_line/command.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <files/file_mode.hpp>
#include <framewire/engine.hpp>
#include <report/console.hpp>
#include <report/json.hpp>

namespace framewire::app {
namespace {

struct Paths {
  const std::string& in;
  const std::string& out;
  [[nodiscard]] bool from_stdin() const { return in == "-"; }
  [[nodiscard]] bool to_stdout() const { return out == "-"; }
};

/// The input's bytes, and who may read them where a file says so.
struct InputBytes {
  std::vector<std::uint8_t> bytes;
  std::optional<batch::Permissions> permissions;
};

Result<InputBytes> read_descriptor(int fd, const std::string& name, std::uint64_t limit) {
  InputBytes input;
  struct stat facts {};
  // A pipe's or device's permissions say nothing about what comes out of it.
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
    input.permissions = batch::permissions_of(fd, facts);
  }
  auto bytes = batch::read_stream(fd, name, limit);
  if (!bytes) return fail(bytes.error());
  input.bytes = std::move(*bytes);
  return input;
}

// A pipe named as a file, such as <(…) in a shell, is read as a stream.
Result<InputBytes> read_input(const Paths& paths, std::uint64_t limit) {
  if (paths.from_stdin()) return read_descriptor(STDIN_FILENO, "standard input", limit);
  struct stat facts {};
  if (::stat(paths.in.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    const base::FileDescriptor pipe(::open(paths.in.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!pipe.valid()) return fail(batch::io_error(paths.in, "open", errno));
    return read_descriptor(pipe.get(), paths.in, limit);
  }
  const auto file = batch::InputFile::open(paths.in);
  if (!file) return fail(file.error());
  auto bytes = file->read(limit);
  if (!bytes) return fail(bytes.error());
  return InputBytes{std::move(*bytes), file->permissions()};
}

// Renaming over /dev/null, a pipe or what /dev/stdout leads to would replace it: what is no regular
// file is written to.
Result<void> write_through(const batch::FilePlace& place, const std::string& path,
                           std::span<const std::uint8_t> bytes) {
  const int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC | (place.magic ? 0 : O_NOFOLLOW);
  const base::FileDescriptor sink(::openat(place.folder.get(), place.name.c_str(), flags));
  if (!sink.valid()) return fail(batch::io_error(path, "open", errno));
  const int error = batch::write_all(sink.get(), bytes);
  if (error != 0) return fail(batch::io_error(path, "write", error));
  return {};
}

Result<void> write_output(const Paths& paths, std::span<const std::uint8_t> bytes,
                          const batch::WriteOptions& options) {
  if (paths.to_stdout()) return write_to_stdout(bytes);
  const auto place = batch::find_file_place(paths.out);
  if (!place) return fail(place.error());
  struct stat facts {};
  const bool exists =
      ::fstatat(place->folder.get(), place->name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
  if (place->magic || (exists && !S_ISREG(facts.st_mode))) {
    return write_through(*place, paths.out, bytes);
  }
  auto written = batch::write_at(*place, paths.out, bytes, options,
                                 [](const struct stat*) -> Result<void> { return {}; });
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

// What makes no sense is found before any work is done. @return misuse()
Result<void> check_paths(const Paths& paths, const Arguments& arguments) {
  if (paths.to_stdout() && ::isatty(STDOUT_FILENO) != 0) {
    return misuse("standard output is a terminal, which cannot show a JPEG; give a file or a pipe");
  }
  if (paths.to_stdout() && arguments.has("json")) {
    return misuse("--json and the image cannot both go to standard output; give OUT as a file");
  }
  if (!paths.to_stdout() && is_folder(paths.out)) {
    return misuse(
        fmt::format("OUT is a folder: {}; give a file, or use framewire batch", paths.out));
  }
  if (!paths.from_stdin() && !arguments.has("in-place") && same_file(paths.in, paths.out)) {
    return misuse("OUT is IN itself; give another file, or --in-place to replace it");
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
    say(printable(fmt::format("warning: {}: {}: {}{}", paths.in, to_string(warning.kind),
                              warning.message, where)));
  }
}

}  // namespace

int run_resize(const Arguments& arguments) {
  const Paths paths{arguments.paths[0], arguments.paths[1]};
  if (auto good = check_paths(paths, arguments); !good) return report_usage("resize", good.error());
  auto gpu = make_engine_options(arguments);
  if (!gpu) return report_usage("resize", gpu.error());
  batch::WriteOptions output;
  const auto mode = parse_mode(arguments);
  if (!mode) return report_usage("resize", mode.error());
  output.mode = *mode;
  if (arguments.get("durability") == "file") output.durability = batch::Durability::kFile;
  const auto input = read_input(paths, arguments.options.limits.max_input_bytes);
  if (!input) {
    report(input.error());
    return kSomeFailed;
  }
  if (input->permissions) output.source = &*input->permissions;
  gpu->streams = 1;
  gpu->few_images = true;
  gpu->callers_thread = true;
  auto engine = Engine::make(*gpu);
  if (!engine) return refuse(engine.error());
  const auto resized = engine->resize(input->bytes, arguments.options);
  if (!resized) {
    const std::string name = paths.from_stdin() ? "standard input" : paths.in;
    return report(batch::about_file(resized.error(), name));
  }
  if (auto written = write_output(paths, resized->bytes, output); !written) {
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
