#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <color/converter.hpp>
#include <engine/codec_router.hpp>
#include <engine/converter_cache.hpp>
#include <framewire/resizer.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/head.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <new>
#include <optional>
#include <plan/plan.hpp>

namespace framewire {
namespace {

using engine::Route;

/// One request on its way through the stages.
struct Request {
  const ResizeOptions& options;
  jpeg::JpegFile file;
  Route route;
  plan::Plan plan;
  color::ProfileUse profile = color::ProfileUse::kNone;
  codec::Context context;
  std::shared_ptr<const color::Converter> converter;  ///< what context points at
  std::vector<std::uint8_t> gain_map;
  std::vector<Warning> gain_map_warnings;
  Report report;
};

ImageSummary summarise(const jpeg::JpegFile& file) {
  ImageSummary s;
  s.width_px = file.frame.width_px;
  s.height_px = file.frame.height_px;
  s.bytes = file.bytes.size();
  s.components = file.frame.component_count;
  s.sampling = jpeg::sampling_name(file.frame);
  s.process = jpeg::process_name(file.frame);
  return s;
}

ImageSummary summarise(const plan::EncodePlan& plan, std::size_t bytes) {
  jpeg::FrameHeader frame;
  frame.component_count = plan.component_count;
  for (std::size_t c = 0; c < static_cast<std::size_t>(plan.component_count); ++c) {
    frame.components[c].h = plan.h[c];
    frame.components[c].v = plan.v[c];
    frame.h_max = std::max(frame.h_max, plan.h[c]);
    frame.v_max = std::max(frame.v_max, plan.v[c]);
  }
  return {plan.width_px,
          plan.height_px,
          bytes,
          plan.component_count,
          jpeg::sampling_name(frame),
          plan.progressive ? "progressive" : "baseline"};
}

/// Adds what a codec says, but for kinds that the parser has named: both saw the same fault.
void add_warnings(Report& report, const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) {
    const bool known = std::any_of(report.warnings.begin(), report.warnings.end(),
                                   [&](const Warning& other) { return other.kind == w.kind; });
    if (!known) report.warnings.push_back(w);
  }
}

Result<void> refuse_warnings(const jpeg::JpegFile& file) {
  if (file.warnings.empty()) return {};
  const Warning& w = file.warnings.front();
  Status status(
      StatusCode::kInvalidInput,
      fmt::format("{}: {} (strict accepts only files without warnings)", w.kind, w.message));
  if (w.offset) return fail(std::move(status).at(*w.offset));
  return fail(std::move(status));
}

Result<void> ignore_profile(Request& request, const std::string& why) {
  if (request.options.strict) return fail(StatusCode::kInvalidInput, "icc_ignored: " + why);
  request.profile = color::ProfileUse::kUnusable;
  request.report.warnings.push_back({"icc_ignored", why, {}});
  return {};
}

bool padded(const plan::Plan& plan) {
  return plan.placement.width != plan.encode.width_px ||
         plan.placement.height != plan.encode.height_px;
}

/// Resizes the gain map with its primary into a complete stream of its own.
Result<std::vector<std::uint8_t>> resize_gain_map(const Request& request,
                                                  std::vector<Warning>& warnings) {
  auto file = jpeg::parse(jpeg::gain_map_bytes(request.file), request.options.limits);
  if (!file) return fail(file.error());
  // A gain map describes itself as its primary does, and holds no further one.
  std::erase_if(file->warnings, [](const Warning& w) { return w.kind == "gain_map_dropped"; });
  if (request.options.strict)
    if (auto ok = refuse_warnings(*file); !ok) return fail(ok.error());
  const codec::Codec& codec = *request.route.codec;
  auto plan = plan::make_gain_map_plan(*file, request.plan, request.file.frame, request.options,
                                       codec.capabilities());
  if (!plan) return fail(plan.error());
  auto stream = jpeg::make_gain_map_head(*file);
  if (!stream) return fail(stream.error());
  codec::Outcome outcome;
  if (auto ok = codec.transcode(*file, *plan, request.context, *stream, outcome); !ok)
    return fail(ok.error());
  Report found;
  found.warnings = std::move(file->warnings);
  add_warnings(found, outcome.warnings);
  for (Warning& w : found.warnings)
    warnings.push_back({std::move(w.kind), "gain map: " + w.message, {}});
  return stream;
}

/// Keeps the gain map where it is asked for and can be; otherwise says that it was dropped.
Result<void> treat_gain_map(Request& request) {
  if (!request.file.gain_map) return {};
  const auto dropped = [&](std::string why) {
    request.report.warnings.push_back({"gain_map_dropped", std::move(why), {}});
  };
  if (request.options.gain_map == GainMap::kDrop) {
    dropped("the gain map was left out, as asked");
    return {};
  }
  if (padded(request.plan)) {
    dropped("a padded picture has no gain map for its background");
    return {};
  }
  auto resized = resize_gain_map(request, request.gain_map_warnings);
  if (!resized) {
    const StatusCode code = resized.error().code();
    if (request.options.strict || code == StatusCode::kDeadline || code == StatusCode::kBusy)
      return fail(resized.error());
    dropped(resized.error().message());
    return {};
  }
  request.gain_map = std::move(*resized);
  request.report.gain_map_kept = true;
  std::uint64_t& max_bytes = request.plan.encode.max_bytes;
  if (max_bytes != 0)
    max_bytes = std::max<std::uint64_t>(
        1, max_bytes - std::min<std::uint64_t>(max_bytes, request.gain_map.size()));
  return {};
}

jpeg::HeadFacts head_facts(const Request& request) {
  const plan::Plan& plan = request.plan;
  jpeg::HeadFacts facts;
  facts.width_px = plan.encode.width_px;
  facts.height_px = plan.encode.height_px;
  facts.orientation_applied = request.options.auto_orient;
  facts.cmyk = plan.encode.model == plan::OutputModel::kCmyk;
  const bool srgb = request.options.color == ColorMode::kSrgb;
  facts.is_srgb = srgb && (plan.convert_icc || request.profile == color::ProfileUse::kIsSrgb);
  const bool usable = request.profile != color::ProfileUse::kUnusable;
  // A gray output of a colour file has another number of channels than its profile.
  const bool same_channels = plan.encode.component_count == request.file.frame.component_count;
  if (!srgb && usable && same_channels) facts.icc = request.file.icc;
  facts.gain_map_bytes = request.gain_map.size();
  return facts;
}

Result<std::vector<std::uint8_t>> run(Request& request) {
  auto stream = jpeg::make_head(request.file, request.options.metadata, head_facts(request));
  if (!stream) return fail(stream.error());
  codec::Outcome outcome;
  auto done =
      request.route.codec->transcode(request.file, request.plan, request.context, *stream, outcome);
  if (!done) return fail(done.error());
  if (!request.gain_map.empty())
    if (auto ok = jpeg::append_gain_map(*stream, request.gain_map); !ok) return fail(ok.error());
  request.report.quality = outcome.quality;
  request.report.times.decode_resample_us = outcome.decode_resample_us;
  request.report.times.encode_us = outcome.encode_us;
  add_warnings(request.report, outcome.warnings);
  std::move(request.gain_map_warnings.begin(), request.gain_map_warnings.end(),
            std::back_inserter(request.report.warnings));
  return stream;
}

}  // namespace

