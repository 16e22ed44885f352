#include <gtest/gtest.h>
#include <algorithm>
#include <jpeg/parser.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/jpeg/libjpeg.hpp>

namespace framewire::jpeg {
namespace {

using tiny::at_marker;
using tiny::with_byte;
using tiny::with_insert;

/// Everything that a decoder relies on without looking again.
void expect_consistent(const JpegFile& file) {
  ASSERT_LE(file.end_offset, file.bytes.size());
  const auto inside = [&](ByteSpan span) {
    return span.empty() || (span.data() >= file.bytes.data() &&
                            span.data() + span.size() <= file.bytes.data() + file.bytes.size());
  };
  ASSERT_GE(file.frame.component_count, 1);
  ASSERT_LE(file.frame.component_count, kMaxComponents);
  ASSERT_GE(file.frame.width_px, 1);
  ASSERT_GE(file.frame.height_px, 1);
  for (const auto& scan : file.scans) {
    ASSERT_LE(scan.entropy_offset + scan.entropy_bytes, file.bytes.size());
    for (int i = 0; i < scan.component_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_LT(scan.component[at], file.frame.component_count);
      ASSERT_LT(scan.dc_table[at], static_cast<int>(file.huffman_tables.size()));
      ASSERT_LT(scan.ac_table[at], static_cast<int>(file.huffman_tables.size()));
      ASSERT_LT(file.component_quant[scan.component[at]],
                static_cast<int>(file.quant_tables.size()));
      const bool decodable = file.frame.process != Process::kLossless && !file.frame.hierarchical;
      if (decodable) {
        ASSERT_GE(file.component_quant[scan.component[at]], 0);
      }
    }
  }
  for (const auto& table : file.huffman_tables) ASSERT_TRUE(is_valid(table));
  for (const auto& segment : file.segments) ASSERT_TRUE(inside(segment.payload));
  for (const auto& image : file.mpf) ASSERT_LE(image.offset + image.bytes, file.bytes.size());
  ASSERT_TRUE(inside(file.exif));
  ASSERT_TRUE(inside(file.xmp));
}

bool has_warning(const JpegFile& file, WarningKind kind) {
  return std::any_of(file.warnings.begin(), file.warnings.end(),
                     [kind](const Warning& warning) { return warning.kind == kind; });
}

TEST(JpegParser, ReadsABaselineFile) {
  const Bytes bytes = tiny::baseline();
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  expect_consistent(*file);
  EXPECT_TRUE(file->warnings.empty());
  EXPECT_TRUE(check_supported(*file));
  EXPECT_EQ(file->frame.width_px, 32);
  EXPECT_EQ(file->frame.height_px, 16);
  EXPECT_EQ(file->frame.mcu_columns, 2);
  EXPECT_EQ(file->frame.mcu_rows, 1);
  EXPECT_EQ(file->frame.components[0].padded_width_blocks, 4);
  EXPECT_EQ(file->frame.components[1].width_px, 16);
  EXPECT_EQ(file->frame.components[1].height_blocks, 1);
  EXPECT_EQ(file->color_model, ColorModel::kYcbcr);
  EXPECT_EQ(file->end_offset, bytes.size());
  EXPECT_FALSE(file->truncated);
  ASSERT_EQ(file->scans.size(), 1u);
  EXPECT_EQ(file->scans[0].entropy_offset + file->scans[0].entropy_bytes + 2, bytes.size());
  EXPECT_EQ(file->huffman_tables.size(), 4u);
  EXPECT_EQ(file->component_quant, (std::array<int, 4>{0, 1, 1, -1}));
  ASSERT_TRUE(file->jfif);
  EXPECT_EQ(file->jfif->x_density, 72);
  EXPECT_EQ(file->jfif->y_density, 96);
  EXPECT_EQ(sampling_name(file->frame), "420");
  EXPECT_EQ(process_name(file->frame), "baseline");
}

TEST(JpegParser, LibjpegDecodesWhatTheTestsParse) {
  for (const Bytes& bytes : {tiny::baseline(), tiny::progressive()}) {
    judge::Verdict verdict;
    judge::judge(bytes, true, verdict);
    EXPECT_TRUE(verdict.decoded) << verdict.error;
    EXPECT_EQ(verdict.warnings, 0);
    EXPECT_EQ(verdict.width_px, 32);
    EXPECT_EQ(verdict.color, JCS_YCbCr);
  }
}

TEST(JpegParser, IndexesProgressiveScans) {
  const auto file = parse(tiny::progressive(), {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_TRUE(file->warnings.empty());
  ASSERT_EQ(file->scans.size(), 3u);
  EXPECT_EQ(file->scans[0].component_count, 3);
  EXPECT_EQ(file->scans[0].ac_table[0], -1);
  EXPECT_GE(file->scans[0].dc_table[0], 0);
  EXPECT_EQ(file->scans[1].spectral_end, 63);
  EXPECT_EQ(file->scans[1].dc_table[0], -1);
  EXPECT_GE(file->scans[1].ac_table[0], 0);
  EXPECT_EQ(file->scans[2].approx_high, 1);
  EXPECT_EQ(file->scans[2].dc_table[0], -1);
  EXPECT_EQ(process_name(file->frame), "progressive");
}

TEST(JpegParser, EveryTruncationParsesOrFailsWithATypedError) {
  for (const Bytes& whole : {tiny::baseline(), tiny::progressive()}) {
    const std::size_t frame = tiny::find_marker(whole, whole == tiny::baseline() ? 0xC0 : 0xC2);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const ByteSpan cut = ByteSpan(whole).first(size);
      for (const auto depth : {ParseDepth::kWhole, ParseDepth::kThroughFirst}) {
        const auto file = parse(cut, {}, depth);
        if (!file) {
          EXPECT_EQ(file.error().code(), StatusCode::kInvalidInput);
          EXPECT_LT(size, frame + 19) << "a file with a frame header parses";
          continue;
        }
        EXPECT_GE(size, frame + 19);
        expect_consistent(*file);
        const bool read_to_the_end = depth == ParseDepth::kWhole || file->scans.empty();
        if (read_to_the_end) {
          EXPECT_TRUE(file->truncated && has_warning(*file, WarningKind::kTruncated));
        }
        EXPECT_EQ(check_supported(*file).has_value(), !file->scans.empty());
      }
    }
  }
}

TEST(JpegParser, LibjpegReadsEveryTruncationThatIsCalledDecodable) {
  for (const Bytes& whole : {tiny::baseline(), tiny::progressive()}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto file = parse(ByteSpan(whole).first(size), {});
      if (!file || !check_supported(*file)) continue;
      judge::Verdict verdict;
      judge::judge(file->bytes.first(file->end_offset), true, verdict);
      EXPECT_TRUE(verdict.decoded) << size << ": " << verdict.error;
    }
  }
}

TEST(JpegParser, EverySingleByteCorruptionParsesOrFailsWithATypedError) {
  int parsed = 0;
  int judged = 0;
  for (const Bytes& whole : {tiny::baseline(), tiny::progressive()}) {
    Bytes bytes = whole;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int flip = 1; flip < 256; flip += flip < 16 ? 1 : 7) {
        bytes[at] = static_cast<std::uint8_t>(whole[at] ^ flip);
        const auto file = parse(bytes, {});
        if (file) {
          ++parsed;
          ASSERT_NO_FATAL_FAILURE(expect_consistent(*file)) << at << " ^ " << flip;
        } else {
          ASSERT_NE(file.error().code(), StatusCode::kInternal);
          ASSERT_NE(file.error().code(), StatusCode::kBusy);
        }
        // Every ninth is enough for libjpeg, which is much slower than a parse.
        if ((at + static_cast<std::size_t>(flip)) % 9 != 0) continue;
        judge::Verdict verdict;
        judge::judge(bytes, false, verdict);
        const bool readable = file && check_supported(*file);
        if (readable) {
          ++judged;
          EXPECT_TRUE(verdict.header_ok) << at << " ^ " << flip << ": " << verdict.error;
          EXPECT_EQ(file->frame.width_px, verdict.width_px);
          EXPECT_EQ(file->frame.height_px, verdict.height_px);
        }
      }
      bytes[at] = whole[at];
    }
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(judged, 100);
}

TEST(JpegParser, SkipsExtraneousBytesWithAWarning) {
  const auto file = parse(with_insert(0xC0, {1, 2, 0xFF, 0, 3}), {});
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_EQ(file->warnings.size(), 1u);
  EXPECT_EQ(file->warnings[0].kind, WarningKind::kExtraneousBytes);
  EXPECT_EQ(file->warnings[0].offset, at_marker(0xC0));
}

TEST(JpegParser, TakesFillBytesAndTrailingBytesInSilence) {
  Bytes bytes = with_insert(0xC0, {0xFF, 0xFF, 0xFF});
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), {1, 2, 3, 0xFF, 0xD8});
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_TRUE(file->warnings.empty());
  EXPECT_EQ(file->end_offset, size);
}

