// The entropy decoder on the device: streams made so as never to synchronise, hostile files among
// good ones, and the same bytes every time.
#include <codec/cuda/tuning.h>
#include <gmock/gmock.h>
#include <algorithm>
#include <base/clock.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tests/conformance/damage_cases.hpp>
#include <tests/gpu/device_planes.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::describe;
using codec::cuda::Item;
using codec::cuda::Transcoder;

/// A gray file of which every symbol has 9 bits, always the same ones, and every block 64 symbols:
/// who begins to read at a wrong bit or coefficient stays wrong for ever.
Bytes never_synchronising(std::int32_t side_px) {
  Bytes out;
  jpeg::write_marker(out, 0xD8);
  jpeg::QuantTable quantiser;
  quantiser.values.fill(1);
  jpeg::write_dqt(out, 0, quantiser);
  jpeg::FrameSpec frame;
  frame.width_px = frame.height_px = side_px;
  frame.component_count = 1;
  jpeg::write_sof(out, frame);
  jpeg::HuffmanTable table;
  table.counts[4] = 31;  // all codes of 5 bits save the reserved one
  table.value_count = 31;
  table.values.fill(4);  // run 0, size 4
  jpeg::write_dht(out, jpeg::TableClass::kDc, 0, table);
  jpeg::write_dht(out, jpeg::TableClass::kAc, 0, table);
  jpeg::ScanSpec scan;
  scan.component_count = 1;
  scan.id[0] = frame.id[0];
  jpeg::write_sos(out, scan);
  const std::int32_t blocks = (side_px + 7) / 8 * ((side_px + 7) / 8);
  // 00101, then 1000 (+8) or, to keep the DC small, 0111 (−8).
  std::uint32_t pending = 0;
  int count = 0;
  for (std::int32_t i = 0; i < blocks * 64; ++i) {
    pending = pending << 9 | (i % 128 == 64 ? 0x57u : 0x58u);
    for (count += 9; count >= 8; count -= 8) {
      out.push_back(static_cast<std::uint8_t>(pending >> (count - 8)));
    }
  }
  if (count != 0) out.push_back(static_cast<std::uint8_t>(pending << (8 - count) | 0xFF >> count));
  jpeg::write_eoi(out);
  return out;
}

using Entropy = GpuTest;

TEST_F(Entropy, StreamsThatNeverSynchroniseEndInBoundedTime) {
  sample::Spec spec;
  spec.width_px = 640;
  spec.height_px = 480;
  OwnedItem good(draw(spec), 8);
  OwnedItem small(never_synchronising(40), 8);
  OwnedItem large(never_synchronising(4000), 8);
  const std::vector<Item> items{good.item, large.item, small.item, good.item};
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue(items));  // memory is taken
  ASSERT_TRUE(transcoder.wait());
  const auto start = base::Clock::now();
  ASSERT_TRUE(transcoder.enqueue(items));
  ASSERT_TRUE(transcoder.wait());
  EXPECT_LT(base::elapsed_us(start), emulated() ? 300e6 : 1e6);
  EXPECT_EQ(transcoder.result(0).status, 0u);
  EXPECT_EQ(transcoder.result(3).status, 0u);
  EXPECT_THAT(describe(transcoder.result(1).status), testing::HasSubstr("does not synchronise"));
  // So few subsequences are repaired one after the other.
  ASSERT_EQ(describe(transcoder.result(2).status), "");
  small.use_coefficients();
  const Bytes samples = download(transcoder.plane(2, 0));
  ASSERT_TRUE(transcoder.enqueue({&small.item, 1}));
  ASSERT_TRUE(transcoder.wait());
  EXPECT_EQ(download(transcoder.plane(0, 0)), samples);
}

/// Whether some restart marker lies so many bytes behind a seam between the thread blocks that look
/// for them.
bool has_marker_at_seam(const Bytes& bytes, std::size_t behind) {
  const jpeg::Scan scan = value_of(jpeg::parse(bytes, {})).scans[0];
  for (std::size_t at = codec::cuda::kMarkerTileBytes - 1 + behind; at + 1 < scan.entropy_bytes;
       at += codec::cuda::kMarkerTileBytes) {
    const std::uint8_t* found = bytes.data() + scan.entropy_offset + at;
    if (found[0] == 0xFF && found[1] >= 0xD0 && found[1] <= 0xD7) return true;
  }
  return false;
}

