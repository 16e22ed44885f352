#include <fmt/format.h>
#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <color/assumed_profile.hpp>
#include <color/profile_tags.hpp>
#include <engine/hand_on.hpp>
#include <engine/request.hpp>
#include <iterator>
#include <jpeg/gain_map.hpp>
#include <jpeg/head.hpp>
#include <jpeg/head_parser.hpp>
#include <jpeg/markers.hpp>
#include <optional>
#include <transform/orient.hpp>

namespace framewire::engine {
namespace {

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

Request begin_request(jpeg::JpegFile file, jpeg::ParseDepth depth, const ResizeOptions& options,
                      base::Clock::time_point start) {
  Request request;
  request.options = &options;
  request.start = start;
  request.file = std::move(file);
  request.depth = depth;
  request.report.assumed_profile = color::assume_profile(request.file);
  request.context.deadline = base::Deadline(start, options.limits.deadline_ms);
  request.context.strict = options.strict;
  request.context.max_scans = options.limits.max_scans;
  request.report.input = summarise(request.file);
  request.report.warnings = request.file.warnings;
  return request;
}

Result<void> refuse_warnings(const jpeg::JpegFile& file) {
  if (file.warnings.empty()) return {};
  return fail(codec::strict_refusal(file.warnings.front()));
}

Result<void> ignore_profile(Request& request, const std::string& why) {
  Warning warning{WarningKind::kIccIgnored, why, {}};
  if (request.options->strict) return fail(codec::strict_refusal(warning));
  request.profile = color::ProfileUse::kUnusable;
  request.report.warnings.push_back(std::move(warning));
  return {};
}

/// Resizes the gain map with its primary into a complete stream of its own.
Result<std::vector<std::uint8_t>> make_gain_map(const Request& request, const codec::Codec& codec,
                                                std::vector<Warning>& warnings) {
  auto file = jpeg::parse(jpeg::gain_map_bytes(request.file), request.options->limits,
                          jpeg::ParseDepth::kWhole, request.context.deadline);
  if (!file) return fail(file.error());
  // A gain map describes itself as its primary does, and holds no further one.
  std::erase_if(file->warnings,
                [](const Warning& w) { return w.kind == WarningKind::kGainMapDropped; });
  if (request.options->strict) {
    if (auto ok = refuse_warnings(*file); !ok) return fail(ok.error());
  }
  auto plan = plan::make_gain_map_plan(*file, request.plan, request.file.frame, *request.options,
                                       codec.capabilities());
  if (!plan) return fail(plan.error());
  // What is no profile may be anything. One for other components may be the alternate's.
  if (!color::reduce_profile(file->icc)) file->icc.clear();
  auto stream = jpeg::make_gain_map_head(*file);
  if (!stream) return fail(stream.error());
  codec::CodecOutcome outcome;
  if (auto ok = codec.transcode(*file, *plan, request.context, *stream, outcome); !ok) {
    return fail(ok.error());
  }
  Report found;
  found.warnings = std::move(file->warnings);
  add_warnings(found, outcome.warnings);
  for (Warning& w : found.warnings) warnings.push_back({w.kind, "gain map: " + w.message, {}});
  return stream;
}

jpeg::Places places(const Request& request) {
  const plan::Plan& plan = request.plan;
  const jpeg::FrameHeader& frame = request.file.frame;
  const bool whole = plan.source == plan::SourceRect{0, 0, static_cast<double>(frame.width_px),
                                                     static_cast<double>(frame.height_px)};
  if (!whole || plan.orientation != 1 || plan::is_padded(plan)) return jpeg::Places::kMoved;
  const bool same =
      plan.resized_width_px == frame.width_px && plan.resized_height_px == frame.height_px;
  return same ? jpeg::Places::kSame : jpeg::Places::kScaled;
}

jpeg::HeadFacts head_facts(const Request& request) {
  const plan::Plan& plan = request.plan;
  jpeg::HeadFacts facts;
  facts.width_px = plan.encode.width_px;
  facts.height_px = plan.encode.height_px;
  facts.orientation_applied = request.options->auto_orient;
  facts.transposed = transform::swaps_axes(plan.orientation);
  facts.places = places(request);
  facts.cmyk = plan.encode.model == plan::OutputModel::kCmyk;
  const bool srgb = request.options->color == ColorMode::kSrgb;
  facts.is_srgb = srgb && (plan.convert_icc || request.profile == color::ProfileUse::kIsSrgb);
  const bool usable = request.profile != color::ProfileUse::kUnusable;
  // A gray output of a colour file has another number of channels than its profile.
  const bool same_channels = plan.encode.component_count == request.file.frame.component_count;
  if (!srgb && usable && same_channels) facts.icc = request.file.icc;
  facts.gain_map_bytes = request.gain_map.size();
  return facts;
}

Result<void> make_plan(Request& request, const plan::Capabilities& capable) {
  auto plan = plan::make_plan(request.file, *request.options, capable,
                              request.profile == color::ProfileUse::kConvertible);
  if (!plan) return fail(plan.error());
  request.plan = *plan;
  return {};
}

constexpr const char* kUnusableProfile = "the ICC profile is damaged or for other components";

/// Finds out what the file's profile is good for; an unusable one is ignored.
Result<void> find_profile(Request& request, ConverterCache& converters) {
  request.profile = color::ProfileUse::kNone;
  if (request.file.icc.empty()) return {};
  const int channels = color::device_channels(request.file.color_model);
  // A request that comes back once its conversion is prepared has it already.
  if (request.conversion == nullptr || request.conversion->channels() != channels) {
    auto found = converters.find(request.file);
    if (!found) return ignore_profile(request, found.error().message());
    request.conversion = std::move(*found);
  }
  request.profile = request.conversion->use();
  if (request.profile != color::ProfileUse::kUnusable) return {};
  return ignore_profile(request, kUnusableProfile);
}

/// A profile can look sound and still make no transform: then the file counts as having none.
Result<Planned> find_converter(Request& request, const plan::Capabilities& capable,
                               color::Side side) {
  request.context.converter = nullptr;
  if (request.plan.color_path != plan::ColorPath::kConvert) return Planned::kAll;
  ConverterCache::Conversion conversion;
  if (request.plan.convert_icc) {
    conversion = request.conversion;
    if (!conversion->ready(side)) return Planned::kAwaitsConversion;
    if (auto ready = conversion->prepare(side); !ready) {
      if (auto ok = ignore_profile(request, ready.error().message()); !ok) return fail(ok.error());
      if (auto ok = make_plan(request, capable); !ok) return fail(ok.error());
      return find_converter(request, capable, side);
    }
  }
  request.converter = std::make_shared<const color::Converter>(
      request.file, request.plan.encode.model, std::move(conversion));
  request.context.converter = request.converter.get();
  return Planned::kAll;
}

/// Writes a stream where it goes: to the sink, or into a vector of its own.
/// @param own  holds `stream`, to be given away; null: it is somebody else's
Result<void> deliver(std::span<const std::uint8_t> stream, std::vector<std::uint8_t>* own,
                     const jpeg::GainMapTail& tail, const OutputSink& sink, Resized& resized) {
  const std::size_t bytes = stream.size() + tail.gain_map.size();
  std::uint8_t* index = nullptr;
  if (sink.wanted()) {
    auto room = sink.room(bytes);
    if (!room) return fail(room.error());
    resized.written = *room;
    const auto end = std::copy(stream.begin(), stream.end(), room->begin());
    std::copy(tail.gain_map.begin(), tail.gain_map.end(), end);
    index = room->data();
  } else {
    if (own != nullptr) resized.bytes = std::move(*own);
    resized.bytes.reserve(bytes);
    if (own == nullptr) resized.bytes.assign(stream.begin(), stream.end());
    resized.bytes.insert(resized.bytes.end(), tail.gain_map.begin(), tail.gain_map.end());
    index = resized.bytes.data();
  }
  std::copy(tail.index.begin(), tail.index.end(), index + tail.index_offset);
  return {};
}

/// @param own  as deliver()'s
Result<Resized> complete(Request& request, std::span<const std::uint8_t> stream,
                         std::vector<std::uint8_t>* own, const OutputSink& sink) {
  jpeg::GainMapTail tail;
  if (!request.gain_map.empty()) {
    auto made = jpeg::make_gain_map_tail(stream, request.gain_map);
    if (!made) return fail(made.error());
    tail = std::move(*made);
  }
  Report& report = request.report;
  report.output = summarise(request.plan.encode, stream.size() + tail.gain_map.size());
  // Before warnings of metadata, which say nothing against the scans.
  auto original = smaller_original(request, report.output.bytes);
  if (original) {
    own = &*original;
    stream = *original;
    report.original_kept = true;
    report.quality = 0;
    report.output = summarise(request.file);
    report.output.bytes = stream.size();
  }
  if (request.options->metadata == Metadata::kKeep) {
    for (Warning& loss : jpeg::list_losses(request.file)) {
      report.warnings.push_back(std::move(loss));
    }
  }
  std::move(request.gain_map_warnings.begin(), request.gain_map_warnings.end(),
            std::back_inserter(report.warnings));
  Resized resized;
  if (auto ok = deliver(stream, own, tail, sink, resized); !ok) return fail(ok.error());
  report.times.total_us = base::elapsed_us(request.start);
  resized.report = std::move(report);
  return resized;
}

}  // namespace

void add_warnings(Report& report, const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) {
    const bool known = std::any_of(report.warnings.begin(), report.warnings.end(),
                                   [&](const Warning& other) { return other.kind == w.kind; });
    if (!known) report.warnings.push_back(w);
  }
}