TEST(JpegParser, EntropyDataHoldsRestartsStuffingAndReservedCodes) {
  Bytes bytes = tiny::baseline();
  const Bytes insert = {0xFF, 0xD5, 0xFF, 0x00, 0xFF, 0xFF, 0xD0, 0xFF, 0x02, 0x55};
  const std::size_t eoi = bytes.size() - 2;
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(eoi), insert.begin(), insert.end());
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->scans[0].entropy_offset + file->scans[0].entropy_bytes, eoi + insert.size());
  ASSERT_EQ(file->warnings.size(), 1u);
  EXPECT_EQ(file->warnings[0].kind, WarningKind::kCorruptData);
  EXPECT_EQ(file->warnings[0].offset, eoi + 7);
}

TEST(JpegParser, AFaultAfterTheFirstScanKeepsWhatCameBefore) {
  Bytes bytes = tiny::progressive();
  const std::size_t second = tiny::find_marker(bytes, 0xDA, 1);
  bytes[second + 5] = 77;  // no such component
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->scans.size(), 1u);
  EXPECT_EQ(file->end_offset, second);
  EXPECT_TRUE(has_warning(*file, WarningKind::kCorruptData));
  judge::Verdict verdict;
  judge::judge(file->bytes.first(file->end_offset), true, verdict);
  EXPECT_TRUE(verdict.decoded) << verdict.error;
}