struct Resizer::State {
  engine::CodecRouter router;
  engine::ConverterCache converters;

  Result<Resized> resize(std::span<const std::uint8_t> bytes, const ResizeOptions& options);
  Result<void> prepare(Request& request);
  Result<void> make_plan(Request& request);
  Result<void> find_converter(Request& request);
};

Result<void> Resizer::State::make_plan(Request& request) {
  auto plan = plan::make_plan(request.file, request.options, request.route.codec->capabilities(),
                              request.profile == color::ProfileUse::kConvertible);
  if (!plan) return fail(plan.error());
  request.plan = *plan;
  return {};
}

/// A profile can look sound and still make no transform: then the file counts as having none.
Result<void> Resizer::State::find_converter(Request& request) {
  if (request.plan.color_path != plan::ColorPath::kConvert) return {};
  auto found = converters.get(request.file, request.plan.encode.model, request.plan.convert_icc);
  if (!found) {
    if (!request.plan.convert_icc) return fail(found.error());
    if (auto ok = ignore_profile(request, found.error().message()); !ok) return ok;
    if (auto ok = make_plan(request); !ok) return ok;
    return find_converter(request);
  }
  request.converter = std::move(*found);
  request.context.converter = request.converter.get();
  return {};
}

/// Everything that is decided before pixels are touched.
Result<void> Resizer::State::prepare(Request& request) {
  const ResizeOptions& options = request.options;
  if (options.strict)
    if (auto ok = refuse_warnings(request.file); !ok) return ok;
  request.context.strict = options.strict;
  request.context.max_scans = options.limits.max_scans;
  request.profile = color::classify_profile(request.file);
  if (request.profile == color::ProfileUse::kUnusable) {
    auto ok = ignore_profile(request, "the ICC profile is damaged or for other components");
    if (!ok) return ok;
  }
  if (auto ok = make_plan(request); !ok) return ok;
  if (auto ok = find_converter(request); !ok) return ok;
  request.report.decode_scale = request.plan.scales[0];
  request.report.color_converted = request.plan.color_path == plan::ColorPath::kConvert;
  return treat_gain_map(request);
}

Result<Resized> Resizer::State::resize(std::span<const std::uint8_t> bytes,
                                       const ResizeOptions& options) {
  const auto start = base::Clock::now();
  const base::Deadline deadline(options.limits.deadline_ms);
  if (auto ok = validate(options); !ok) return fail(ok.error());
  auto route = router.choose(options.codec);
  if (!route) return fail(route.error());
  auto file = jpeg::parse(bytes, options.limits);
  if (!file) return fail(file.error());
  Request request{options, std::move(*file), *route, {}, {}, {}, {}, {}, {}, {}};
  request.context.deadline = deadline;
  request.report.input = summarise(request.file);
  request.report.codec = route->codec->kind();
  request.report.codec_reason = route->reason;
  request.report.times.parse_us = base::elapsed_us(start);
  request.report.warnings = request.file.warnings;
  if (auto ok = prepare(request); !ok) return fail(ok.error());
  auto stream = run(request);
  if (!stream) return fail(stream.error());
  request.report.output = summarise(request.plan.encode, stream->size());
  request.report.times.total_us = base::elapsed_us(start);
  return Resized{std::move(*stream), std::move(request.report)};
}

Resizer::Resizer() : state_(std::make_unique<State>()) {}
Resizer::~Resizer() = default;
Resizer::Resizer(Resizer&&) noexcept = default;
Resizer& Resizer::operator=(Resizer&&) noexcept = default;

Result<Resized> Resizer::resize(std::span<const std::uint8_t> jpeg,
                                const ResizeOptions& options) const try {
  return state_->resize(jpeg, options);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace framewire
