// Progressive files, entropy decoding included, on the device: every coefficient against the CPU
// codec's, whatever the script, and damage among good neighbours.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <algorithm>
#include <array>
#include <codec/cuda/decode/progressive_script.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <framewire/engine.hpp>
#include <future>
#include <random>
#include <tests/gpu/device_planes.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::describe;
using codec::cuda::Item;
using codec::cuda::PlaneDesc;
using codec::cuda::Transcoder;

template <typename T>
std::vector<T> read_device(const T* from, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}

/// Where a block lies that is kept whole besides its corner; -1 for others.
std::int64_t edge_index(const PlaneDesc& plane, std::uint32_t x, std::uint32_t y) {
  const bool right = plane.right_edge != 0 && x + 1 == plane.width_blocks;
  const bool bottom = plane.bottom_edge != 0 && y + 1 == plane.height_blocks;
  if (!right && !bottom) return -1;
  return right ? y : (plane.right_edge != 0 ? plane.height_blocks : 0) + x;
}

/// Compares what the device keeps of a component. @return what differs
std::string compare(const PlaneDesc& plane, const codec::CoefficientPlane& expected) {
  const std::size_t blocks = std::size_t{plane.width_blocks} * plane.height_blocks;
  const std::uint32_t n = plane.stored_corner;
  const auto corners = read_device(plane.coefficients, blocks * n * n);
  const auto dc = read_device(plane.dc, blocks);
  const std::size_t edges = (plane.right_edge != 0 ? plane.height_blocks : 0) +
                            (plane.bottom_edge != 0 ? plane.width_blocks : 0);
  const auto whole = read_device(plane.edges, edges * 64);
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto x = static_cast<std::uint32_t>(block % plane.width_blocks);
    const auto y = static_cast<std::uint32_t>(block / plane.width_blocks);
    const std::int64_t edge = edge_index(plane, x, y);
    for (std::uint32_t natural = 0; natural < 64; ++natural) {
      const std::uint32_t u = natural % 8;
      const std::uint32_t v = natural / 8;
      if (edge < 0 && (u >= n || v >= n)) continue;
      const std::int16_t got = natural == 0 ? dc[block]
                               : edge >= 0  ? whole[static_cast<std::size_t>(edge) * 64 + natural]
                                            : corners[block * n * n + v * n + u];
      const std::int16_t want = expected.coefficients[block * 64 + natural];
      if (got == want) continue;
      return "block " + std::to_string(x) + "," + std::to_string(y) + " coefficient " +
             std::to_string(u) + "," + std::to_string(v) + ": " + std::to_string(got) +
             " instead of " + std::to_string(want);
    }
  }
  return {};
}

void expect_coefficients(const Transcoder& transcoder, std::size_t image, const Item& item) {
  codec::CodecOutcome outcome;
  const auto expected = value_of(codec::read_coefficients(*item.file, {}, outcome));
  for (std::size_t c = 0; c < expected.components.size(); ++c) {
    EXPECT_EQ(compare(transcoder.decoded_plane(image, c), expected.components[c]), "")
        << "component " << c;
  }
  EXPECT_TRUE(outcome.warnings.empty()) << "the CPU warns about what the device took";
}

using Script = std::vector<jpeg_scan_info>;

/// Scans of the three components' AC, one component after the other.
void add_ac(Script& script, int first, int last, int high, int low) {
  for (const int c : {2, 0, 1}) script.push_back({1, {c}, first, last, high, low});
}

/// No bit is refined.
Script bands_only() {
  Script script{{3, {0, 1, 2}, 0, 0, 0, 0}};
  add_ac(script, 1, 1, 0, 0);
  add_ac(script, 2, 5, 0, 0);
  add_ac(script, 6, 63, 0, 0);
  return script;
}
/// DC of each component alone, then refined together; three refinements in bands other than those
/// of the first scans.
Script many_refinements() {
  Script script;
  for (const int c : {1, 0, 2}) script.push_back({1, {c}, 0, 0, 0, 2});
  add_ac(script, 1, 7, 0, 3);
  add_ac(script, 8, 63, 0, 3);
  script.push_back({3, {0, 1, 2}, 0, 0, 2, 1});
  add_ac(script, 1, 63, 3, 2);
  add_ac(script, 1, 20, 2, 1);
  add_ac(script, 21, 63, 2, 1);
  for (const int c : {0, 1, 2}) script.push_back({1, {c}, 0, 0, 1, 0});
  return script;
}
Script whole(Script script) {
  add_ac(script, 1, 63, 1, 0);
  return script;
}
/// Two components' DC together and refined apart, the third's by itself.
Script mixed_dc() {
  Script script{{2, {0, 2}, 0, 0, 0, 1}, {1, {1}, 0, 0, 0, 0}};
  add_ac(script, 1, 63, 0, 0);
  script.push_back({1, {2}, 0, 0, 1, 0});
  script.push_back({1, {0}, 0, 0, 1, 0});
  return script;
}

