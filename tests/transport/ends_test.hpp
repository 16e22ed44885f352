// What tests of both ends of a connection share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <chrono>
#include <memory>
#include <string>
#include <tests/transport/connections.hpp>

namespace framewire::transport::testing {

/// How long something is waited for that is to come about at all: a machine may be slow and busy.
inline constexpr int kPatience_ms = 60'000;

/// Lets both ends go on until that is so. @return whether it came about in time
template <typename Predicate>
bool until(Ends& ends, Predicate&& predicate, int ms = kPatience_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ends.step();
  }
  return true;
}

/// A lease on the first bytes of the far end's memory, for the near end to put there.
inline Lease lease_to_put(Ends& ends, std::uint64_t bytes, int ttl_ms = 20'000) {
  ends.far(fmt::format("offer put 0 {} {}", bytes, ttl_ms));
  EXPECT_TRUE(until(ends, [&] { return ends.near().credits(Direction::kPut) > 0; }));
  return ends.near().take_lease(Direction::kPut).value();
}

/// Puts the first bytes of a region there, and waits for that.
inline Result<Completion> put_first(Ends& ends, const Region& memory, std::uint64_t bytes) {
  const auto put = ends.near().put(lease_to_put(ends, bytes), memory, 0, bytes);
  if (!put) return fail(put.error());
  EXPECT_TRUE(until(ends, [&] { return ends.near().done(*put); }));
  return ends.near().take_result(*put);
}

/// The parameter names the connection.
class EndsTest : public ::testing::TestWithParam<std::string> {
 protected:
  Channel& near() { return ends_->near(); }
  std::string far(const std::string& command) { return ends_->far(command); }

  template <typename Predicate>
  bool until(Predicate&& predicate, int ms = kPatience_ms) {
    return testing::until(*ends_, predicate, ms);
  }

  // A lease on [offset, offset + length) of the far end's memory, and its number there.
  Lease lease(Direction direction, std::uint64_t offset, std::uint64_t length,
              int ttl_ms = 20'000) {
    offer_ = far(fmt::format("offer {} {} {} {}", direction == Direction::kPut ? "put" : "get",
                             offset, length, ttl_ms));
    EXPECT_TRUE(until([&] { return near().credits(direction) > 0; })) << offer_;
    return near().take_lease(direction).value();
  }
  Result<Completion> result(const Result<Transfer>& transfer) {
    if (!transfer) return fail(transfer.error());
    EXPECT_TRUE(until([&] { return near().done(*transfer); }));
    return near().take_result(*transfer);
  }

  std::unique_ptr<Ends> ends_;
  std::string offer_;
};

}  // namespace framewire::transport::testing
