// framewire inspect FILE…
#include <unistd.h>
#include <batch/input_file.hpp>
#include <command_line/command.hpp>
#include <commands/inspect/text.hpp>
#include <inspect/model.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

// Whole files are read, also those that a resize would refuse as too large; this bounds what a
// device or an endless pipe can do.
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;

Result<std::vector<std::uint8_t>> read(const std::string& path) {
  if (path == "-") return batch::read_stream(STDIN_FILENO, "standard input", kMaxBytes);
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(file.error());
  return file->read(kMaxBytes);
}

StatusCode code_of(std::string_view word) {
  for (const StatusCode code :
       {StatusCode::kUnsupported, StatusCode::kTooLarge, StatusCode::kBusy}) {
    if (to_string(code) == word) return code;
  }
  return StatusCode::kInvalidInput;
}

// The model has the error in words.
Status error_of(const Json& model) {
  const Json& error = model["error"];
  Status status =
      Status(code_of(error["class"].get<std::string>()), error["message"].get<std::string>())
          .about(model["file"].get<std::string>());
  const auto offset = error.find("offset");
  if (offset == error.end() || !offset->is_number()) return status;
  return std::move(status).at(offset->get<std::uint64_t>());
}

}  // namespace

int run_inspect(const Arguments& arguments) {
  int code = kAllDone;
  Json models = Json::array();
  for (const std::string& path : arguments.paths) {
    const auto bytes = read(path);
    if (!bytes) {
      report(bytes.error());
      code = kSomeFailed;
      models.push_back({{"file", path}, {"error", to_json(bytes.error())}});
      continue;
    }
    Json model = to_json(inspect::inspect_bytes(path, *bytes, arguments.options));
    if (model.contains("error")) {
      report(error_of(model));
      code = kSomeFailed;
    }
    if (arguments.has("json")) {
      models.push_back(std::move(model));
    } else if (!print(inspect_text(model))) {
      return kEnvironment;
    }
  }
  // One file gives an object, several an array.
  if (arguments.has("json")) {
    const bool single = arguments.paths.size() == 1;
    if (!print(pretty(single ? models[0] : models))) return kEnvironment;
  }
  return code;
}

}  // namespace framewire::app
