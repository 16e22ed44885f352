// The CPU codec as a whole: what comes out of decode, encode and transcode, read back by libjpeg.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <codec/turbo/post_process.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <jpeg/parser.hpp>
#include <tests/unit/codec/turbo/transcoder.hpp>
#include <thread>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>

namespace framewire::codec {
namespace {

using sample::Bytes;
using sample::Decoded;
using sample::Spec;
using test::noisy;
using test::parse;
using test::smooth;
using test::Transcoder;
using test::Written;

/// Every sample is kept to about one level.
ResizeOptions finest() {
  ResizeOptions options;
  options.quality = 100;
  options.sampling = Sampling::k444;
  return options;
}

TEST(TurboCodec, FullSizeIsThePictureItself) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({61, 43, JCS_YCbCr, 1, 1, 100}, smooth);
  const Decoded out = transcoder.resize(jpeg, finest());
  const Decoded in = sample::decode(jpeg);
  ASSERT_EQ(out.planes.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_LE(sample::difference(in.planes[c].samples, out.planes[c].samples).largest, 2);
  }
}

/// The stored picture whose upright view under `orientation` is `smooth` at width × height.
Bytes stored_as(int orientation, int width, int height) {
  const bool swapped = transform::swaps_axes(orientation);
  Spec spec{swapped ? height : width, swapped ? width : height, JCS_YCbCr, 1, 1, 100};
  return sample::make(spec, [&](int c, double x, double y) {
    double u = swapped ? y : x, v = swapped ? x : y;  // undo, in continuous coordinates
    if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) u = width - u;
    if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) {
      v = height - v;
    }
    return smooth(c, u, v);
  });
}

TEST(TurboCodec, EveryOrientationShowsTheSamePicture) {
  const Transcoder transcoder;
  for (const Sampling sampling :
       {Sampling::k444, Sampling::k422, Sampling::k420, Sampling::k440, Sampling::kGray}) {
    for (const bool shrink : {false, true}) {
      ResizeOptions options = finest();
      options.sampling = sampling;
      if (shrink) {
        options.resize = ResizeMode::kForce;
        options.width_px = 41;
        options.height_px = 27;
      }
      const Decoded upright = transcoder.resize(stored_as(1, 123, 83), options);
      for (int orientation = 2; orientation <= 8; ++orientation) {
        SCOPED_TRACE("sampling " + std::to_string(static_cast<int>(sampling)) + " orientation " +
                     std::to_string(orientation) + (shrink ? " shrunk" : ""));
        const Decoded turned =
            transcoder.resize(stored_as(orientation, 123, 83), options, orientation);
        ASSERT_EQ(turned.width_px, shrink ? 41 : 123);
        ASSERT_EQ(turned.planes.size(), upright.planes.size());
        for (std::size_t c = 0; c < upright.planes.size(); ++c) {
          const auto d = sample::difference(turned.planes[c].samples, upright.planes[c].samples);
          EXPECT_LE(d.largest, 3) << c;
          EXPECT_LE(d.mean, 0.7) << c;  // half a chroma sample off would be more
        }
      }
    }
  }
}

TEST(TurboCodec, FinishTurnsPlanesExactly) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Planes planes;
    planes.planes.push_back({37, 70, Bytes(37 * 70)});
    for (std::size_t i = 0; i < 37 * 70; ++i) {
      planes.planes[0].samples[i] = static_cast<std::uint8_t>(i * 7 + i / 37);
    }
    plan::Plan plan;
    plan.orientation = orientation;
    const bool swapped = transform::swaps_axes(orientation);
    plan.encode.width_px = swapped ? 70 : 37;
    plan.encode.height_px = swapped ? 37 : 70;
    plan.encode.model = plan::OutputModel::kGray;
    plan.encode.component_count = 1;
    plan.placement = {0, 0, plan.encode.width_px, plan.encode.height_px};
    EXPECT_EQ(turbo::needs_post_process(plan), orientation != 1);
    const Planes out = turbo::post_process(planes, plan).value();
    ASSERT_EQ(out.planes[0].width_px, plan.encode.width_px);
    ASSERT_EQ(out.planes[0].height_px, plan.encode.height_px);
    for (std::int32_t y = 0; y < plan.encode.height_px; ++y) {
      for (std::int32_t x = 0; x < plan.encode.width_px; ++x) {
        const auto from = transform::stored_position(orientation, {x, y}, 37, 70);
        ASSERT_EQ(out.planes[0].samples[static_cast<std::size_t>(y * plan.encode.width_px + x)],
                  planes.planes[0].samples[static_cast<std::size_t>(from.y * 37 + from.x)])
            << orientation << ": " << x << ',' << y;
      }
    }
  }
}

