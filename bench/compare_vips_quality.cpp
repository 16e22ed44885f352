// How close Framewire's CPU codec and libvips come to an exact resize, picture by picture.
//
// The yardstick: full decode, Lanczos-3 in double precision, the same quantisers (codec reference,
// planned without scaled decoding). All three outputs are decoded by libjpeg-turbo. With --p3 all
// three convert to sRGB, and a picture without a profile counts as Display P3.

#include <fmt/format.h>
#include <bench/files.hpp>
#include <bench/picture_metrics.hpp>
#include <bench/vips_peer.hpp>
#include <codec/reference/reference_codec.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <color/converter.hpp>
#include <cstdio>
#include <cstdlib>
#include <jpeg/head.hpp>
#include <jpeg/parser.hpp>
#include <optional>
#include <string_view>
#include <transform/orient.hpp>

// Needs size_t and FILE declared.
#include <jpeglib.h>
#include <lcms2.h>

namespace {

using framewire::bench::InputFile;
namespace codec = framewire::codec;
namespace color = framewire::color;
namespace jpeg = framewire::jpeg;
namespace plan = framewire::plan;

struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> luma;
  std::vector<std::uint8_t> rgb;
};

void decode_as(std::span<const std::uint8_t> stream, J_COLOR_SPACE space, Picture& picture,
               std::vector<std::uint8_t>& samples) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, stream.data(), stream.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = space;
  jpeg_start_decompress(&cinfo);
  picture.width = cinfo.output_width;
  picture.height = cinfo.output_height;
  const std::size_t pitch = picture.width * static_cast<std::size_t>(cinfo.output_components);
  samples.resize(pitch * picture.height);
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW row = samples.data() + cinfo.output_scanline * pitch;
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
}

Picture decode(std::span<const std::uint8_t> stream) {
  Picture picture;
  decode_as(stream, JCS_GRAYSCALE, picture, picture.luma);
  decode_as(stream, JCS_RGB, picture, picture.rgb);
  return picture;
}

/// One output of one of our codecs; empty where it fails, after saying why.
std::vector<std::uint8_t> resize_with(const codec::Codec& codec, const InputFile& input,
                                      const framewire::ResizeOptions& options, bool scaled_decode) {
  const auto say = [&](const framewire::Status& status) {
    fmt::print(stderr, "{}: {}\n", input.name, status.to_string());
    return std::vector<std::uint8_t>();
  };
  const auto file = jpeg::parse(input.bytes, options.limits);
  if (!file) return say(file.error());
  plan::Capabilities capabilities = codec.capabilities();
  capabilities.scaled_decode = scaled_decode;
  const bool convertible = color::classify_profile(*file) == color::ProfileUse::kConvertible;
  const auto plan = plan::make_plan(*file, options, capabilities, convertible);
  if (!plan) return say(plan.error());
  std::optional<color::Converter> converter;
  codec::Context context;
  if (plan->color_path == plan::ColorPath::kConvert) {
    auto made = color::Converter::make(*file, plan->encode.model, plan->convert_icc);
    if (!made) return say(made.error());
    context.converter = &converter.emplace(std::move(*made));
  }
  jpeg::HeadFacts facts;
  facts.width_px = plan->encode.width_px;
  facts.height_px = plan->encode.height_px;
  facts.orientation_applied = true;
  facts.transposed = framewire::transform::swaps_axes(plan->orientation);
  auto stream = jpeg::make_head(*file, framewire::Metadata::kStrip, facts);
  if (!stream) return say(stream.error());
  codec::CodecOutcome outcome;
  if (auto ok = codec.transcode(*file, *plan, context, *stream, outcome); !ok) {
    return say(ok.error());
  }
  return *stream;
}