Result<void> parse_request(std::span<const std::uint8_t> bytes, const ResizeOptions& options,
                           base::Clock::time_point start, jpeg::ParseDepth depth,
                           Request& request) {
  const auto began = base::Clock::now();
  if (auto ok = validate(options); !ok) return fail(ok.error());
  const base::Deadline deadline(start, options.limits.deadline_ms);
  auto file = jpeg::parse(bytes, options.limits, depth, deadline);
  if (!file) return fail(file.error());
  request = begin_request(std::move(*file), depth, options, start);
  request.report.times.parse_us = base::elapsed_us(began);
  return {};
}

Result<bool> parse_request_head(std::span<const std::uint8_t> bytes, const ResizeOptions& options,
                                base::Clock::time_point start, std::vector<std::uint8_t>& head,
                                Request& request) {
  const auto began = base::Clock::now();
  if (auto ok = validate(options); !ok) return fail(ok.error());
  const base::Deadline deadline(start, options.limits.deadline_ms);
  const auto first = bytes.first(jpeg::count_head_bytes(bytes, deadline));
  head.assign(first.begin(), first.end());
  auto file = jpeg::parse_head(head, bytes, options.limits, deadline);
  if (!file) return false;
  request = begin_request(std::move(*file), jpeg::ParseDepth::kThroughFirst, options, start);
  request.bytes_change = true;
  request.report.times.parse_us = base::elapsed_us(began);
  return true;
}