TEST(TurboCodec, PadsWithTheBackground) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({61, 43, JCS_YCbCr, 2, 2, 95}, smooth);
  for (const Sampling sampling : {Sampling::k444, Sampling::k420, Sampling::kGray}) {
    ResizeOptions options = finest();
    options.sampling = sampling;
    options.width_px = 150;
    options.height_px = 151;
    options.has_background = true;
    options.background = {255, 0, 0};
    const Decoded out = transcoder.resize(jpeg, options);
    ASSERT_EQ(out.width_px, 150);
    ASSERT_EQ(out.height_px, 151);
    const int red[3] = {76, 85, 255};
    for (std::size_t c = 0; c < out.planes.size(); ++c) {
      const auto& plane = out.planes[c];
      for (const auto& [x, y] : {std::pair{0, 0},
                                 {plane.width_px - 1, 0},
                                 {0, plane.height_px - 1},
                                 {plane.width_px - 1, plane.height_px - 1},
                                 {plane.width_px / 2, 2}}) {
        EXPECT_NEAR(plane.at(x, y), red[c], 2) << c << " at " << x << ',' << y;
      }
    }
    options.has_background = false;
    const Decoded bare = transcoder.resize(jpeg, options);
    EXPECT_EQ(bare.width_px, 61);
    for (int y = 8; y < 35; ++y) {  // away from the border, whose blocks ring
      for (int x = 8; x < 53; ++x) {
        const int left = sampling == Sampling::k420 ? 44 : 45;  // (150 − 61 + 1) / 2, whole chroma
        ASSERT_NEAR(out.planes[0].at(x + left, y + 54), bare.planes[0].at(x, y), 3);
      }
    }
  }
}

TEST(TurboCodec, SharpensLumaAlone) {
  const Transcoder transcoder;
  const auto edges = [](int c, double x, double y) {
    return static_cast<int>(x / 9 + y / 14) % 2 == 0 ? 90.0 + 10 * c : 150.0;
  };
  const Bytes jpeg = sample::make({80, 70, JCS_YCbCr, 1, 1, 100}, edges);
  ResizeOptions options = finest();
  const Decoded plain = transcoder.resize(jpeg, options);
  options.sharpen_sigma = 1.5;
  const Decoded sharp = transcoder.resize(jpeg, options);
  Bytes expected = plain.planes[0].samples;
  EXPECT_TRUE(transform::sharpen_plane(expected, 80, 70, 1.5));
  EXPECT_LE(sample::difference(sharp.planes[0].samples, expected).largest, 5);
  EXPECT_GT(sample::difference(sharp.planes[0].samples, plain.planes[0].samples).largest, 10);
  for (std::size_t c = 1; c < 3; ++c) EXPECT_EQ(sharp.planes[c].samples, plain.planes[c].samples);
}

TEST(TurboCodec, SharpeningKeepsTheDeadline) {
  Planes planes;
  planes.planes.push_back({8000, 5000, Bytes(8000 * 5000)});
  plan::Plan plan;
  plan.sharpen_sigma = 10;
  plan.encode.width_px = 8000;
  plan.encode.height_px = 5000;
  plan.encode.model = plan::OutputModel::kGray;
  plan.encode.component_count = 1;
  plan.placement = {0, 0, 8000, 5000};
  const auto out = turbo::post_process(std::move(planes), plan, base::Deadline(20));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), StatusCode::kDeadline);
}

TEST(TurboCodec, MaxBytesTakesTheBestQualityThatFits) {
  const Transcoder transcoder;
  const auto jpeg = sample::make({160, 120, JCS_YCbCr, 2, 2, 95}, noisy);
  const auto file = parse(jpeg);
  ResizeOptions options;
  options.quality = 90;
  const auto size_at = [&](int quality) {
    ResizeOptions at = options;
    at.quality = quality;
    return transcoder.run_or_die(file, transcoder.plan(file, at)).bytes.size();
  };
  for (const std::uint64_t limit : {3000u, 4000u, 6000u, 1000000u}) {
    options.max_bytes = limit;
    const Written out = transcoder.run_or_die(file, transcoder.plan(file, options));
    EXPECT_LE(out.bytes.size(), limit);
    EXPECT_TRUE(out.outcome.warnings.empty());
    options.max_bytes = 0;
    EXPECT_EQ(out.bytes.size(), size_at(out.outcome.quality));
    EXPECT_TRUE(out.outcome.quality == 90 || size_at(out.outcome.quality + 1) > limit)
        << "quality " << out.outcome.quality << " for " << limit;
  }
}