TEST_F(Entropy, RestartMarkersAreFoundAcrossSeams) {
  sample::Spec spec;
  spec.width_px = 640;
  spec.height_px = 400;
  spec.quality = 98;
  spec.restart_mcus = 1;
  for (const std::size_t behind : {0u, 1u}) {  // half of the marker on either side, or all behind
    Bytes bytes;
    for (int seed = 0; seed < 500 && bytes.empty(); ++seed) {
      if (Bytes drawn = draw(spec, seed); has_marker_at_seam(drawn, behind)) bytes = drawn;
    }
    ASSERT_FALSE(bytes.empty());
    OwnedItem item(bytes, 8);
    Transcoder transcoder = value_of(Transcoder::make());
    ASSERT_TRUE(transcoder.enqueue({&item.item, 1}));
    ASSERT_TRUE(transcoder.wait());
    ASSERT_EQ(describe(transcoder.result(0).status), "");
    const Bytes samples = download(transcoder.plane(0, 0));
    item.use_coefficients();
    ASSERT_TRUE(transcoder.enqueue({&item.item, 1}));
    ASSERT_TRUE(transcoder.wait());
    EXPECT_EQ(download(transcoder.plane(0, 0)), samples);
  }
}

/// One byte changed, inserted or taken away in a sound file; the words must name it.
TEST_F(Entropy, WhatIsLeftToTheCpuIsSaidInWords) {
  sample::Spec spec;
  spec.restart_mcus = 2;
  const Bytes restarts = draw(spec);
  spec.restart_mcus = 0;
  const Bytes plain = draw(spec);
  const auto scan_of = [](const Bytes& bytes) { return value_of(jpeg::parse(bytes, {})).scans[0]; };
  const std::size_t begin = scan_of(plain).entropy_offset;
  Bytes cut(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(begin + 60));
  Bytes no_end(plain.begin(), plain.end() - 2);
  Bytes fill = plain;
  fill.insert(fill.begin() + static_cast<std::ptrdiff_t>(begin + 60), {0xFF, 0xFF, 0x00});
  Bytes order = restarts;
  for (std::size_t i = scan_of(restarts).entropy_offset; i + 1 < order.size(); ++i) {
    if (order[i] == 0xFF && order[i + 1] == 0xD1) order[i + 1] = 0xD5;
  }
  const std::pair<Bytes, const char*> cases[] = {{cut, "fewer blocks"},
                                                 {no_end, "no marker"},
                                                 {fill, "fill bytes"},
                                                 {order, "restart markers out of order"}};
  Transcoder transcoder = value_of(Transcoder::make());
  for (const auto& [bytes, words] : cases) {
    OwnedItem item(bytes, 8, jpeg::ParseDepth::kThroughFirst);
    ASSERT_TRUE(transcoder.enqueue({&item.item, 1}));
    ASSERT_TRUE(transcoder.wait());
    EXPECT_THAT(describe(transcoder.result(0).status), testing::HasSubstr(words));
  }
}

bool has_kind(const std::vector<Warning>& warnings, WarningKind kind) {
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const Warning& warning) { return warning.kind == kind; });
}

/// Strict must not depend on the device: of what the kernels take, the CPU has nothing to tell.
TEST_F(Entropy, WhatIsTakenHasNoWarningOnTheCpu) {
  std::vector<conformance::DamageCase> cases = conformance::all_damage_cases();
  std::ranges::move(conformance::flipped_bits(10), std::back_inserter(cases));
  Transcoder transcoder = value_of(Transcoder::make());
  std::size_t taken = 0;
  std::size_t compared = 0;
  for (std::size_t first = 0; first < cases.size(); first += 32) {
    std::vector<std::unique_ptr<OwnedItem>> owned;
    std::vector<const conformance::DamageCase*> of;
    std::vector<Item> items;
    for (std::size_t i = first; i < std::min(first + 32, cases.size()); ++i) {
      const Bytes& bytes = cases[i].bytes;
      const auto file = jpeg::parse(bytes, Limits{});
      if (!file || !jpeg::check_supported(*file)) continue;
      for (const auto depth : {jpeg::ParseDepth::kWhole, jpeg::ParseDepth::kThroughFirst}) {
        // Lanes read others whole: see Preparation.
        const bool has_eoi = bytes[bytes.size() - 2] == 0xFF && bytes.back() == 0xD9;
        if (depth == jpeg::ParseDepth::kThroughFirst && !has_eoi) continue;
        owned.push_back(std::make_unique<OwnedItem>(bytes, 8, depth));
        owned.back()->item.strict = depth == jpeg::ParseDepth::kWhole;
        if (!codec::cuda::check_item(owned.back()->item)) continue;
        items.push_back(owned.back()->item);
        of.push_back(&cases[i]);
      }
    }
    if (items.empty()) continue;
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    compared += items.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (transcoder.result(i).status != 0) continue;
      ++taken;
      const auto file = value_of(jpeg::parse(of[i]->bytes, Limits{}));
      codec::CodecOutcome outcome;
      ASSERT_TRUE(codec::read_coefficients(file, {}, outcome));
      for (const Warning& warning : outcome.warnings) {
        EXPECT_TRUE(has_kind(file.warnings, warning.kind))
            << of[i]->name << ": " << warning.message;
      }
    }
  }
  EXPECT_GT(taken, 20u);
  EXPECT_LT(taken, compared);
}

