#include <algorithm>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include <commands/bench/serve/part.hpp>
#include <framewire/engine.hpp>
#include <framewire/resizer.hpp>
#include <report/console.hpp>

namespace framewire::app::bench_serve {
namespace {

/// Decodes the whole stream, and takes no warning.
Result<void> check_decodes(const Resized& made) {
  ResizeOptions options;
  options.codec = CodecKind::kTurbo;
  options.strict = true;
  options.always_encode = true;
  const auto again = Resizer().resize(made.bytes, options);
  if (!again) return fail(again.error());
  const ImageSummary& claimed = made.report.output;
  if (again->report.input.width_px == claimed.width_px &&
      again->report.input.height_px == claimed.height_px) {
    return {};
  }
  return fail(StatusCode::kInternal, "the output is not what its report claims");
}

Result<Report> make_one(Engine& engine, const ResizeOptions& options, const std::string& input,
                        const std::string& to) {
  const auto file = batch::InputFile::open(input);
  if (!file) return fail(file.error());
  const auto bytes = file->read(options.limits.max_input_bytes);
  if (!bytes) return fail(bytes.error());
  const auto made = engine.resize(*bytes, options);
  if (!made) return fail(made.error());
  if (auto good = check_decodes(*made); !good) return fail(good.error());
  auto written = batch::write_atomically(to, made->bytes, batch::Durability::kNone);
  if (!written) return fail(written.error().status);
  return made->report;
}

}  // namespace

Result<void> run_engine(const EngineJob& job) {
  const auto options = read_options(job.options);
  if (!options) return fail(options.error());
  EngineOptions wanted;
  wanted.codec = options->codec;
  wanted.devices = job.devices;
  auto engine = Engine::make(wanted);
  if (!engine) return fail(engine.error());
  Json answer = {{"failed", Json::array()},
                 {"devices", Json::array()},
                 {"codecs", Json::object()},
                 {"sizes", Json::array()},
                 {"max_output_bytes", 0}};
  std::uint64_t largest = 0;
  std::size_t good = 0;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const auto made =
        make_one(*engine, *options, job.inputs[i], output_file(job.expected, "", good));
    if (!made) {
      answer["failed"].push_back({{"number", i}, {"error", app::to_json(made.error())}});
      continue;
    }
    ++good;
    Json& count = answer["codecs"][std::string(to_string(made->codec))];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    largest = std::max(largest, made->output.bytes);
    answer["sizes"].push_back({made->input.width_px, made->input.height_px, made->output.width_px,
                               made->output.height_px});
  }
  answer["max_output_bytes"] = largest;
  for (const EngineDevice& device : engine->devices()) {
    answer["devices"].push_back({{"ordinal", device.ordinal}, {"name", device.name}});
  }
  if (!print(one_line(answer))) return fail(StatusCode::kIoError, "nobody reads the answer");
  return {};
}

}  // namespace framewire::app::bench_serve
