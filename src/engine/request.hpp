// One resize on its way through the stages, whichever codec runs it.
#pragma once

#include <base/clock.hpp>
#include <codec/codec.hpp>
#include <color/converter.hpp>
#include <cstdint>
#include <engine/converter_cache.hpp>
#include <framewire/options.hpp>
#include <framewire/output_sink.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <jpeg/parser.hpp>
#include <memory>
#include <plan/plan.hpp>
#include <span>
#include <vector>

namespace framewire::engine {

/// What is known of a request; filled by the functions below, in their order.
struct Request {
  const ResizeOptions* options = nullptr;  ///< not owned
  base::Clock::time_point start;
  jpeg::JpegFile file;
  bool bytes_change = false;                          ///< those of `file`, at any time
  jpeg::ParseDepth depth = jpeg::ParseDepth::kWhole;  ///< of `file`
  plan::Plan plan;
  color::ProfileUse profile = color::ProfileUse::kNone;
  ConverterCache::Conversion conversion;  ///< of the file's profile, where it has one
  codec::Context context;
  std::shared_ptr<const color::Converter> converter;  ///< what context points at
  std::vector<std::uint8_t> gain_map;
  std::vector<Warning> gain_map_warnings;
  Report report;
};

/// Checks the options and reads the file's markers.
/// @param start  when the request arrived: its deadline and total time count from there
/// @return as Resizer::resize()
[[nodiscard]] Result<void> parse_request(std::span<const std::uint8_t> bytes,
                                         const ResizeOptions& options,
                                         base::Clock::time_point start, jpeg::ParseDepth depth,
                                         Request& request);

/// As parse_request() to ParseDepth::kThroughFirst, for bytes that may change at any time: reads a
/// copy of the file's head and nothing else.
/// @param head  becomes the copy, which `request` points into
/// @return false where the head is not enough to go by, or something is wrong with the file: for
///         parse_request(), with a copy of all bytes
[[nodiscard]] Result<bool> parse_request_head(std::span<const std::uint8_t> bytes,
                                              const ResizeOptions& options,
                                              base::Clock::time_point start,
                                              std::vector<std::uint8_t>& head, Request& request);

/// Decides everything that is decided before pixels are touched, for a codec that can `capable`.
/// Prepares the profile's conversion where that has to be done, which may take tens of ms.
[[nodiscard]] Result<void> plan_request(Request& request, const plan::Capabilities& capable,
                                        ConverterCache& converters,
                                        color::Side side = color::Side::kHost);

enum class Planned : std::uint8_t {
  kAll,
  kAwaitsConversion,  ///< once Request::conversion is prepared, to be called again
};
/// As plan_request(), but leaves the preparing to others.
/// @param side  of which the conversion is to be ready
[[nodiscard]] Result<Planned> try_plan_request(Request& request, const plan::Capabilities& capable,
                                               ConverterCache& converters, color::Side side);

/// Adds a codec's warnings, but for kinds that the parser has given: both saw the same fault.
void add_warnings(Report& report, const std::vector<Warning>& warnings);

/// Keeps the gain map where it is asked for and can be, resizing it with `codec`; otherwise says
/// that it was dropped. Does nothing for files without one.
[[nodiscard]] Result<void> resize_gain_map(Request& request, const codec::Codec& codec);

/// SOI and the APPn segments of the output; after resize_gain_map().
[[nodiscard]] Result<std::vector<std::uint8_t>> make_head(const Request& request);

/// Appends the gain map to the finished primary image, or replaces what needed no encoding by the
/// original (hand_on.hpp), completes the report, and writes the stream to `sink`, where one is
/// wanted. Nothing is written to a sink before everything else has succeeded.
/// @param stream  given away: without a sink it becomes the output
/// @return as OutputSink::room(); too_large where image and gain map exceed 4 GiB
[[nodiscard]] Result<Resized> complete_request(Request& request, std::vector<std::uint8_t> stream,
                                               const OutputSink& sink = {});
/// The same of a stream that stays its codec's: copied once, to where it goes.
[[nodiscard]] Result<Resized> complete_copy(Request& request, std::span<const std::uint8_t> stream,
                                            const OutputSink& sink);

/// What follows plan_request(), on the calling thread. @param codec  that it was planned for
/// @param reason  for the report: why this codec
[[nodiscard]] Result<Resized> run_planned(Request& request, const codec::Codec& codec,
                                          std::string_view reason, const OutputSink& sink = {});
/// The same with plan_request() before it.
[[nodiscard]] Result<Resized> run_request(Request& request, const codec::Codec& codec,
                                          std::string_view reason, ConverterCache& converters,
                                          const OutputSink& sink = {});

}  // namespace framewire::engine
