#include <gtest/gtest.h>
#include <algorithm>
#include <base/stream_copy.hpp>
#include <vector>

namespace framewire {
namespace {

/// Copies every length to every offset within two cache lines, and checks that the bytes around the
/// target stay.
TEST(StreamCopy, CopiesWhatItIsGivenAndNothingElse) {
  constexpr std::size_t kMaxBytes = 700;
  std::vector<std::uint8_t> from(kMaxBytes + 64);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 7 + 1);
  for (std::size_t place = 0; place < 128; ++place) {
    for (std::size_t bytes = 0; bytes <= kMaxBytes; ++bytes) {
      std::vector<std::uint8_t> to(kMaxBytes + 256, 0xA5);
      std::vector<std::uint8_t> expected = to;
      const std::uint8_t* source = from.data() + place % 64;
      std::copy_n(source, bytes, expected.data() + place);
      base::stream_copy(to.data() + place, source, bytes);
      ASSERT_EQ(to, expected) << bytes << " bytes to " << place;
    }
  }
}

}  // namespace
}  // namespace framewire