TEST(JpegParser, AFurtherScanOfACompleteImageEndsTheFile) {
  Bytes bytes = tiny::baseline();
  bytes.resize(bytes.size() - 2);
  const std::size_t end = bytes.size();
  write_sos(bytes, tiny::color_scan());
  write_eoi(bytes);
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->scans.size(), 1u);
  EXPECT_EQ(file->end_offset, end);
  EXPECT_TRUE(has_warning(*file, WarningKind::kCorruptData));
}

TEST(JpegParser, StopsAtACompleteFirstScanWhenAsked) {
  const Bytes bytes = tiny::baseline();
  const auto file = parse(bytes, {}, ParseDepth::kThroughFirst);
  ASSERT_TRUE(file);
  ASSERT_EQ(file->scans.size(), 1u);
  EXPECT_EQ(file->end_offset, bytes.size());
  EXPECT_EQ(file->scans[0].entropy_offset + file->scans[0].entropy_bytes, bytes.size());
  const auto all = parse(tiny::progressive(), {}, ParseDepth::kThroughFirst);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->scans.size(), 3u);
}

TEST(JpegParser, TakesTheHeightFromDnl) {
  Bytes bytes = with_byte(0xC0, 6, 0);
  const Bytes dnl = {0xFF, 0xDC, 0, 4, 0, 16};
  bytes.insert(bytes.end() - 2, dnl.begin(), dnl.end());
  for (const auto depth : {ParseDepth::kWhole, ParseDepth::kThroughFirst}) {
    const auto file = parse(bytes, {}, depth);
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->frame.height_px, 16);
    EXPECT_TRUE(file->frame.height_from_dnl);
    EXPECT_EQ(file->frame.mcu_rows, 1);
  }
  Limits limits;
  limits.max_input_pixels = 32 * 15;
  EXPECT_EQ(parse(bytes, limits).error().code(), StatusCode::kTooLarge);
}