TEST(TurboCodec, MaxBytesThatNothingMeetsIsSaid) {
  const Transcoder transcoder;
  const auto jpeg = sample::make({160, 120, JCS_YCbCr, 2, 2, 95}, noisy);
  const auto file = parse(jpeg);
  for (const int quality : {1, 2, 80}) {
    ResizeOptions options;
    options.quality = quality;
    options.max_bytes = 100;
    const Written out = transcoder.run_or_die(file, transcoder.plan(file, options));
    EXPECT_EQ(out.outcome.quality, 1);
    ASSERT_EQ(out.outcome.warnings.size(), 1u);
    EXPECT_EQ(out.outcome.warnings[0].kind, WarningKind::kMaxBytesMissed);
    EXPECT_EQ(sample::decode(out.bytes).width_px, 160);
  }
}

/// Compares the two ways to encode. Above four megapixels rows stream; a max_bytes that is never
/// reached makes the codec keep whole planes.
void expect_streams_the_same(const Bytes& jpeg, ResizeOptions options) {
  const Transcoder transcoder;
  const auto file = parse(jpeg);
  options.resize = ResizeMode::kForce;
  options.enlarge = true;
  options.width_px = 2011;
  options.height_px = 2003;
  const Written streamed = transcoder.run_or_die(file, transcoder.plan(file, options));
  options.max_bytes = 1ull << 40;
  const Written whole = transcoder.run_or_die(file, transcoder.plan(file, options));
  EXPECT_EQ(streamed.outcome.encode_us, 0) << "did not stream";
  EXPECT_GT(whole.outcome.encode_us, 0) << "did not keep planes";
  EXPECT_EQ(streamed.outcome.quality, options.quality);
  EXPECT_TRUE(streamed.bytes == whole.bytes);
}

TEST(TurboCodec, StreamingGivesTheSameBytes) {
  const Bytes color = sample::make({400, 300, JCS_YCbCr, 2, 2, 90}, smooth);
  ResizeOptions options;
  expect_streams_the_same(color, options);
  options.sampling = Sampling::k422;
  options.progressive = true;
  options.restart_interval_mcus = 5;
  expect_streams_the_same(color, options);
  options.sampling = Sampling::kGray;
  expect_streams_the_same(color, options);
}

TEST(TurboCodec, StreamingConvertsColourTheSame) {
  ResizeOptions options;
  expect_streams_the_same(sample::make({300, 400, JCS_RGB, 1, 1, 90}, smooth), options);
  options.color = ColorMode::kKeep;
  expect_streams_the_same(sample::make({300, 400, JCS_CMYK, 1, 1, 90}, smooth), options);
}

TEST(TurboCodec, WritesWhatTheEncodePlanSays) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({200, 100, JCS_YCbCr, 2, 1, 90}, noisy);
  const auto file = parse(jpeg);
  ResizeOptions options;
  options.width_px = 77;
  const auto plain = transcoder.run_or_die(file, transcoder.plan(file, options)).bytes;
  options.optimize_huffman = true;
  const auto optimized = transcoder.run_or_die(file, transcoder.plan(file, options)).bytes;
  EXPECT_LT(optimized.size(), plain.size());
  EXPECT_EQ(sample::decode(optimized).planes[0].samples, sample::decode(plain).planes[0].samples);
  options.progressive = true;
  const auto progressive =
      sample::decode(transcoder.run_or_die(file, transcoder.plan(file, options)).bytes);
  EXPECT_TRUE(progressive.progressive);
  EXPECT_EQ(progressive.planes[0].samples, sample::decode(plain).planes[0].samples);
  options.progressive = false;
  options.restart_interval_mcus = 3;
  const auto restarts =
      sample::decode(transcoder.run_or_die(file, transcoder.plan(file, options)).bytes);
  EXPECT_EQ(restarts.restart_mcus, 3u);
  EXPECT_EQ(restarts.warnings, 0);
  EXPECT_EQ(restarts.planes[2].samples, sample::decode(plain).planes[2].samples);
}

TEST(TurboCodec, AppendsFromDqtToEoi) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({20, 10}, smooth);
  const auto file = parse(jpeg);
  const Written out = transcoder.run_or_die(file, transcoder.plan(file, {}));
  EXPECT_EQ(out.bytes[2], 0xFF);
  EXPECT_EQ(out.bytes[3], 0xDB);
  EXPECT_EQ(out.bytes[out.bytes.size() - 1], 0xD9);
  EXPECT_TRUE(parse(out.bytes).segments.empty());
}

TEST(TurboCodec, GrayStaysGrayAndKeepsItsLevels) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({90, 70, JCS_GRAYSCALE, 2, 2, 100}, smooth);
  const Decoded out = transcoder.resize(jpeg, finest());
  ASSERT_EQ(out.planes.size(), 1u);
  EXPECT_LE(
      sample::difference(out.planes[0].samples, sample::decode(jpeg).planes[0].samples).largest, 2);
}