Result<Planned> try_plan_request(Request& request, const plan::Capabilities& capable,
                                 ConverterCache& converters, color::Side side) {
  if (request.options->strict) {
    if (auto ok = refuse_warnings(request.file); !ok) return fail(ok.error());
  }
  if (auto ok = find_profile(request, converters); !ok) return fail(ok.error());
  if (auto ok = make_plan(request, capable); !ok) return fail(ok.error());
  const auto found = find_converter(request, capable, side);
  if (!found || *found == Planned::kAwaitsConversion) return found;
  request.report.decode_scale = request.plan.scales[0];
  request.report.color_converted = request.plan.color_path == plan::ColorPath::kConvert;
  return Planned::kAll;
}

Result<void> plan_request(Request& request, const plan::Capabilities& capable,
                          ConverterCache& converters, color::Side side) {
  auto planned = try_plan_request(request, capable, converters, side);
  if (planned && *planned == Planned::kAwaitsConversion) {
    // Why it failed is found again, and dealt with, by the second call.
    (void)converters.prepare(request.conversion, side);
    planned = try_plan_request(request, capable, converters, side);
  }
  if (!planned) return fail(planned.error());
  return {};
}

Result<void> resize_gain_map(Request& request, const codec::Codec& codec) {
  if (!request.file.gain_map) return {};
  const auto dropped = [&](std::string why) {
    request.report.warnings.push_back({WarningKind::kGainMapDropped, std::move(why), {}});
  };
  if (request.options->gain_map == GainMap::kDrop) {
    dropped("the gain map was left out, as asked");
    return {};
  }
  if (plan::is_padded(request.plan)) {
    dropped("a padded picture has no gain map for its background");
    return {};
  }
  auto resized = make_gain_map(request, codec, request.gain_map_warnings);
  if (!resized) {
    const StatusCode code = resized.error().code();
    if (code == StatusCode::kDeadline || code == StatusCode::kBusy) return fail(resized.error());
    const std::string& why = resized.error().message();
    if (request.options->strict) {
      // A warning of the gain map's own has said so already.
      if (why.ends_with(codec::kStrictNote)) return fail(resized.error());
      const Warning warning{WarningKind::kGainMapDropped, why, {}};
      return fail(Status(code, codec::strict_refusal(warning).message()));
    }
    dropped(why);
    return {};
  }
  request.gain_map = std::move(*resized);
  request.report.gain_map_kept = true;
  std::uint64_t& max_bytes = request.plan.encode.max_bytes;
  if (max_bytes != 0) {
    max_bytes = std::max<std::uint64_t>(
        1, max_bytes - std::min<std::uint64_t>(max_bytes, request.gain_map.size()));
  }
  return {};
}

