#include <gtest/gtest.h>
#include <transport/checksum.hpp>
#include <utility>
#include <vector>

namespace framewire::transport {
namespace {

// Manifests hold such values, and are compared with those of other machines. Computed by
// libxxhash 0.8.1 without its choice of instructions.
TEST(Checksum, IsTheSameByAnyInstructions) {
  for (const auto& [count, expected] :
       std::vector<std::pair<std::size_t, std::uint64_t>>{{0, 0x2d06800538d394c2},
                                                          {1, 0xc44bdff4074eecdb},
                                                          {16, 0xbe6f584370c02738},
                                                          {100, 0xa7edbc519b7029bc},
                                                          {240, 0xb953bd3736f205a3},
                                                          {241, 0x40c06d5ad2ae9a62},
                                                          {1024, 0x895bc47ec30df0c1},
                                                          {100000, 0x505f07ffadfd03fc}}) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * i + 7 * i / 5);
    EXPECT_EQ(checksum_of(bytes.data(), count), expected) << count;
  }
}

}  // namespace
}  // namespace framewire::transport
