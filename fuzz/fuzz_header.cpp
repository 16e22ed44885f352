// Headers and metadata: whatever the bytes, parse() gives a result or a typed error, what it
// accepts is consistent, and every head that can be written for it parses again.
#include <cstdint>
#include <cstdlib>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/head.hpp>
#include <jpeg/huffman.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <tests/support/gain_map.hpp>

namespace {

using namespace framewire;
using namespace framewire::jpeg;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

void check_file(const JpegFile& file) {
  require(file.end_offset <= file.bytes.size());
  require(file.frame.width_px > 0 && file.frame.height_px > 0);
  for (const auto& scan : file.scans) {
    require(scan.entropy_offset + scan.entropy_bytes <= file.bytes.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      require(scan.component[i] < file.frame.component_count);
      require(scan.dc_table[i] < static_cast<int>(file.huffman_tables.size()));
      require(scan.ac_table[i] < static_cast<int>(file.huffman_tables.size()));
    }
  }
  for (const auto& table : file.huffman_tables) {
    require(is_valid(table));
    static_cast<void>(make_decode_table(table));
  }
  for (const auto& image : file.mpf) {
    require(image.offset <= file.bytes.size() && image.bytes <= file.bytes.size() - image.offset);
  }
}

/// Completes a head with a smallest image and parses it.
void check_head(Bytes head) {
  write_dqt(head, 0, quality_tables(50).luminance);
  FrameSpec frame;
  frame.width_px = frame.height_px = 1;
  frame.component_count = 1;
  write_sof(head, frame);
  ScanSpec scan;
  scan.component_count = 1;
  scan.id[0] = 1;
  write_sos(head, scan);
  write_eoi(head);
  const auto parsed = parse(head, {});
  require(parsed.has_value() && !parsed->truncated);
}

void check_heads(const JpegFile& file) {
  for (const auto metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    for (const bool upright : {false, true}) {
      HeadFacts facts;
      facts.width_px = 20;
      facts.height_px = 10;
      facts.orientation_applied = upright;
      facts.transposed = upright;
      facts.is_srgb = upright;
      facts.icc = file.icc;
      facts.gain_map_bytes = file.gain_map ? 1000 : 0;
      auto head = make_head(file, metadata, facts);
      require(head.has_value());
      check_head(*head);
      if (file.gain_map) require(test::append_gain_map(*head, gain_map_bytes(file)).has_value());
    }
  }
}

/// The readers of metadata by themselves: their input need not come through a whole file.
void check_parts(ByteSpan bytes) {
  const Bytes exif = rewrite_exif(bytes, {100, 50, true, true});
  require(exif.size() <= bytes.size());
  if (!exif.empty()) require(read_exif(exif).has_value());
  static_cast<void>(read_exif(bytes));
  static_cast<void>(read_mpf(bytes, 0, bytes));
  ImageResources resources;
  resources.add_segment(bytes);
  require(resources.copyright().size() <= bytes.size());
  require(resources.without_pictures(true).size() <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(data, size);
  for (const auto depth : {ParseDepth::kWhole, ParseDepth::kThroughFirst}) {
    const auto file = parse(bytes, {}, depth);
    if (!file) continue;
    check_file(*file);
    static_cast<void>(check_supported(*file));
    check_heads(*file);
    if (!file->gain_map) continue;
    const auto gain_map = parse(gain_map_bytes(*file), {});
    if (!gain_map) continue;
    const auto head = make_gain_map_head(*gain_map);
    require(head.has_value());
    check_head(*head);
  }
  check_parts(bytes);
  return 0;
}