TEST(JpegParser, MotionJpegFramesNeedNoHuffmanTables) {
  Bytes bytes = tiny::head();
  const auto tables = quality_tables(75);
  write_dqt(bytes, 0, tables.luminance);
  write_dqt(bytes, 1, tables.chrominance);
  write_sof(bytes, tiny::color_frame(32, 16));
  write_sos(bytes, tiny::color_scan());
  tiny::write_flat_mcus(bytes, 2);
  write_eoi(bytes);
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->scans[0].dc_table[0], -1);
  EXPECT_EQ(file->scans[0].ac_table[2], -1);
  Bytes progressive = bytes;
  progressive[tiny::find_marker(progressive, 0xC0) + 1] = 0xC2;
  progressive[tiny::find_marker(progressive, 0xDA) + 12] = 0;  // Se
  EXPECT_EQ(parse(progressive, {}).error().code(), StatusCode::kInvalidInput);
}

TEST(JpegParser, RefusesImpossibleProgressiveParameters) {
  Bytes bytes = tiny::progressive();
  bytes[tiny::find_marker(bytes, 0xDA) + 12] = 5;  // Se of a DC scan
  EXPECT_EQ(parse(bytes, {}).error().code(), StatusCode::kInvalidInput);
}

TEST(JpegParser, WarnsOfScansOutOfOrder) {
  Bytes bytes = tiny::progressive();
  bytes[tiny::find_marker(bytes, 0xDA, 2) + 13] = 0x21;  // refines a bit that was never sent
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  EXPECT_TRUE(has_warning(*file, WarningKind::kCorruptData));
}

TEST(JpegParser, WarnsOfAComponentWithoutScan) {
  Bytes bytes = tiny::head();
  tiny::write_standard_tables(bytes);
  write_sof(bytes, tiny::color_frame(32, 16));
  ScanSpec luma;
  luma.component_count = 1;
  luma.id[0] = 1;
  write_sos(bytes, luma);
  write_eoi(bytes);
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(std::count_if(file->warnings.begin(), file->warnings.end(),
                          [](const Warning& w) { return w.kind == WarningKind::kMissingScan; }),
            2);
}

TEST(JpegParser, UnsupportedProcessesParseForInspection) {
  for (const int sof : {0xC3, 0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCF}) {
    Bytes bytes = tiny::baseline();
    bytes[tiny::find_marker(bytes, 0xC0) + 1] = static_cast<std::uint8_t>(sof);
    const auto file = parse(bytes, {});
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(check_supported(*file).error().code(), StatusCode::kUnsupported);
  }
  const auto deep = parse(with_byte(0xC0, 4, 12), {});
  ASSERT_TRUE(deep);
  EXPECT_EQ(check_supported(*deep).error().code(), StatusCode::kUnsupported);
  const auto hierarchical = parse(with_insert(0xC0, {0xFF, 0xDE, 0, 2}), {});
  ASSERT_TRUE(hierarchical);
  EXPECT_EQ(check_supported(*hierarchical).error().code(), StatusCode::kUnsupported);
}