struct Tally {
  int compared = 0;
  int given_up = 0;
};

using Files = std::vector<std::pair<std::string, std::unique_ptr<OwnedItem>>>;

/// Moves all to pinned memory, at every alignment, among bytes that would restart a scan.
gpu::Buffer pin(const Files& files) {
  constexpr std::size_t kGap = 17;
  std::size_t bytes = codec::kPinnedGuardBytes;
  for (const auto& [name, owned] : files) bytes += owned->item.file->bytes.size() + kGap;
  gpu::Buffer pinned = value_of(gpu::Buffer::make(gpu::BufferKind::kPinned, bytes));
  for (std::size_t i = 0; i < bytes; ++i) pinned.data()[i] = i % 2 == 0 ? 0xFF : 0xD0;
  std::uint8_t* at = pinned.data();
  for (const auto& [name, owned] : files) at = owned->pin(at) + kGap;
  return pinned;
}

/// A batch of files between good ones, twice, then from pinned memory; every plane that counts
/// against the host's.
void check_batch(const Files& files, const OwnedItem& good, Transcoder& transcoder, Tally& tally) {
  std::vector<Item> items;
  const auto collect = [&] {
    items.clear();
    for (const auto& [name, owned] : files) {
      items.push_back(good.item);
      items.push_back(owned->item);
    }
  };
  collect();
  const auto run = [&](std::span<const Item> batch) {
    std::vector<std::pair<std::uint32_t, std::vector<Bytes>>> all;
    EXPECT_TRUE(transcoder.enqueue(batch));
    EXPECT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& [status, planes] = all.emplace_back(transcoder.result(i).status, std::vector<Bytes>());
      for (int c = 0; status == 0 && c < batch[i].file->frame.component_count; ++c) {
        planes.push_back(download(transcoder.plane(i, static_cast<std::size_t>(c))));
      }
    }
    return all;
  };
  const auto first = run(items);
  const auto second = run(items);
  const gpu::Buffer memory = pin(files);
  collect();
  const auto pinned = run(items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE(files[i / 2].first);
    EXPECT_EQ(first[i], second[i]) << "two runs differ";
    EXPECT_EQ(first[i], pinned[i]) << "pinned files differ";
    if (i % 2 == 0) {
      EXPECT_EQ(first[i], first[0]) << "a neighbour came to harm";
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    SCOPED_TRACE(files[i].first);
    const auto& [status, planes] = first[i * 2 + 1];
    tally.given_up += status != 0 ? 1 : 0;
    if (status != 0) continue;
    codec::CodecOutcome outcome;
    const auto expected = codec::read_coefficients(*items[i * 2 + 1].file, {}, outcome);
    ASSERT_TRUE(expected) << "the CPU refuses what the kernels took";
    // The parser's own are reported whoever decodes.
    for (const Warning& warning : outcome.warnings) {
      EXPECT_TRUE(has_kind(items[i * 2 + 1].file->warnings, warning.kind)) << warning.message;
    }
    Item uploaded = items[i * 2 + 1];
    uploaded.coefficients = &*expected;
    EXPECT_EQ(run({&uploaded, 1})[0].second, planes);
    ++tally.compared;
  }
}

class EntropyCorpus : public GpuTestWith<const char*> {};

TEST_P(EntropyCorpus, GivesTheCpusVerdicts) {
  const char* corpus = std::getenv("FRAMEWIRE_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  sample::Spec spec;
  spec.h = spec.v = 2;
  const OwnedItem good(draw(spec), 8);
  Transcoder transcoder = value_of(Transcoder::make());
  Tally tally;
  Files files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(corpus) / GetParam())) {
    if (!entry.is_regular_file() || entry.file_size() > 600'000) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    for (const auto depth : {jpeg::ParseDepth::kWhole, jpeg::ParseDepth::kThroughFirst}) {
      const auto parsed = jpeg::parse(bytes, Limits{}, depth);
      if (!parsed || !jpeg::check_supported(*parsed)) continue;
      if (parsed->frame.width_px * std::int64_t{parsed->frame.height_px} > 4'000'000) continue;
      auto owned = std::make_unique<OwnedItem>(bytes, 4, depth);
      if (codec::cuda::check_item(owned->item)) {
        files.emplace_back(entry.path().filename().string(), std::move(owned));
      }
    }
    if (files.size() < 64) continue;
    check_batch(files, good, transcoder, tally);
    files.clear();
  }
  if (!files.empty()) check_batch(files, good, transcoder, tally);
  RecordProperty("compared", tally.compared);
  RecordProperty("given_up", tally.given_up);
  EXPECT_GT(tally.compared, 20);
}

INSTANTIATE_TEST_SUITE_P(All, EntropyCorpus, testing::Values("features", "hostile"),
                         [](const auto& cell) { return std::string(cell.param); });

}  // namespace
}  // namespace framewire::gpu_tests