/// Progressive pictures of every sampling and script, with and without restart markers.
std::vector<Bytes> pictures() {
  static const std::array<Script, 3> kScripts{bands_only(), whole(many_refinements()), mixed_dc()};
  std::vector<Bytes> all;
  int seed = 0;
  for (sample::Spec spec : specs()) {
    if (spec.width_px > 200 && spec.h != 2) continue;
    const bool gray = spec.space == JCS_GRAYSCALE;
    spec.separate_scans = false;
    spec.progressive = true;
    spec.quality = seed % 3 == 0 ? 97 : 80;
    if (!gray && seed % 4 != 0) spec.script = kScripts[static_cast<std::size_t>(seed % 4 - 1)];
    all.push_back(draw(spec, seed++));
  }
  sample::Spec cmyk{75, 51, JCS_CMYK, 1, 1, 85};
  cmyk.progressive = true;
  all.push_back(draw(cmyk));
  return all;
}

using Progressive = GpuTest;

TEST_F(Progressive, CoefficientsAreTheCpusAtEveryScale) {
  sample::Spec sequential;
  sequential.h = sequential.v = 2;
  const OwnedItem neighbour(draw(sequential), 8);
  Transcoder transcoder = value_of(Transcoder::make());
  for (const int scale : {8, 6, 5, 4, 2, 1}) {
    std::vector<std::unique_ptr<OwnedItem>> owned;
    std::vector<Item> items;
    for (Bytes& bytes : pictures()) {
      owned.push_back(std::make_unique<OwnedItem>(std::move(bytes), scale));
      const auto taken = codec::cuda::check_item(owned.back()->item);
      ASSERT_TRUE(taken) << taken.error().to_string();
      items.push_back(owned.back()->item);
      if (owned.size() % 5 == 0) items.push_back(neighbour.item);
    }
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < items.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "item " << i << " at scale " << scale);
      ASSERT_EQ(describe(transcoder.result(i).status), "");
      if (items[i].file != neighbour.item.file) expect_coefficients(transcoder, i, items[i]);
    }
  }
}

/// Bytes of each plane of each item.
std::vector<std::vector<Bytes>> planes_of(Transcoder& transcoder, std::span<const Item> items) {
  EXPECT_TRUE(transcoder.enqueue(items));
  EXPECT_TRUE(transcoder.wait());
  std::vector<std::vector<Bytes>> all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(describe(transcoder.result(i).status), "");
    auto& planes = all.emplace_back();
    for (int c = 0; c < items[i].file->frame.component_count; ++c) {
      planes.push_back(download(transcoder.plane(i, static_cast<std::size_t>(c))));
    }
  }
  return all;
}

/// The choice between host threads and the device must not show.
TEST_F(Progressive, StreamsAreThoseOfCoefficientsFromTheHost) {
  std::vector<std::unique_ptr<OwnedItem>> owned;
  std::vector<Item> items;
  for (const Bytes& bytes : pictures()) {
    owned.push_back(std::make_unique<OwnedItem>(bytes, resize_to(33, 25)));
    if (!codec::cuda::check_item(owned.back()->item)) continue;  // CMYK without its converter
    items.push_back(owned.back()->item);
    owned.back()->use_coefficients();
    items.push_back(owned.back()->item);
  }
  ASSERT_GT(items.size(), 40u);
  for (const char* lanes : {"chain_lanes=1", "chain_lanes=32"}) {
    codec::cuda::Tuning tuning;
    ASSERT_TRUE(codec::cuda::tune(tuning, lanes));
    Transcoder transcoder = value_of(Transcoder::make(false, tuning));
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const auto here = transcoder.result(i);
      const auto host = transcoder.result(i + 1);
      ASSERT_EQ(describe(here.status), "") << i;
      EXPECT_TRUE(std::ranges::equal(here.bytes, host.bytes)) << i;
    }
  }
}

TEST_F(Progressive, PinnedFilesAreReadFromWhereTheyLie) {
  sample::Spec spec{131, 97, JCS_YCbCr, 2, 2};
  spec.progressive = true;
  Transcoder transcoder = value_of(Transcoder::make());
  const Bytes bytes = draw(spec);
  const OwnedItem plain(bytes, 2);
  const auto staged = planes_of(transcoder, {&plain.item, 1});
  gpu::Buffer memory = value_of(
      gpu::Buffer::make(gpu::BufferKind::kPinned, bytes.size() + codec::kPinnedGuardBytes + 64));
  for (const std::size_t at : {0u, 7u, 30u}) {
    std::fill_n(memory.data(), memory.bytes(), std::uint8_t{0xFF});
    OwnedItem item(bytes, 2);
    (void)item.pin(memory.data() + at);
    EXPECT_EQ(planes_of(transcoder, {&item.item, 1}), staged) << at;
  }
}