TEST(JpegParser, AFloodOfSegmentsCostsBoundedMemory) {
  Bytes bytes = tiny::head();
  for (int i = 0; i < 200'000; ++i) bytes.insert(bytes.end(), {0xFF, 0xFE, 0, 2, 'x'});
  const Bytes rest = tiny::baseline();
  bytes.insert(bytes.end(), rest.begin() + 2, rest.end());
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  EXPECT_LT(file->markers.size(), 20'000u);
  EXPECT_LT(file->segments.size(), 20'000u);
  EXPECT_LT(file->warnings.size(), 100u);
  EXPECT_EQ(file->scans.size(), 1u);
}

struct ColorCase {
  int components;
  bool jfif;
  int adobe;  ///< −1: no Adobe segment
  std::array<std::uint8_t, 4> id;
  ColorModel model;
  J_COLOR_SPACE judged;
};

TEST(JpegParser, DecidesColourAsLibjpegDoes) {
  const std::array<std::uint8_t, 4> plain{1, 2, 3, 4};
  const std::array<std::uint8_t, 4> rgb{'R', 'G', 'B', 'A'};
  const std::array<std::uint8_t, 4> odd{7, 8, 9, 10};
  for (const auto& c : {ColorCase{1, false, 0, plain, ColorModel::kGray, JCS_GRAYSCALE},
                        ColorCase{3, true, 0, rgb, ColorModel::kYcbcr, JCS_YCbCr},
                        ColorCase{3, false, 0, plain, ColorModel::kRgb, JCS_RGB},
                        ColorCase{3, false, 1, rgb, ColorModel::kYcbcr, JCS_YCbCr},
                        ColorCase{3, false, 9, plain, ColorModel::kYcbcr, JCS_YCbCr},
                        ColorCase{3, false, -1, plain, ColorModel::kYcbcr, JCS_YCbCr},
                        ColorCase{3, false, -1, rgb, ColorModel::kRgb, JCS_RGB},
                        ColorCase{3, false, -1, odd, ColorModel::kYcbcr, JCS_YCbCr},
                        ColorCase{4, true, -1, plain, ColorModel::kCmyk, JCS_CMYK},
                        ColorCase{4, false, 0, plain, ColorModel::kCmyk, JCS_CMYK},
                        ColorCase{4, false, 2, plain, ColorModel::kYcck, JCS_YCCK},
                        ColorCase{4, false, 5, plain, ColorModel::kYcck, JCS_YCCK}}) {
    std::vector<std::pair<std::uint8_t, Bytes>> segments;
    if (c.jfif) segments.push_back({marker::kApp0, tiny::jfif_payload()});
    if (c.adobe >= 0) {
      segments.push_back({marker::kApp14, tiny::adobe_payload(static_cast<std::uint8_t>(c.adobe))});
    }
    Bytes bytes = tiny::head(segments);
    tiny::write_standard_tables(bytes);
    FrameSpec frame;
    frame.width_px = frame.height_px = 8;
    frame.component_count = c.components;
    frame.id = c.id;
    write_sof(bytes, frame);
    ScanSpec scan;
    scan.component_count = c.components;
    scan.id = c.id;
    write_sos(bytes, scan);
    write_eoi(bytes);
    const auto file = parse(bytes, {});
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->color_model, c.model);
    judge::Verdict verdict;
    judge::judge(bytes, false, verdict);
    EXPECT_EQ(verdict.color, c.judged);
  }
}

TEST(JpegNames, SamplingsAndMarkers) {
  const auto name = [](std::uint8_t h, std::uint8_t v) {
    FrameHeader frame;
    frame.component_count = 3;
    frame.components[0].h = h;
    frame.components[0].v = v;
    return sampling_name(frame);
  };
  EXPECT_EQ(name(1, 1), "444");
  EXPECT_EQ(name(2, 1), "422");
  EXPECT_EQ(name(2, 2), "420");
  EXPECT_EQ(name(1, 2), "440");
  EXPECT_EQ(name(4, 1), "411");
  EXPECT_EQ(name(3, 1), "3x1,1x1,1x1");
  FrameHeader odd;
  odd.component_count = 3;
  odd.components[0].h = odd.components[0].v = odd.components[1].v = 2;
  EXPECT_EQ(sampling_name(odd), "2x2,1x2,1x1");
  odd.component_count = 1;
  EXPECT_EQ(sampling_name(odd), "gray");
  EXPECT_EQ(marker_name(0xD8), "SOI");
  EXPECT_EQ(marker_name(0xDA), "SOS");
  EXPECT_EQ(marker_name(0xC2), "SOF2");
  EXPECT_EQ(marker_name(0xED), "APP13");
  EXPECT_EQ(marker_name(0xFE), "COM");
  EXPECT_EQ(marker_name(0x01), "TEM");
  EXPECT_EQ(marker_name(0x33), "RES");
}

}  // namespace
}  // namespace framewire::jpeg