/// Display P3 as an ICC profile: the primaries of SMPTE RP 431-2, D65, sRGB's curve.
std::vector<std::uint8_t> display_p3() {
  const cmsCIExyY white{0.3127, 0.3290, 1};
  const cmsCIExyYTRIPLE primaries{{0.680, 0.320, 1}, {0.265, 0.690, 1}, {0.150, 0.060, 1}};
  constexpr cmsFloat64Number kSrgbCurve[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  cmsToneCurve* curve = cmsBuildParametricToneCurve(nullptr, 4, kSrgbCurve);
  cmsToneCurve* curves[3] = {curve, curve, curve};
  cmsHPROFILE profile = cmsCreateRGBProfile(&white, &primaries, curves);
  cmsFreeToneCurve(curve);
  cmsUInt32Number size = 0;
  cmsSaveProfileToMem(profile, nullptr, &size);
  std::vector<std::uint8_t> bytes(size);
  cmsSaveProfileToMem(profile, bytes.data(), &size);
  cmsCloseProfile(profile);
  return bytes;
}

/// Puts a profile, in one APP2 segment (ICC.1 B.4), behind SOI.
void embed(const std::vector<std::uint8_t>& profile, std::vector<std::uint8_t>& stream) {
  constexpr std::string_view kName{"ICC_PROFILE\0\1\1", 14};
  const std::size_t length = 2 + kName.size() + profile.size();
  std::vector<std::uint8_t> segment{0xFF, 0xE2, static_cast<std::uint8_t>(length >> 8),
                                    static_cast<std::uint8_t>(length)};
  segment.insert(segment.end(), kName.begin(), kName.end());
  segment.insert(segment.end(), profile.begin(), profile.end());
  stream.insert(stream.begin() + 2, segment.begin(), segment.end());
}

struct Score {
  double psnr_y, psnr_rgb, ssim_y;
};

Score score(const Picture& picture, const Picture& exact) {
  return {framewire::bench::psnr(picture.luma, exact.luma),
          framewire::bench::psnr(picture.rgb, exact.rgb),
          framewire::bench::ssim(picture.luma, exact.luma, exact.width, exact.height)};
}

}  // namespace

int main(int argc, char** argv) {
  const bool convert = argc > 1 && std::string_view(argv[1]) == "--p3";
  if (convert) --argc, ++argv;
  const std::string size = argc < 4 ? "" : argv[1];
  const std::size_t x = size.find('x');
  if (x == std::string::npos) {
    fmt::print(stderr,
               "usage: compare_vips_quality [--p3] WIDTHx[HEIGHT] QUALITY FILE-OR-FOLDER…\n");
    return 2;
  }
  if (!framewire::bench::start_vips(argv[0])) return 3;
  framewire::ResizeOptions options;
  options.width_px = std::atoi(size.c_str());
  if (x + 1 < size.size()) options.height_px = std::atoi(&size[x + 1]);
  if (options.height_px != 0) options.resize = framewire::ResizeMode::kForce;
  options.quality = std::atoi(argv[2]);
  options.color = convert ? framewire::ColorMode::kSrgb : framewire::ColorMode::kKeep;
  options.limits.deadline_ms = 0;

  const auto turbo = codec::make_turbo_codec();
  const auto reference = codec::make_reference_codec();
  fmt::print(
      "| picture | PSNR Y, dB: Framewire | libvips | PSNR RGB: Framewire | libvips | SSIM Y: "
      "Framewire | libvips |\n|---|---|---|---|---|---|---|\n");
  int behind = 0;
  for (InputFile& input : framewire::bench::read_inputs({argv + 3, argv + argc})) {
    const auto file = jpeg::parse(input.bytes, options.limits);
    if (convert && file && file->icc.empty()) embed(display_p3(), input.bytes);
    const auto exact_stream = resize_with(*reference, input, options, false);
    const auto our_stream = resize_with(*turbo, input, options, true);
    if (exact_stream.empty() || our_stream.empty()) return 1;
    const Picture exact = decode(exact_stream);
    const auto peer_stream =
        framewire::bench::vips_resize(input.bytes, static_cast<int>(exact.width),
                                      static_cast<int>(exact.height), options.quality, convert);
    if (peer_stream.empty()) return 1;
    const Score ours = score(decode(our_stream), exact);
    const Score peer = score(decode(peer_stream), exact);
    if (ours.psnr_y < peer.psnr_y || ours.psnr_rgb < peer.psnr_rgb || ours.ssim_y < peer.ssim_y) {
      ++behind;
    }
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.5f} | {:.5f} |\n", input.name,
               ours.psnr_y, peer.psnr_y, ours.psnr_rgb, peer.psnr_rgb, ours.ssim_y, peer.ssim_y);
  }
  fmt::print("\nPictures on which any figure is behind libvips: {}\n", behind);
  return behind == 0 ? 0 : 1;
}
