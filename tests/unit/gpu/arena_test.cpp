// One allocation for many slices: none overlaps another, and what is uploaded lies alike on both
// sides.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/upload_list.hpp>
#include <random>
#include <vector>

namespace framewire::gpu {
namespace {

/// A buffer that begins as an allocation of a device does.
class Allocation {
 public:
  explicit Allocation(std::uint64_t bytes) : bytes_(bytes + kAlignment) {}
  [[nodiscard]] std::uint8_t* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (kAlignment - at % kAlignment) % kAlignment;
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

bool is_early(Part part) { return part == Part::kEarlyZeroed || part == Part::kEarly; }

TEST(Arena, SlicesAreAlignedAndApart) {
  std::mt19937 random(1);
  Arena arena;
  std::vector<Slice<std::uint16_t>> slices;
  std::vector<std::uint64_t> alignments;
  for (int i = 0; i < 500; ++i) {
    const auto part = static_cast<Part>(random() % kPartCount);
    alignments.push_back(random() % 2 == 0 ? kAlignment : kVectorAlignment);
    slices.push_back(arena.add<std::uint16_t>(part, random() % 100, alignments.back()));
  }
  Allocation allocation(arena.total_bytes());
  const Memory memory(allocation.data(), arena);
  using Ranges = std::vector<std::pair<std::uint8_t*, std::uint8_t*>>;
  Ranges without_late;
  Ranges without_early;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    auto* const begin = reinterpret_cast<std::uint8_t*>(memory.at(slices[i]));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % alignments[i], 0U);
    EXPECT_GE(begin, allocation.data());
    EXPECT_LE(begin + slices[i].bytes(), allocation.data() + arena.total_bytes());
    if (slices[i].count == 0) continue;
    const std::pair range(begin, begin + slices[i].bytes());
    if (slices[i].part != Part::kLate) without_late.push_back(range);
    if (!is_early(slices[i].part)) without_early.push_back(range);
  }
  for (Ranges* ranges : {&without_late, &without_early}) {
    std::ranges::sort(*ranges);
    for (std::size_t i = 1; i < ranges->size(); ++i) {
      EXPECT_LE((*ranges)[i - 1].second, (*ranges)[i].first);
    }
  }
}

TEST(Arena, EarlyPartsGiveTheirPlaceToTheLateOne) {
  Arena arena;
  static_cast<void>(arena.add<std::uint8_t>(Part::kScratch, 300));
  const auto zeroed = arena.add<std::uint8_t>(Part::kZeroed, 300);
  const std::uint64_t before = arena.total_bytes();
  const auto early_zeroed = arena.add<std::uint8_t>(Part::kEarlyZeroed, 1000);
  const auto early = arena.add<std::uint8_t>(Part::kEarly, 5000);
  const std::uint64_t with_early = arena.total_bytes();
  const auto late = arena.add<std::uint8_t>(Part::kLate, 3000);
  EXPECT_EQ(arena.total_bytes(), with_early);
  Allocation allocation(with_early);
  const Memory memory(allocation.data(), arena);
  EXPECT_EQ(memory.at(late), memory.at(early_zeroed));
  EXPECT_LE(memory.at(early_zeroed) + 1000, memory.at(early));
  const std::uint8_t* const zeroes = memory.start(Part::kZeroed);
  EXPECT_EQ(zeroes, memory.at(zeroed));
  EXPECT_EQ(zeroes + arena.zeroed_bytes(), memory.at(early_zeroed) + 1000);
  static_cast<void>(arena.add<std::uint8_t>(Part::kLate, 7000));
  EXPECT_GT(arena.total_bytes(), with_early);
  EXPECT_LT(arena.total_bytes(), with_early + 7000);
  EXPECT_GE(arena.total_bytes(), before + 10'000);
}

TEST(Arena, TheUploadedPartComesFirstAndLiesAlikeOnTheHost) {
  Arena arena;
  const auto before = arena.add<std::uint32_t>(Part::kScratch, 7);
  const auto uploaded = arena.add<std::uint32_t>(Part::kUploaded, 3);
  const auto zeroed = arena.add<std::uint32_t>(Part::kZeroed, 5);
  Allocation device(arena.total_bytes());
  Allocation host(arena.bytes(Part::kUploaded));
  const Memory there(device.data(), arena);
  const Memory here(host.data(), arena);
  EXPECT_EQ(reinterpret_cast<std::uint8_t*>(there.at(uploaded)), device.data());
  EXPECT_EQ(reinterpret_cast<std::uint8_t*>(here.at(uploaded)), host.data());
  EXPECT_LT(there.at(before), there.at(zeroed));
  EXPECT_EQ(there.start(Part::kUploaded), device.data());
}

TEST(Arena, ASliceOfNothingHasNoAddressWhereNullMeansNone) {
  Arena arena;
  const auto none = arena.add<float>(Part::kScratch, 0);
  Allocation allocation(arena.total_bytes());
  EXPECT_EQ(Memory(allocation.data(), arena).at_or_null(none), nullptr);
}

TEST(Arena, TheLastSliceGrows) {
  Arena arena;
  auto slice = arena.add<std::uint8_t>(Part::kFetched, 0);
  arena.extend(Part::kFetched, 1000);
  slice.count = 1000;
  const auto next = arena.add<std::uint8_t>(Part::kFetched, 1);
  EXPECT_GE(next.offset_bytes, slice.offset_bytes + slice.count);
}

/// As stages have them: a slice on the way in, an address on the way out.
struct Planned {
  Slice<std::uint32_t> words;
  std::uint32_t number = 0;
  struct Seen {
    std::uint32_t* words;
    std::uint32_t number;
  };
  [[nodiscard]] Seen resolve(const Memory& device) const { return {device.at(words), number}; }
};

TEST(UploadList, EntriesAreResolvedOnceEverythingHasItsPlace) {
  Arena arena;
  UploadList<Planned> list;
  UploadList<std::uint64_t> plain;
  for (std::uint32_t i = 0; i < 20; ++i) {
    list.add({arena.add<std::uint32_t>(Part::kScratch, i + 1), i});
    plain.add(i * 3);
  }
  const std::uint64_t bound = list.bytes() + plain.bytes();
  const std::uint64_t empty = arena.bytes(Part::kUploaded);
  list.lay_out(arena);
  plain.lay_out(arena);
  EXPECT_LE(arena.bytes(Part::kUploaded) - empty, bound);
  Allocation device(arena.total_bytes());
  Allocation host(arena.bytes(Part::kUploaded));
  const Memory there(device.data(), arena);
  const Memory here(host.data(), arena);
  list.write(here, there);
  plain.write(here, there);
  std::copy_n(host.data(), arena.bytes(Part::kUploaded), device.data());
  ASSERT_EQ(list.size(), 20U);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(list.at(there)[i].number, i);
    EXPECT_EQ(list.at(there)[i].words, there.at(list[i].words));
    EXPECT_EQ(plain.at(there)[i], i * 3);
  }
}

}  // namespace
}  // namespace framewire::gpu
