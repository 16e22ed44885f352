// What drain() and the destructor of a client wait for.
#include <atomic>
#include <client/outstanding.hpp>
#include <functional>
#include <future>
#include <memory>
#include <tests/service/local/local_server_fixture.hpp>
#include <thread>

namespace framewire::service::local::test {
namespace {

using client::Outstanding;

TEST(Outstanding, WaitsForWhatBeganBefore) {
  Outstanding outstanding;
  outstanding.wait_for_earlier();
  outstanding.wait_for_all();
  auto first = outstanding.begin_request();
  auto one = std::async(std::launch::async, [&] { outstanding.wait_for_earlier(); });
  constexpr std::chrono::milliseconds kShort{50};
  EXPECT_EQ(one.wait_for(kShort), std::future_status::timeout);
  auto second = outstanding.begin_request();
  auto other = std::async(std::launch::async, [&] { outstanding.wait_for_earlier(); });
  EXPECT_EQ(other.wait_for(kShort), std::future_status::timeout);
  auto third = outstanding.begin_request();
  const auto call = outstanding.begin_call();
  first = {};
  EXPECT_EQ(one.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(other.wait_for(kShort), std::future_status::timeout);
  second = {};
  EXPECT_EQ(other.wait_for(kPatience), std::future_status::ready);
  third = std::move(second);  // ends the third, and holds nothing
  outstanding.wait_for_earlier();
}

TEST(Outstanding, WaitsForAllAlsoForCalls) {
  Outstanding outstanding;
  auto call = outstanding.begin_call();
  auto all = std::async(std::launch::async, [&] { outstanding.wait_for_all(); });
  auto request = outstanding.begin_request();
  call = {};
  EXPECT_EQ(all.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  request = {};
  EXPECT_EQ(all.wait_for(kPatience), std::future_status::ready);
}

using LocalDrain = LocalServerTest;

/// A request whose answer submits the next one, until it is stopped.
struct Chain {
  EngineRequest request() {
    return {jpeg, width(20), [this](const Result<Resized>&) {
              ++answered;
              if (stop) return;
              EngineRequest next = request();
              EXPECT_TRUE(client.try_submit(next));
            }};
  }
  Client& client;
  Bytes jpeg = photo();
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
};

TEST_F(LocalDrain, WaitsForNothingThatCameLater) {
  start();
  Client client = connect();
  Chain chain{client};
  for (int i = 0; i < 8; ++i) {
    EngineRequest request = chain.request();
    ASSERT_TRUE(client.try_submit(request));
  }
  auto drained = std::async(std::launch::async, [&] { client.drain(); });
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_GE(chain.answered, 8);
  chain.stop = true;
  client.drain();
}

TEST_F(LocalDrain, ASecondOneWaitsForTheFirstsRequests) {
  start({}, host_engine(1));
  Client client = connect();
  std::atomic<bool> answered{false};
  HeldEngine held(*engine_, 1);
  client.submit(photo(), width(20), [&](const Result<Resized>&) { answered = true; });
  std::vector<std::future<bool>> drained;
  for (int i = 0; i < 3; ++i) {
    drained.push_back(std::async(std::launch::async, [&] {
      client.drain();
      return answered.load();
    }));
  }
  EXPECT_EQ(drained.back().wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held.release();
  for (auto& one : drained) EXPECT_TRUE(one.get());
}

TEST_F(LocalDrain, WhatOnRoomSubmitsWhileTheClientEndsIsAnswered) {
  start();
  ClientOptions options = small_client();
  options.slots = 1;
  auto client = std::make_unique<Client>(connect(options));
  Client* const ending = client.get();
  const Bytes file = photo();
  std::promise<Result<Resized>> last;
  EngineRequest second{file, width(20), [&](Result<Resized> made) { last.set_value(made); }};
  HeldEngine held(*engine_, 2);
  client->submit(file, width(20), [](const Result<Resized>&) {});
  const auto refused = client->try_submit(second, [&] {
    // Until the destructor waits.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(ending->try_submit(second));
  });
  ASSERT_FALSE(refused);
  held.release();
  client.reset();
  auto answer = last.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  const auto made = answer.get();
  EXPECT_TRUE(made) << made.error().to_string();
}

}  // namespace
}  // namespace framewire::service::local::test
