#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/attempt.hpp>
#include <codec/turbo/decoder.hpp>
#include <codec/turbo/region_decoder.hpp>
#include <new>
#include <vector>

namespace framewire::codec {
namespace {

using namespace turbo;

BlockRegion blocks_of(const SampleRegion& region, int scale) {
  return {region.left / scale, base::ceil_div(region.right, scale), region.top / scale,
          base::ceil_div(region.bottom, scale)};
}

/// One attempt, with one of the entropy decoders.
Result<void> decode_once(const jpeg::JpegFile& file, const plan::Scales& scales,
                         std::span<const SampleRegion> regions, const Context& context,
                         RegionSink& sink, CodecOutcome& outcome, Attempt& now) {
  std::vector<int> wanted;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (!regions[i].empty()) wanted.push_back(static_cast<int>(i));
  }
  auto decoder = Decoder::open(file, scales, wanted, context, now);
  if (!decoder) return fail(decoder.error());
  for (const int i : wanted) {
    const auto at = static_cast<std::size_t>(i);
    (*decoder)->restrict_to(i, blocks_of(regions[at], scales[at]));
  }
  sink.begin();
  for (bool all_there = false; !all_there || context.strict;) {
    const auto more = (*decoder)->read();
    if (!more) return fail(more.error());
    if (!*more) break;
    all_there = true;
    for (const int i : wanted) {
      const RowBand band = (*decoder)->band(i);
      sink.rows(i, band.first_row, band.rows);
      const std::int32_t end = band.first_row + band.row_count;
      all_there = all_there && end >= regions[static_cast<std::size_t>(i)].bottom;
    }
    sink.end_band();
  }
  auto warnings = (*decoder)->check_rest();
  if (!warnings) return fail(warnings.error());
  for (Warning& warning : *warnings) outcome.warnings.push_back(std::move(warning));
  return {};
}

}  // namespace

Result<void> decode_regions(const jpeg::JpegFile& file, const plan::Scales& scales,
                            std::span<const SampleRegion> regions, const Context& context,
                            RegionSink& sink, CodecOutcome& outcome) try {
  return attempt(EntropyDecoder::kOwn, [&](Attempt& now) {
    return decode_once(file, scales, regions, context, sink, outcome, now);
  });
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "no memory to decode");
}

}  // namespace framewire::codec
