// A channel is closed, and goes, also where there is no memory left for saying so.
#include <gtest/gtest.h>
#include <chrono>
#include <framewire/transport.hpp>
#include <optional>
#include <tests/service/support/failing_memory.hpp>
#include <utility>
#include <vector>

namespace framewire::transport {
namespace {

using service::test::FailingMemory;

constexpr std::size_t kBytes = 4096;

/// Two ends with payloads under way from the first to the second, which has taken none.
struct Ends {
  std::vector<Region> regions;
  std::optional<Channel> first;
  std::optional<Channel> second;
};

Region region() { return Region::allocate_host(kBytes).value(); }

Ends make_ends() {
  auto pair = connect_loopback().value();
  Ends ends;
  ends.first.emplace(std::move(pair.first));
  ends.second.emplace(std::move(pair.second));
  for (int i = 0; i < 4; ++i) {
    ends.regions.push_back(region());
    EXPECT_TRUE(ends.second->offer(ends.regions.back(), 0, kBytes));
  }
  ends.second->idle(0);  // which sends what has been posted
  while (ends.first->credits(Direction::kPut) < 4) ends.first->progress();
  for (int i = 0; i < 4; ++i) {
    ends.regions.push_back(region());
    const auto lease = ends.first->take_lease(Direction::kPut);
    EXPECT_TRUE(ends.first->put(lease.value(), ends.regions.back(), 0, kBytes));
  }
  return ends;
}

/// Ends one end while the n-th allocation fails, for each n.
/// @param end  what ends it
template <typename End>
void exhaust(const End& end) {
  int failures = 0;
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 100);
    Ends ends = make_ends();
    {
      const FailingMemory memory(n);
      end(ends);
      failed = memory.failed();
    }
    failures += failed ? 1 : 0;
    // Whichever end is left learns of it.
    for (auto* const left : {&ends.first, &ends.second}) {
      if (!*left) continue;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!(*left)->lost() && std::chrono::steady_clock::now() < until) (*left)->progress();
      ASSERT_TRUE((*left)->lost()) << "allocation " << n;
      EXPECT_EQ((*left)->lost()->code(), StatusCode::kPeerLost);
    }
  }
  EXPECT_GE(failures, 1);
}

TEST(AttackClose, WithoutMemoryForIt) {
  exhaust([](Ends& ends) { ends.first->close(); });
  exhaust([](Ends& ends) { ends.second->close(); });
}

TEST(AttackClose, GoingWithoutMemoryForIt) {
  exhaust([](Ends& ends) { ends.first.reset(); });
  exhaust([](Ends& ends) { ends.second.reset(); });
}

}  // namespace
}  // namespace framewire::transport
