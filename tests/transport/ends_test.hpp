// What tests of both ends of a connection share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <chrono>
#include <memory>
#include <string>
#include "transport/connections.hpp"

namespace framewire::transport::testing {

/// The parameter names the connection.
class EndsTest : public ::testing::TestWithParam<std::string> {
 protected:
  Channel& near() { return ends_->near(); }
  std::string far(const std::string& command) { return ends_->far(command); }

  template <typename Predicate>
  bool until(Predicate&& predicate, int ms = 10'000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (!predicate()) {
      if (std::chrono::steady_clock::now() > end) return false;
      ends_->step();
    }
    return true;
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
    return near().finish(*transfer);
  }

  std::unique_ptr<Ends> ends_;
  std::string offer_;
};

}  // namespace framewire::transport::testing