/// A file with other bytes in one place.
Bytes replace(const Bytes& file, std::size_t at, std::size_t count, const Bytes& by) {
  Bytes out(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(at));
  out.insert(out.end(), by.begin(), by.end());
  out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(at + count), file.end());
  return out;
}

/// Microseconds of a stage, over all batches of an engine.
double stage_us(const Engine& engine, std::string_view stage) {
  for (const StageTotal& total : engine.stats().stages) {
    if (total.name == stage) return total.us;
  }
  return 0;
}

/// Many at once, which the device decodes, against one at a time, which a host thread does; with
/// damaged ones, which must be answered alike too.
TEST_F(Progressive, LoadDoesNotShowInAnEnginesAnswers) {
  EngineOptions options;
  options.codec = CodecKind::kCuda;
  options.threads = 1;
  options.streams = 2;
  options.timed = true;
  Engine engine = value_of(Engine::make(options));
  sample::Spec spec{48, 40, JCS_YCbCr, 2, 2, 85};
  spec.progressive = true;
  std::vector<Bytes> files{draw(spec, 1), draw(spec, 2)};
  const jpeg::Scan last = value_of(jpeg::parse(files[0], {})).scans.back();
  files.push_back(replace(files[0], last.entropy_offset + last.entropy_bytes / 2, 3, {}));
  ResizeOptions wish = resize_to(20, 17);
  wish.limits.deadline_ms = 600'000;  // an emulated device takes its time
  std::vector<Resized> alone;
  for (const Bytes& file : files) alone.push_back(value_of(engine.resize(file, wish)));
  ASSERT_EQ(stage_us(engine, "ac"), 0);
  constexpr std::size_t kRequests = 480;
  std::vector<std::promise<Result<Resized>>> answers(kRequests);
  std::vector<EngineRequest> requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests.push_back({files[i % files.size()], wish, [&answers, i](Result<Resized> made) {
                          answers[i].set_value(std::move(made));
                        }});
  }
  engine.submit(requests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    SCOPED_TRACE(i);
    const Resized made = value_of(answers[i].get_future().get());
    const Resized& expected = alone[i % files.size()];
    EXPECT_EQ(made.bytes, expected.bytes);
    EXPECT_EQ(made.report.codec, expected.report.codec);
    EXPECT_EQ(made.report.warnings.size(), expected.report.warnings.size());
  }
  EXPECT_GT(stage_us(engine, "ac"), 0);
  EXPECT_EQ(engine.stats().fallbacks, 0u);
}

/// Scans cut short, scans that lack a byte or have one too many, other bytes.
std::vector<Bytes> damaged(const Bytes& file, std::size_t step) {
  std::vector<Bytes> all;
  std::mt19937 random(7);
  for (const jpeg::Scan& scan : value_of(jpeg::parse(file, {})).scans) {
    const std::size_t end = scan.entropy_offset + scan.entropy_bytes;
    for (std::size_t at = scan.entropy_offset; at < end; at += step) {
      all.push_back(replace(file, at, end - at, {}));
      all.push_back(replace(file, at, 1, {}));
      all.push_back(replace(file, at, 0, {0x5A}));
      all.push_back(replace(file, at, 1, {static_cast<std::uint8_t>(random() % 255)}));
    }
    all.push_back(replace(file, end, 0, {0x00}));
    all.push_back(replace(file, end, 0, {0xFF, 0xD0}));
    all.push_back(replace(file, end, 0, {0xFF}));
  }
  return all;
}

class ProgressiveAttack : public GpuTestWith<int> {};

TEST_P(ProgressiveAttack, DamageIsGivenUpAndHarmsNoNeighbour) {
  sample::Spec spec{60, 44, JCS_YCbCr, 2, 2, 85};
  spec.progressive = true;
  spec.restart_mcus = GetParam();
  const Bytes file = draw(spec);
  const OwnedItem good(file, 4);
  std::vector<std::unique_ptr<OwnedItem>> owned;
  std::vector<Item> items{good.item};
  for (Bytes& bytes : damaged(file, 97)) {
    if (!jpeg::parse(bytes, {})) continue;
    auto item = std::make_unique<OwnedItem>(std::move(bytes), 4);
    if (!codec::cuda::check_item(item->item)) continue;
    items.push_back(item->item);
    owned.push_back(std::move(item));
    if (owned.size() % 8 == 0) items.push_back(good.item);
  }
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue(items));
  ASSERT_TRUE(transcoder.wait());
  std::size_t given_up = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE(i);
    const std::uint32_t status = transcoder.result(i).status;
    if (items[i].file == good.item.file) {
      ASSERT_EQ(describe(status), "");
    }
    if (status != 0) {
      ++given_up;
    } else {
      expect_coefficients(transcoder, i, items[i]);
    }
  }
  EXPECT_GT(given_up, owned.size() / 2);
  EXPECT_GT(owned.size(), 60u);
}

