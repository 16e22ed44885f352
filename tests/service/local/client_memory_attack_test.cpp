// Memory that runs out anywhere costs requests, and never leaves one unanswered.
#include <algorithm>
#include <array>
#include <batch/runner.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <tests/service/support/failing_memory.hpp>

namespace framewire::service::local::test {
namespace {

using service::test::FailingMemory;

class LocalMemoryAttack : public LocalServerTest {
 protected:
  /// Hands in a group with the n-th allocation failing, for each n until none fails any more. The
  /// client waits for all answers, or the test does not end.
  void exhaust(const std::function<void(Client&, std::atomic<int>&)>& hand_in, int count,
               std::uint32_t slots = small_client().slots) {
    start();
    ClientOptions options = small_client();
    options.slots = slots;
    options.input_bytes = 256 << 10;
    options.output_bytes = 128 << 10;
    for (long n = 1;; ++n) {
      ASSERT_LT(n, 5'000) << "allocations without an end";
      Client client = connect(options);
      std::atomic<int> answers{0};
      bool thrown = false;
      bool failed = false;
      {
        const FailingMemory memory(n);
        try {
          hand_in(client, answers);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        client.drain();
        failed = memory.failed();
      }
      EXPECT_EQ(answers, thrown ? 0 : count) << "allocation " << n;
      if (!failed) return;
    }
  }
};

TEST_F(LocalMemoryAttack, EveryAllocationOfAGroupFails) {
  const Bytes jpeg = photo();
  const Bytes large(256 << 10);  // refused, with a text that takes memory
  const Bytes damaged(100);      // answered with an error
  exhaust(
      [&](Client& client, std::atomic<int>& answers) {
        std::array<EngineRequest, 3> requests;
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const std::array<std::span<const std::uint8_t>, 3> inputs{jpeg, large, damaged};
          requests[i] = {inputs[i], width(20), [&answers](const Result<Resized>&) { ++answers; }};
        }
        client.submit(requests);
      },
      3);
}

TEST_F(LocalMemoryAttack, EveryAllocationOfAGroupBeyondAllSlotsFails) {
  const Bytes jpeg = photo();
  exhaust(
      [&](Client& client, std::atomic<int>& answers) {
        std::array<EngineRequest, 5> requests;
        for (EngineRequest& request : requests) {
          request = {jpeg, width(20), [&answers](const Result<Resized>&) { ++answers; }};
        }
        client.submit(requests);
      },
      5, 2);
}

TEST_F(LocalMemoryAttack, EveryAllocationOfAViewFails) {
  const Bytes jpeg = photo();
  exhaust(
      [&](Client& client, std::atomic<int>& answers) {
        client.submit_view(jpeg, width(20), [&answers](const Result<ResizedView>&) { ++answers; });
      },
      1);
}

/// A batch frees its inputs where it is told that they were not handed in: then none may have been.
TEST_F(LocalMemoryAttack, WhatABatchCouldNotBeginNobodyReads) {
  const Bytes jpeg = photo();
  const std::vector<std::span<const std::uint8_t>> files(3, jpeg);
  start();
  Client client = connect();
  const batch::Hooks hooks = batch::hooks_of(client);
  int thrown = 0;
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 5'000) << "allocations without an end";
    const std::uint64_t before = engine_->stats().host_images;
    batch::PendingResults begun;
    {
      const FailingMemory memory(n);
      try {
        begun = hooks.begin_all(files, width(20));
      } catch (const std::bad_alloc&) {
        ++thrown;
      }
      client.drain();
      failed = memory.failed();
    }
    if (begun) {
      EXPECT_EQ(begun().size(), files.size());
    } else {
      ASSERT_EQ(engine_->stats().host_images, before) << "allocation " << n;
    }
  }
  EXPECT_GT(thrown, 3);
}

}  // namespace
}  // namespace framewire::service::local::test
