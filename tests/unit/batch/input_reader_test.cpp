// Inputs of every size, read in pieces of any size into a device's memory or elsewhere.
#include <gtest/gtest.h>
#include <algorithm>
#include <base/xxh3.hpp>
#include <batch/input_reader.hpp>
#include <cstring>
#include <vector>

namespace framewire::batch {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// An input of so many bytes, which hands out at most `step` of them at a time.
class Pieces final : public OpenInput {
 public:
  Pieces(std::size_t size, std::size_t step, std::optional<std::uint64_t> told) : step_(step) {
    facts_.bytes = told;
    for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(i * 7 + 1));
    if (size > 0) bytes_[0] = 0xFF;
    if (size > 1) bytes_[1] = 0xD8;
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] const InputFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const std::size_t count = std::min({into.size(), step_, bytes_.size() - at_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    return count;
  }

 private:
  Bytes bytes_;
  InputFacts facts_;
  std::size_t step_;
  std::size_t at_ = 0;
};

constexpr std::size_t kPiece = 128u << 10;
constexpr std::size_t kSizes[] = {2,          3,          4'000,          kPiece - 1, kPiece,
                                  kPiece + 1, kPiece + 2, 2 * kPiece - 1, 2 * kPiece, 300'001};

/// Reads `input`, and looks at what comes of it. @return where the bytes lie
const std::uint8_t* expect_whole(Pieces& input, std::span<std::uint8_t> room, Bytes& buffer) {
  InputReader reader(input, "input", 1u << 20, true);
  const auto jpeg = reader.starts_like_jpeg();
  EXPECT_TRUE(jpeg && *jpeg);
  const auto got = reader.read(room, buffer);
  if (!got) {
    ADD_FAILURE() << got.error().to_string();
    return nullptr;
  }
  const Bytes& wanted = input.bytes();
  EXPECT_TRUE(std::ranges::equal(*got, wanted));
  EXPECT_EQ(reader.hash(), XXH3_64bits(wanted.data(), wanted.size()));
  return got->data();
}

TEST(InputReader, FillsRoomThatIsLargeEnough) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t step : {std::size_t{1'000'000}, std::size_t{70'001}, kPiece / 2}) {
      SCOPED_TRACE(testing::Message() << size << " by " << step);
      Pieces input(size, step, size);
      Bytes memory(size + 300, 0xA5);
      Bytes buffer;
      const std::span room = std::span(memory).subspan(13, size + 1);
      EXPECT_EQ(expect_whole(input, room, buffer), room.data());
      EXPECT_TRUE(
          std::all_of(memory.begin(), memory.begin() + 13, [](int b) { return b == 0xA5; }));
      EXPECT_TRUE(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(13 + size + 1),
                              memory.end(), [](int b) { return b == 0xA5; }));
    }
  }
}

TEST(InputReader, GoesElsewhereWhereRoomIsTooSmall) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t less : {std::size_t{0}, std::size_t{1}, size / 2}) {
      // As told beforehand, and as it turns out: an input may grow, or say nothing.
      for (const std::optional<std::uint64_t> told :
           {std::optional<std::uint64_t>(size), std::optional<std::uint64_t>(2),
            std::optional<std::uint64_t>()}) {
        SCOPED_TRACE(testing::Message()
                     << size << " less " << less << " told " << told.value_or(0));
        Pieces input(size, 50'000, told);
        Bytes room(size - less);
        Bytes buffer;
        const std::uint8_t* const at = expect_whole(input, room, buffer);
        EXPECT_NE(at, room.data());
      }
    }
  }
}

TEST(InputReader, EndsAtTheLimitInRoomToo) {
  Pieces input(300'000, 10'000, std::nullopt);
  Bytes room(400'000);
  Bytes buffer;
  InputReader reader(input, "input", 200'000, false);
  ASSERT_TRUE(reader.starts_like_jpeg());
  const auto got = reader.read(room, buffer);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace framewire::batch