INSTANTIATE_TEST_SUITE_P(All, ProgressiveAttack, testing::Values(0, 3),
                         [](const auto& cell) { return "restart" + std::to_string(cell.param); });

/// A picture of one block, in whose last refinement 0 means a coefficient of two bits and 10 the
/// end of the block, and whose data is so many zeros.
Bytes with_two_bits(std::size_t data_bytes) {
  sample::Spec spec{8, 8, JCS_GRAYSCALE, 1, 1};
  spec.progressive = true;
  const Bytes file = draw(spec);
  const jpeg::Scan last = value_of(jpeg::parse(file, {})).scans.back();
  EXPECT_EQ(last.approx_high, 1);
  std::size_t table = last.offset;
  while (file[table] != 0xFF || file[table + 1] != 0xC4) --table;
  Bytes codes{0xFF, 0xC4, 0, 21, file[table + 4], 1, 1};
  codes.resize(21);
  codes.insert(codes.end(), {0x02, 0x00});
  const Bytes made = replace(file, last.entropy_offset, last.entropy_bytes, Bytes(data_bytes));
  return replace(made, table, 2u + file[table + 2] * 256u + file[table + 3], codes);
}

/// A refinement sends one bit; its code for two must not be taken for another one.
TEST_F(Progressive, RefinementsOfTwoBitsAreGivenUp) {
  Transcoder transcoder = value_of(Transcoder::make());
  for (std::size_t bytes = 1; bytes <= 12; ++bytes) {
    const OwnedItem bad(with_two_bits(bytes), 8);
    ASSERT_TRUE(codec::cuda::check_item(bad.item));
    ASSERT_TRUE(transcoder.enqueue({&bad.item, 1}));
    ASSERT_TRUE(transcoder.wait());
    EXPECT_NE(describe(transcoder.result(0).status), "") << bytes;
  }
}

/// Why a script is not for the device; empty where it is.
std::string fault_of(const Script& script) {
  sample::Spec spec{16, 16, JCS_YCbCr, 1, 1};
  spec.script = script;
  const Bytes bytes = draw(spec);
  return codec::cuda::find_progressive_fault(value_of(jpeg::parse(bytes, {})));
}

TEST(ProgressiveScripts, OnlyWholeOnesInOrderAreTaken) {
  EXPECT_EQ(fault_of(bands_only()), "");
  EXPECT_EQ(fault_of(whole(many_refinements())), "");
  EXPECT_EQ(fault_of(mixed_dc()), "");
  EXPECT_EQ(fault_of(many_refinements()), "without the last bits of some coefficients");
  const Script first_only{{3, {0, 1, 2}, 0, 0, 0, 0}};
  EXPECT_EQ(fault_of(first_only), "without the last bits of some coefficients");
  Script many{{3, {0, 1, 2}, 0, 0, 0, 0}};
  for (int k = 1; k < 20; ++k) add_ac(many, k, k, 0, 0);
  add_ac(many, 20, 63, 0, 0);
  EXPECT_EQ(fault_of(many), "of 61 scans; at most 32");
}

/// libjpeg writes no such script, so one is made by exchanging scans.
TEST(ProgressiveScripts, ScansOutOfOrderAreNotTaken) {
  sample::Spec spec{40, 40, JCS_GRAYSCALE, 1, 1};
  spec.progressive = true;
  const Bytes bytes = draw(spec);
  const jpeg::JpegFile file = value_of(jpeg::parse(bytes, {}));
  EXPECT_EQ(codec::cuda::find_progressive_fault(file), "");
  for (std::size_t i = 0; i + 1 < file.scans.size(); ++i) {
    jpeg::JpegFile other = file;
    other.scans.erase(other.scans.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(codec::cuda::find_progressive_fault(other), "") << "without scan " << i;
    other = file;
    other.scans.push_back(other.scans[i]);
    EXPECT_EQ(codec::cuda::find_progressive_fault(other), "with scans out of order") << i;
  }
}

TEST(ProgressiveScripts, ChainsHaveABound) {
  sample::Spec spec{40, 40, JCS_GRAYSCALE, 1, 1};
  spec.progressive = true;
  const Bytes bytes = draw(spec);
  jpeg::JpegFile file = value_of(jpeg::parse(bytes, {}));
  file.frame.components[0].width_blocks = 2'000'000;
  file.frame.components[0].height_blocks = 3;
  EXPECT_THAT(codec::cuda::find_progressive_fault(file), testing::HasSubstr("blocks"));
}

}  // namespace
}  // namespace framewire::gpu_tests
