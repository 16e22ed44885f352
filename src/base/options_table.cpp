#include <fmt/format.h>
#include <base/options_table.hpp>
#include <base/options_values.hpp>

namespace framewire::options {
namespace {

using Options = ResizeOptions;
using Text = std::string_view;
constexpr std::uint64_t kBytes = 1024;
constexpr std::uint64_t kPixels = 1000;
constexpr auto kOutput = Affects::kOutput;
constexpr auto kNothing = Affects::kNothing;

// Indexed by the enumerators' values.
constexpr Text kResizeWords[] = {"fit", "fill", "fill-down", "force", "auto"};
constexpr Text kGravityWords[] = {"no",   "so",   "ea",   "we", "noea",
                                  "nowe", "soea", "sowe", "ce", "fp:X:Y"};
constexpr Text kKernelWords[] = {"lanczos3", "bicubic", "bilinear", "area", "nearest"};
constexpr Text kSamplingWords[] = {"keep", "444", "422", "420", "440", "gray"};
constexpr Text kMetadataWords[] = {"strip", "copyright", "keep"};
constexpr Text kColorWords[] = {"srgb", "keep"};
constexpr Text kGainMapWords[] = {"keep", "drop"};
constexpr Text kCodecWords[] = {"auto", "reference", "turbo", "cuda", "nvjpeg"};

constexpr Text kRotationWords[] = {"0", "90", "180", "270"};
constexpr Text kFlipWords[] = {"none", "h", "v", "hv"};

constexpr Text kSizeAccepted = "WxH, Wx, xH or W, sides 1 to 1000000";
constexpr Text kCropAccepted =
    "WxH, Wx, xH or W, sides 1 to 1000000, or below 1 a part of the side";
constexpr Text kGravityAccepted =
    "no, so, ea, we, noea, nowe, soea, sowe or ce, alone or with an offset as noea:X:Y from "
    "-1000000 to 1000000; or fp:X:Y from 0 to 1";
constexpr Text kFactorAccepted = "a number from 0.0001 to 100000";
constexpr Text kFlagAccepted = "true or false";
constexpr Text kBytesAccepted = "a number of bytes below 2^64, with k, M or G for powers of 1024";
constexpr Text kBytesFromOneAccepted =
    "a number of bytes from 1, with k, M or G for powers of 1024";
constexpr Text kPixelsAccepted = "a number of pixels from 1, with k, M or G for powers of 1000";

// "fp:X:Y" is a pattern, which parse_gravity() knows.
constexpr std::span<const Text> kAnchors(kGravityWords, std::size(kGravityWords) - 1);

bool parse_place(std::optional<Gravity>& place, Text text) {
  Gravity gravity;
  if (!parse_gravity(text, kAnchors, gravity)) return false;
  place = gravity;
  return true;
}

std::string print_place(const std::optional<Gravity>& place) {
  return place ? print_gravity(*place, kAnchors) : std::string();
}

template <typename Value>
bool equal(const Value& a, const Value& b) {
  return a == b;
}
bool equal(const Gravity& a, const Gravity& b) {
  return a.anchor == b.anchor && a.focus_x == b.focus_x && a.focus_y == b.focus_y &&
         a.offset_x == b.offset_x && a.offset_y == b.offset_y;
}
bool equal(const std::optional<Gravity>& a, const std::optional<Gravity>& b) {
  return a && b ? equal(*a, *b) : a.has_value() == b.has_value();
}

template <auto... kMembers>
bool same(const Options& a, const Options& b) {
  return (equal(a.*kMembers, b.*kMembers) && ...);
}

template <auto kMember>
bool same_limit(const Options& a, const Options& b) {
  return a.limits.*kMember == b.limits.*kMember;
}

// clang-format off
constexpr OptionRow kRows[] = {
    {"size", "WxH", {}, kSizeAccepted, "Size",
     "size of the output; either side may be left out", kOutput,
     [](Options& o, Text t) { return parse_size(t, o.width_px, o.height_px); },
     [](const Options& o) { return print_size(o.width_px, o.height_px); },
     same<&Options::width_px, &Options::height_px>},
    {"resize", "MODE", kResizeWords, {}, "Size",
     "how size and aspect ratio are reconciled", kOutput,
     [](Options& o, Text t) { return parse_word(t, kResizeWords, o.resize); },
     [](const Options& o) { return print_word(o.resize, kResizeWords); },
     same<&Options::resize>},
    {"enlarge", "", {}, kFlagAccepted, "Size",
     "allow outputs larger than the input", kOutput,
     [](Options& o, Text t) { return parse_flag(t, o.enlarge); },
     [](const Options& o) { return print_flag(o.enlarge); },
     same<&Options::enlarge>},
    {"min-size", "WxH", {}, kSizeAccepted, "Size",
     "let a smaller picture grow to these sides, and cut it to --size", kOutput,
     [](Options& o, Text t) { return parse_size(t, o.min_width_px, o.min_height_px); },
     [](const Options& o) { return print_size(o.min_width_px, o.min_height_px); },
     same<&Options::min_width_px, &Options::min_height_px>},
    {"max-result-side", "PX", {}, "a whole number from 0 to 1000000", "Size",
     "make outputs with a longer side smaller; 0 is no bound", kOutput,
     [](Options& o, Text t) { return parse_integer(t, 0, kMaxAskedSide, o.max_result_side_px); },
     [](const Options& o) { return fmt::format("{}", o.max_result_side_px); },
     same<&Options::max_result_side_px>},
    {"crop", "WxH", {}, kCropAccepted, "Size",
     "part of the input to use, in its pixels or below 1 as a part of its side", kOutput,
     [](Options& o, Text t) { return parse_crop(t, o.crop_width, o.crop_height); },
     [](const Options& o) { return print_crop(o.crop_width, o.crop_height); },
     same<&Options::crop_width, &Options::crop_height>},
    {"crop-gravity", "ANCHOR", kGravityWords, kGravityAccepted, "Size",
     "where --crop lies; without it --gravity says so", kOutput,
     [](Options& o, Text t) { return parse_place(o.crop_gravity, t); },
     [](const Options& o) { return print_place(o.crop_gravity); },
     same<&Options::crop_gravity>},
    {"gravity", "ANCHOR", kGravityWords, kGravityAccepted, "Size",
     "part that survives a crop: a compass point, the centre, or fp:X:Y from 0 to 1", kOutput,
     [](Options& o, Text t) { return parse_gravity(t, kAnchors, o.gravity); },
     [](const Options& o) { return print_gravity(o.gravity, kAnchors); },
     same<&Options::gravity>},
    {"zoom", "X[xY]", {}, "X or XxY, numbers from 0.0001 to 100000", "Size",
     "multiplies the sides of --size, or of the picture without it", kOutput,
     [](Options& o, Text t) { return parse_zoom(t, o.zoom_x, o.zoom_y); },
     [](const Options& o) { return print_zoom(o.zoom_x, o.zoom_y); },
     same<&Options::zoom_x, &Options::zoom_y>},
    {"dpr", "FACTOR", {}, kFactorAccepted, "Size",
     "multiplies --size, offsets and --padding, as far as the input has the pixels", kOutput,
     [](Options& o, Text t) { return parse_real(t, kMinFactor, kMaxFactor, o.dpr); },
     [](const Options& o) { return print_real(o.dpr); },
     same<&Options::dpr>},
    {"rotate", "DEGREES", kRotationWords, {}, "Size",
     "turn the upright picture clockwise", kOutput,
     [](Options& o, Text t) { return parse_word(t, kRotationWords, o.rotate); },
     [](const Options& o) { return print_word(o.rotate, kRotationWords); },
     same<&Options::rotate>},
    {"flip", "AXES", kFlipWords, {}, "Size",
     "mirror the turned picture: left and right (h), top and bottom (v)", kOutput,
     [](Options& o, Text t) { return parse_word(t, kFlipWords, o.flip); },
     [](const Options& o) { return print_word(o.flip, kFlipWords); },
     same<&Options::flip>},
    {"extend", "ANCHOR", kGravityWords, kGravityAccepted, "Size",
     "add background up to --size, with the picture at this place", kOutput,
     [](Options& o, Text t) { return parse_place(o.extend, t); },
     [](const Options& o) { return print_place(o.extend); },
     same<&Options::extend>},
    {"extend-aspect-ratio", "ANCHOR", kGravityWords, kGravityAccepted, "Size",
     "add background up to the shape of --size, with the picture at this place", kOutput,
     [](Options& o, Text t) { return parse_place(o.extend_aspect_ratio, t); },
     [](const Options& o) { return print_place(o.extend_aspect_ratio); },
     same<&Options::extend_aspect_ratio>},
    {"padding", "T[,R[,B[,L]]]", {}, "one to four whole numbers from 0 to 1000000, by commas", "Size",
     "add background at top, right, bottom and left", kOutput,
     [](Options& o, Text t) { return parse_padding(t, o.padding); },
     [](const Options& o) { return print_padding(o.padding); },
     same<&Options::padding>},
    {"background", "RRGGBB", {}, "six hexadecimal digits, RRGGBB", "Size",
     "colour of what is added; alone: pad to exactly --size with it, placed by --gravity", kOutput,
     [](Options& o, Text t) { return o.has_background = parse_rgb(t, o.background); },
     [](const Options& o) { return o.has_background ? print_rgb(o.background) : ""; },
     same<&Options::has_background, &Options::background>},
    {"kernel", "NAME", kKernelWords, {}, "Picture",
     "resampling filter", kOutput,
     [](Options& o, Text t) { return parse_word(t, kKernelWords, o.kernel); },
     [](const Options& o) { return print_word(o.kernel, kKernelWords); },
     same<&Options::kernel>},
    {"sharpen", "SIGMA", {}, "a number from 0 to 10", "Picture",
     "unsharp mask of this radius in output pixels; 0 is off", kOutput,
     [](Options& o, Text t) { return parse_real(t, 0, 10, o.sharpen_sigma); },
     [](const Options& o) { return print_real(o.sharpen_sigma); },
     same<&Options::sharpen_sigma>},
    {"color", "MODE", kColorWords, {}, "Picture",
     "convert embedded profiles to sRGB, or keep the samples and the profile", kOutput,
     [](Options& o, Text t) { return parse_word(t, kColorWords, o.color); },
     [](const Options& o) { return print_word(o.color, kColorWords); },
     same<&Options::color>},
    {"no-auto-orient", "", {}, kFlagAccepted, "Picture",
     "ignore the EXIF orientation", kOutput,
     [](Options& o, Text t) {
       bool off = false;
       if (!parse_flag(t, off)) return false;
       o.auto_orient = !off;
       return true;
     },
     [](const Options& o) { return print_flag(!o.auto_orient); },
     same<&Options::auto_orient>},
    {"quality", "N", {}, "a whole number from 1 to 100", "Encoding",
     "JPEG quality, 1 to 100", kOutput,
     [](Options& o, Text t) { return parse_integer(t, 1, 100, o.quality); },
     [](const Options& o) { return fmt::format("{}", o.quality); },
     same<&Options::quality>},
    {"sampling", "MODE", kSamplingWords, {}, "Encoding",
     "chroma sampling of the output", kOutput,
     [](Options& o, Text t) { return parse_word(t, kSamplingWords, o.sampling); },
     [](const Options& o) { return print_word(o.sampling, kSamplingWords); },
     same<&Options::sampling>},
    {"progressive", "", {}, kFlagAccepted, "Encoding",
     "write a progressive JPEG", kOutput,
     [](Options& o, Text t) { return parse_flag(t, o.progressive); },
     [](const Options& o) { return print_flag(o.progressive); },
     same<&Options::progressive>},
    {"optimize-huffman", "", {}, kFlagAccepted, "Encoding",
     "compute Huffman tables for each output: smaller and slower", kOutput,
     [](Options& o, Text t) { return parse_flag(t, o.optimize_huffman); },
     [](const Options& o) { return print_flag(o.optimize_huffman); },
     same<&Options::optimize_huffman>},
    {"restart-interval", "MCUS", {}, "a whole number from 0 to 65535", "Encoding",
     "MCUs between restart markers; 0 writes none", kOutput,
     [](Options& o, Text t) { return parse_integer(t, 0, 65'535, o.restart_interval_mcus); },
     [](const Options& o) { return fmt::format("{}", o.restart_interval_mcus); },
     same<&Options::restart_interval_mcus>},
    {"max-bytes", "N", {}, kBytesAccepted, "Encoding",
     "lower the quality until the output fits; 0 is no bound", kOutput,
     [](Options& o, Text t) { return parse_count(t, kBytes, 0, o.max_bytes); },
     [](const Options& o) { return print_count(o.max_bytes, kBytes); },
     same<&Options::max_bytes>},
    {"always-encode", "", {}, kFlagAccepted, "Encoding",
     "encode anew also what needs no change and was smaller as it came", kOutput,
     [](Options& o, Text t) { return parse_flag(t, o.always_encode); },
     [](const Options& o) { return print_flag(o.always_encode); },
     same<&Options::always_encode>},
    {"metadata", "MODE", kMetadataWords, {}, "Encoding",
     "which metadata the output carries", kOutput,
     [](Options& o, Text t) { return parse_word(t, kMetadataWords, o.metadata); },
     [](const Options& o) { return print_word(o.metadata, kMetadataWords); },
     same<&Options::metadata>},
    {"gain-map", "MODE", kGainMapWords, {}, "Encoding",
     "resize an Ultra HDR gain map with the image, or drop it", kOutput,
     [](Options& o, Text t) { return parse_word(t, kGainMapWords, o.gain_map); },
     [](const Options& o) { return print_word(o.gain_map, kGainMapWords); },
     same<&Options::gain_map>},
    {"codec", "NAME", kCodecWords, {}, "Processing",
     "implementation to use; auto takes a GPU where there is one", kNothing,
     [](Options& o, Text t) { return parse_word(t, kCodecWords, o.codec); },
     [](const Options& o) { return std::string(to_string(o.codec)); },
     same<&Options::codec>},
    {"strict", "", {}, kFlagAccepted, "Processing",
     "refuse inputs that decode only with warnings", kOutput,
     [](Options& o, Text t) { return parse_flag(t, o.strict); },
     [](const Options& o) { return print_flag(o.strict); },
     same<&Options::strict>},
    {"max-input-bytes", "N", {}, kBytesFromOneAccepted, "Limits",
     "refuse larger files", kNothing,
     [](Options& o, Text t) { return parse_count(t, kBytes, 1, o.limits.max_input_bytes); },
     [](const Options& o) { return print_count(o.limits.max_input_bytes, kBytes); },
     same_limit<&Limits::max_input_bytes>},
    {"max-input-pixels", "N", {}, kPixelsAccepted, "Limits",
     "refuse inputs of more pixels", kNothing,
     [](Options& o, Text t) { return parse_count(t, kPixels, 1, o.limits.max_input_pixels); },
     [](const Options& o) { return print_count(o.limits.max_input_pixels, kPixels); },
     same_limit<&Limits::max_input_pixels>},
    {"max-scans", "N", {}, "a whole number from 1 to 1000000", "Limits",
     "refuse inputs of more scans", kNothing,
     [](Options& o, Text t) { return parse_integer(t, 1u, 1'000'000u, o.limits.max_scans); },
     [](const Options& o) { return fmt::format("{}", o.limits.max_scans); },
     same_limit<&Limits::max_scans>},
    {"max-scan-pixels", "N", {}, kPixelsAccepted, "Limits",
     "refuse inputs whose pixels times scans are more", kNothing,
     [](Options& o, Text t) { return parse_count(t, kPixels, 1, o.limits.max_scan_pixels); },
     [](const Options& o) { return print_count(o.limits.max_scan_pixels, kPixels); },
     same_limit<&Limits::max_scan_pixels>},
    {"max-output-side", "PX", {}, "a whole number from 1 to 65500", "Limits",
     "refuse outputs with a longer side", kNothing,
     [](Options& o, Text t) { return parse_integer(t, 1, 65'500, o.limits.max_output_side_px); },
     [](const Options& o) { return fmt::format("{}", o.limits.max_output_side_px); },
     same_limit<&Limits::max_output_side_px>},
    {"max-output-pixels", "N", {}, kPixelsAccepted, "Limits",
     "refuse outputs of more pixels", kNothing,
     [](Options& o, Text t) { return parse_count(t, kPixels, 1, o.limits.max_output_pixels); },
     [](const Options& o) { return print_count(o.limits.max_output_pixels, kPixels); },
     same_limit<&Limits::max_output_pixels>},
    {"deadline", "MS", {}, "a whole number of milliseconds from 0 to 86400000", "Limits",
     "give up on an image after this time; 0 is never", kNothing,
     [](Options& o, Text t) { return parse_integer(t, 0u, 86'400'000u, o.limits.deadline_ms); },
     [](const Options& o) { return fmt::format("{}", o.limits.deadline_ms); },
     same_limit<&Limits::deadline_ms>},
};
// clang-format on

}  // namespace

std::span<const OptionRow> table() noexcept { return kRows; }

std::string accepted_text(const OptionRow& row) {
  if (!row.accepted.empty()) return std::string(row.accepted);
  return fmt::format("one of {}", fmt::join(row.words, ", "));
}

}  // namespace framewire::options