TEST(TurboCodec, KeptCmykKeepsItsInks) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({90, 70, JCS_CMYK, 1, 1, 100}, smooth);
  ResizeOptions options = finest();
  options.color = ColorMode::kKeep;
  const Decoded out = transcoder.resize(jpeg, options);
  ASSERT_EQ(out.planes.size(), 4u);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_LE(
        sample::difference(out.planes[c].samples, sample::decode(jpeg).planes[c].samples).largest,
        3);
  }
}

TEST(TurboCodec, ConvertedChromaSitsInTheMiddle) {
  // One RGB picture and the same in YCbCr: the colour path must site chroma as the planar one does.
  const Transcoder transcoder;
  const auto ramp = [](int c, double x, double y) {
    return c == 0 ? 60 + x : c == 1 ? 200 - y : 128.0 + x / 2 - y / 2;
  };
  const auto as_ycc = [&](int c, double x, double y) {
    const double r = ramp(0, x, y), g = ramp(1, x, y), b = ramp(2, x, y);
    const double luma = 0.299 * r + 0.587 * g + 0.114 * b;
    return c == 0 ? luma : c == 1 ? (b - luma) / 1.772 + 128 : (r - luma) / 1.402 + 128;
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    ResizeOptions options = finest();
    options.sampling = Sampling::k420;
    const Decoded a =
        transcoder.resize(sample::make({101, 75, JCS_RGB, 1, 1, 100}, ramp), options, orientation);
    const Decoded b = transcoder.resize(sample::make({101, 75, JCS_YCbCr, 1, 1, 100}, as_ycc),
                                        options, orientation);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto d = sample::difference(a.planes[c].samples, b.planes[c].samples);
      EXPECT_LE(d.largest, 3) << orientation << ' ' << c;
      EXPECT_LE(d.mean, 0.8) << orientation << ' ' << c;
    }
  }
}

TEST(TurboCodec, ThePassedDeadlineEndsIt) {
  const Transcoder transcoder;
  const Bytes jpeg = sample::make({200, 100}, smooth);
  const auto file = parse(jpeg);
  Context context;
  context.deadline = base::Deadline(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const auto out = transcoder.run(file, transcoder.plan(file, {}), context);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), StatusCode::kDeadline);
  CodecOutcome outcome;
  const auto decoded = transcoder.codec().decode(file, plan::kFullScale, context, outcome);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), StatusCode::kDeadline);
  auto planes = transcoder.codec().decode(file, plan::kFullScale, {}, outcome);
  ASSERT_TRUE(planes);
  plan::EncodePlan encode;
  encode.width_px = 200;
  encode.height_px = 100;
  Bytes bytes;
  const auto encoded = transcoder.codec().encode(*planes, encode, context, bytes, outcome);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code(), StatusCode::kDeadline);
}

TEST(TurboCodec, PlanesThatDoNotFitAreADefectOfTheCaller) {
  const Transcoder transcoder;
  Planes planes;
  planes.planes.assign(3, {10, 10, Bytes(100)});
  plan::EncodePlan encode;
  encode.width_px = 11;
  encode.height_px = 10;
  Bytes bytes;
  CodecOutcome outcome;
  const auto encoded = transcoder.codec().encode(planes, encode, {}, bytes, outcome);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code(), StatusCode::kInternal);
}

TEST(TurboCodec, WideCutsOfAScaleStayInPlace) {
  // A ramp keeps its place through every decode scale: no shift by half a sample.
  const Transcoder transcoder;
  const auto ramp = [](int c, double x, double y) {
    return c == 0 ? 20 + x / 4 : c == 1 ? 20 + y / 3 : 220 - x / 5;
  };
  const Bytes jpeg = sample::make({800, 600, JCS_YCbCr, 2, 2, 100}, ramp);
  for (const int width : {700, 399, 200, 100, 50, 37}) {
    ResizeOptions options = finest();
    options.width_px = width;
    const Decoded out = transcoder.resize(jpeg, options);
    const double x_step = 800.0 / out.width_px, y_step = 600.0 / out.height_px;
    for (std::size_t c = 0; c < 3; ++c) {
      for (int y = 3; y < out.height_px - 3; ++y) {
        for (int x = 3; x < out.width_px - 3; ++x) {
          ASSERT_NEAR(out.planes[c].at(x, y),
                      ramp(static_cast<int>(c), (x + 0.5) * x_step, (y + 0.5) * y_step), 1.8)
              << width << " plane " << c << " at " << x << ',' << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace framewire::codec