Result<std::vector<std::uint8_t>> make_head(const Request& request) {
  return jpeg::make_head(request.file, request.options->metadata, head_facts(request));
}

Result<Resized> complete_request(Request& request, std::vector<std::uint8_t> stream,
                                 const OutputSink& sink) {
  const std::span<const std::uint8_t> bytes = stream;
  return complete(request, bytes, &stream, sink);
}

Result<Resized> complete_copy(Request& request, std::span<const std::uint8_t> stream,
                              const OutputSink& sink) {
  return complete(request, stream, nullptr, sink);
}

Result<Resized> run_request(Request& request, const codec::Codec& codec, std::string_view reason,
                            ConverterCache& converters, const OutputSink& sink) {
  if (auto ok = plan_request(request, codec.capabilities(), converters); !ok) {
    return fail(ok.error());
  }
  return run_planned(request, codec, reason, sink);
}

Result<Resized> run_planned(Request& request, const codec::Codec& codec, std::string_view reason,
                            const OutputSink& sink) {
  Report& report = request.report;
  report.codec = codec.kind();
  report.codec_reason = reason;
  if (auto ok = resize_gain_map(request, codec); !ok) return fail(ok.error());
  auto stream = make_head(request);
  if (!stream) return fail(stream.error());
  codec::CodecOutcome outcome;
  auto done = codec.transcode(request.file, request.plan, request.context, *stream, outcome);
  if (!done) return fail(done.error());
  report.quality = outcome.quality;
  report.times.decode_resample_us = outcome.decode_resample_us;
  report.times.encode_us = outcome.encode_us;
  add_warnings(report, outcome.warnings);
  return complete_request(request, std::move(*stream), sink);
}

}  // namespace framewire::engine
