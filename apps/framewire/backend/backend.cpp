#include <fmt/format.h>
#include <backend/backend.hpp>
#include <command_line/numbers.hpp>
#include <engine/codec_router.hpp>
#include <latch>
#include <limits>
#include <memory>
#include <utility>

namespace framewire::app {
namespace {

std::string take_devices(const std::string& text, std::vector<int>& devices) {
  if (text.empty() || text == "all") return {};
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    int ordinal = 0;
    if (!parse_number(rest.substr(0, comma), ordinal) || ordinal < 0) {
      return fmt::format("--device: found '{}'; accepted: ordinals joined by commas, or all", text);
    }
    devices.push_back(ordinal);
    if (comma == std::string_view::npos) return {};
    rest = rest.substr(comma + 1);
  }
}

std::string take_memory(const std::string& text, std::uint64_t& bytes) {
  if (text.empty()) return {};
  constexpr std::string_view kSuffixes = "KMG";
  std::string_view digits = text;
  unsigned shift = 0;
  if (const auto suffix = kSuffixes.find(text.back()); suffix != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(suffix) + 1);
    digits.remove_suffix(1);
  }
  const bool fits = parse_number(digits, bytes) && bytes > 0 &&
                    bytes <= std::numeric_limits<std::uint64_t>::max() >> shift;
  if (!fits) {
    return fmt::format("--gpu-memory: found '{}'; accepted: bytes, or a number with K, M or G",
                       text);
  }
  bytes <<= shift;
  return {};
}

}  // namespace

std::string take_gpu_options(const Arguments& arguments, EngineOptions& options) {
  options.codec = arguments.options.codec;
  const bool on_cpu = engine::runs_on_host(options.codec);
  for (const char* name : {"device", "gpu-memory"}) {
    if (on_cpu && arguments.has(name)) {
      return fmt::format("--{}: --codec {} uses no GPU; accepted with auto, cuda and nvjpeg", name,
                         to_string(options.codec));
    }
  }
  if (auto wrong = take_devices(arguments.get("device"), options.devices); !wrong.empty())
    return wrong;
  return take_memory(arguments.get("gpu-memory"), options.gpu_memory_bytes);
}

Result<Backend> Backend::make(const EngineOptions& options, bool many) {
  Backend backend;
  const bool on_cpu = engine::runs_on_host(options.codec);
  const bool may_choose = options.codec == CodecKind::kAuto && options.devices.empty();
  if (on_cpu || (may_choose && !many)) return backend;
  auto engine = Engine::make(options);
  if (!engine) return fail(engine.error());
  if (!engine->devices().empty()) backend.engine_ = std::move(*engine);
  return backend;
}

Result<Resized> Backend::resize(std::span<const std::uint8_t> jpeg,
                                const ResizeOptions& options) const {
  return engine_ ? engine_->resize(jpeg, options) : resizer_.resize(jpeg, options);
}

batch::PendingResults Backend::begin_all(std::span<const std::span<const std::uint8_t>> jpegs,
                                         const ResizeOptions& options) const {
  // One thread to wake, however many images.
  struct Answers {
    explicit Answers(std::size_t count)
        : missing(static_cast<std::ptrdiff_t>(count)),
          results(count, fail(StatusCode::kInternal, "no answer")) {}
    std::latch missing;
    std::vector<Result<Resized>> results;
  };
  const auto answers = std::make_shared<Answers>(jpegs.size());
  std::vector<EngineRequest> requests;
  requests.reserve(jpegs.size());
  for (std::size_t i = 0; i < jpegs.size(); ++i)
    requests.push_back({jpegs[i], options, [answers, i](Result<Resized> made) {
                          answers->results[i] = std::move(made);
                          answers->missing.count_down();
                        }});
  engine_->submit(requests);
  return [answers] {
    answers->missing.wait();
    return std::move(answers->results);
  };
}

void Backend::submit(KeptBytes jpeg, const ResizeOptions& options, Engine::Callback done) const {
  if (!engine_) return done(resizer_.resize(jpeg.bytes, options));
  engine_->submit(jpeg.bytes, options,
                  [keeper = std::move(jpeg.keeper), done = std::move(done)](Result<Resized> made) {
                    done(std::move(made));
                  });
}

std::unique_ptr<InputRooms> Backend::input_rooms() const {
  return std::make_unique<InputRooms>([this](std::size_t bytes) -> Result<KeptBytes> {
    auto memory = input_memory(bytes);
    if (!memory) return fail(memory.error());
    const auto kept = std::make_shared<const InputMemory>(std::move(*memory));
    return KeptBytes{kept->bytes(), kept};
  });
}

std::vector<EngineDevice> Backend::devices() const {
  return engine_ ? engine_->devices() : std::vector<EngineDevice>{};
}

}  // namespace framewire::app
