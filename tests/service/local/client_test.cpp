// Client and LocalServer: answers as from an engine in this process.
#include <gmock/gmock.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <framewire/completion_queue.hpp>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <limits>
#include <service/local/fair_share.hpp>
#include <service/local/output_allocator.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <tests/service/local/pictures_and_wishes.hpp>

namespace framewire::service::local::test {
namespace {

using testing::HasSubstr;
using LocalClient = LocalServerTest;

TEST_F(LocalClient, AnswersAreThoseOfAnEngine) {
  start();
  Client client = connect();
  auto files = inputs();
  for (Bytes& file : corpus()) files.push_back(std::move(file));
  ClientOptions large = small_client();
  large.input_bytes = std::uint64_t{32} << 20;
  large.output_bytes = std::uint64_t{16} << 20;
  large.timeout = std::chrono::milliseconds::max();
  Client roomy = connect(large);
  for (const Bytes& file : files) {
    for (const ResizeOptions& options : wishes()) {
      SCOPED_TRACE(to_string(options) + " on " + std::to_string(file.size()) + " bytes");
      Client& one = file.size() < (1u << 20) ? client : roomy;
      expect_equal(one.resize(file, options), engine_->resize(file, options));
      if (file.size() > (1u << 20)) break;  // one wish is enough where it takes long
    }
  }
  EXPECT_FALSE(client.lost());
}

TEST_F(LocalClient, HundredsOfRequestsOfSeveralClientsAreAnsweredOnce) {
  start();
  const auto expected = engine_->resize(photo(), width(80)).value().bytes;
  constexpr int kClients = 4;
  constexpr int kEach = 400;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([&] {
      Client client = connect();
      const Bytes file = photo();
      std::vector<std::atomic<int>> answers(kEach);
      for (int i = 0; i < kEach; i += 50) {
        std::vector<EngineRequest> requests;
        for (int k = i; k < i + 50; ++k) {
          requests.push_back({file, width(80), [&, k](Result<Resized> result) {
                                ++answers[static_cast<std::size_t>(k)];
                                if (result && result->bytes == expected) ++right;
                              }});
        }
        client.submit(requests);
      }
      client.drain();
      for (const auto& count : answers) EXPECT_EQ(count, 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kClients * kEach);
  EXPECT_TRUE(soon([&] { return server_->stats().total_bytes == 0; }));
}

TEST_F(LocalClient, SlicesSinksQueuesAndViewsHoldTheSameStream) {
  start();
  const auto expected = engine_->resize(photo(), width(80)).value().bytes;
  Client client = connect();
  auto slice = client.input_slice(photo().size()).value();
  std::ranges::copy(photo(), slice.bytes.begin());

  Bytes memory(expected.size() + 10);
  std::promise<Result<Resized>> through_sink;
  EngineRequest request{slice.bytes, width(80),
                        [&](Result<Resized> made) { through_sink.set_value(std::move(made)); },
                        OutputSink(memory)};
  client.submit({&request, 1});
  const auto sunk = through_sink.get_future().get();
  ASSERT_TRUE(sunk);
  EXPECT_EQ(sunk->written.data(), memory.data());
  EXPECT_EQ(Bytes(sunk->written.begin(), sunk->written.end()), expected);

  const auto queue = std::make_shared<CompletionQueue>();
  std::vector<EngineRequest> requests(10);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].jpeg = slice.bytes;
    requests[i].options = width(80);
    requests[i].completions = queue;
    requests[i].tag = 100 + i;
  }
  client.submit(requests);
  std::uint64_t tags = 0;
  for (std::size_t count = 0; count < requests.size();) {
    for (const Completion& done : queue->take(10, kPatience)) {
      EXPECT_EQ(done.result.value().bytes, expected);
      tags += done.tag;
      ++count;
    }
  }
  EXPECT_EQ(tags, 1045u);

  std::promise<Result<ResizedView>> seen;
  client.submit_view(slice.bytes, width(80),
                     [&](Result<ResizedView> view) { seen.set_value(std::move(view)); });
  std::optional<Client> gone(std::move(client));
  const auto view = seen.get_future().get().value();
  gone.reset();
  EXPECT_EQ(Bytes(view.bytes.begin(), view.bytes.end()), expected);  // the keeper keeps it
}

TEST_F(LocalClient, ASinkThatIsTooSmallIsAnErrorAsOfAnEngine) {
  start();
  Client client = connect();
  const auto through = [](auto& submitter, std::span<std::uint8_t> memory) {
    std::promise<Result<Resized>> answer;
    const Bytes file = photo();
    EngineRequest request{file, width(80),
                          [&](Result<Resized> made) { answer.set_value(std::move(made)); },
                          OutputSink(memory)};
    submitter.submit({&request, 1});
    return answer.get_future().get();
  };
  Bytes memory(10);
  expect_equal(through(client, memory), through(*engine_, memory));
}

// Views that are kept fill the output area: what has no room waits in the server, in order, and
// nothing is lost.
TEST_F(LocalClient, OutputsThatHaveNoRoomComeLater) {
  start();
  ClientOptions options = small_client();
  options.output_bytes = 64 << 10;
  options.slots = 32;
  Client client = connect(options);
  const Bytes file = photo(400, 300);
  const auto expected = engine_->resize(file, {}).value().bytes;
  ASSERT_GT(expected.size(), std::size_t{6} << 10);  // so that not all have room
  std::mutex mutex;
  std::vector<std::shared_ptr<const void>> kept;
  std::atomic<int> answered{0};
  std::atomic<int> right{0};
  std::atomic<bool> keeps{true};
  constexpr int kCount = 12;
  for (int i = 0; i < kCount; ++i) {
    client.submit_view(file, {}, [&](Result<ResizedView> view) {
      if (view && Bytes(view->bytes.begin(), view->bytes.end()) == expected) ++right;
      const std::lock_guard lock(mutex);
      if (view && keeps) kept.push_back(std::move(view->keeper));
      ++answered;
    });
  }
  const auto fit = static_cast<int>((64 << 10) / OutputAllocator::rounded(expected.size()));
  ASSERT_TRUE(soon([&] { return answered >= fit; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(answered, fit);
  keeps = false;
  std::vector<std::shared_ptr<const void>> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(kept);
  }
  taken.clear();
  client.drain();
  EXPECT_EQ(answered, kCount);
  EXPECT_EQ(right, kCount);
  EXPECT_EQ(client.resize(file, {}).value().bytes, expected);
}

TEST_F(LocalClient, WhatNeverFitsIsTooLarge) {
  start();
  ClientOptions options = small_client();
  options.input_bytes = 128 << 10;
  options.output_bytes = 64 << 10;
  Client client = connect(options);
  const auto input = client.resize(Bytes(100 << 10), {});
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code(), StatusCode::kTooLarge);
  EXPECT_EQ(client.input_slice(100 << 10).error().code(), StatusCode::kTooLarge);
  ResizeOptions large = width(2000);
  large.enlarge = true;
  large.quality = 100;
  const auto output = client.resize(photo(), large);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), StatusCode::kTooLarge);
  EXPECT_THAT(output.error().message(), HasSubstr("65536"));
  EXPECT_TRUE(client.resize(photo(), width(30)));
}

/// A client may lower the server's limits, and raises none of them.
TEST_F(LocalClient, LimitsAreTheServers) {
  LocalServerOptions options;
  options.limits.max_input_pixels = 10'000;
  options.limits.deadline_ms = 5'000;
  start(std::move(options));
  Client client = connect();
  ResizeOptions wanted = width(60);
  wanted.limits.max_input_pixels = 1'000'000'000;
  wanted.limits.deadline_ms = 0;
  const auto large = client.resize(photo(), wanted);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), StatusCode::kTooLarge);
  EXPECT_THAT(large.error().message(), HasSubstr("10000"));
  EXPECT_TRUE(client.resize(photo(90, 80), wanted));
  wanted.limits.max_input_pixels = 1'000;
  const auto lowered = client.resize(photo(90, 80), wanted);
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code(), StatusCode::kTooLarge);
}

TEST_F(LocalClient, SlicesEndWhereTheirHalfDoesAndComeBack) {
  start();
  Client client = connect();
  std::vector<InputSlice> slices;
  for (;;) {
    auto slice = client.input_slice(1 << 20);
    if (!slice) {
      EXPECT_EQ(slice.error().code(), StatusCode::kBusy);
      break;
    }
    slices.push_back(std::move(*slice));
  }
  EXPECT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0].bytes.data() + (1 << 20), slices[1].bytes.data());
  // Copies have a half of their own: nobody who holds slices can be waited for in vain.
  EXPECT_TRUE(client.resize(photo(), width(30)));
  slices.clear();
  EXPECT_TRUE(client.input_slice(4 << 20));
}

TEST_F(LocalClient, TrySubmitTellsOfRoom) {
  start({}, host_engine(1));
  ClientOptions options = small_client();
  options.slots = 4;
  Client client = connect(options);
  const Bytes file = photo(800, 600);
  std::atomic<int> answered{0};
  std::atomic<int> told{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 10; ++i) {
    requests.push_back(
        {file, width(80), [&](Result<Resized> made) { answered += made ? 1 : 100; }});
  }
  HeldEngine held(*engine_, 1);
  const std::size_t taken = client.try_submit(requests, [&] { ++told; });
  EXPECT_EQ(taken, 4u);
  EXPECT_EQ(told, 0);
  held.release();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].done == nullptr, i < taken) << i;
  }
  EXPECT_TRUE(soon([&] { return told == 1; }));
  for (std::span<EngineRequest> rest = std::span(requests).subspan(taken); !rest.empty();) {
    rest = rest.subspan(client.try_submit(rest));
    std::this_thread::yield();
  }
  client.drain();
  EXPECT_EQ(answered, 10);
}

TEST_F(LocalClient, ARequestThatIsCancelledInTheQueueSaysSo) {
  start({}, host_engine(1));
  Client client = connect();
  const Bytes original = photo(1600, 1200);
  // Not copied, so that submit() need not wait for room.
  const InputSlice slice = client.input_slice(original.size()).value();
  std::ranges::copy(original, slice.bytes.begin());
  const std::span<const std::uint8_t> file = slice.bytes;
  std::stop_source stop;
  std::atomic<int> cancelled{0};
  std::atomic<int> answered{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 40; ++i) {
    requests.push_back({file, width(80), [&](Result<Resized> made) {
                          ++answered;
                          if (!made && made.error().code() == StatusCode::kCancelled) ++cancelled;
                        }});
    requests.back().stop = stop.get_token();
  }
  HeldEngine held(*engine_, 1);
  client.submit(requests);
  stop.request_stop();
  EXPECT_TRUE(soon([&] { return cancelled == 40; })) << "while the only thread is held";
  held.release();
  client.drain();
  EXPECT_EQ(answered, 40);
  EngineRequest late{file, width(80), [&](Result<Resized> made) {
                       ++answered;
                       EXPECT_FALSE(made);
                     }};
  late.stop = stop.get_token();  // asked for before it was handed in
  std::vector<EngineRequest> busy;
  for (int i = 0; i < 20; ++i) busy.push_back({file, width(80), [](const Result<Resized>&) {}});
  client.submit(busy);
  client.submit({&late, 1});
  client.drain();
  EXPECT_EQ(answered, 41);
}

TEST_F(LocalClient, DeadlinesCountWhileRequestsWaitInTheServer) {
  start({}, host_engine(1));
  // Room for all of them: those that wait for room here have no deadline yet.
  ClientOptions roomy = small_client();
  roomy.input_bytes = std::uint64_t{256} << 20;
  Client client = connect(roomy);
  const Bytes file = photo(2000, 1500);
  ResizeOptions options = width(80);
  options.limits.deadline_ms = 30;
  std::atomic<int> late{0};
  std::atomic<int> late_in_queue{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 60; ++i) {
    requests.push_back({file, options, [&](Result<Resized> made) {
                          if (made || made.error().code() != StatusCode::kDeadline) return;
                          ++late;
                          if (made.error().subject() == "queue") ++late_in_queue;
                        }});
  }
  client.submit(requests);
  client.drain();
  EXPECT_GT(late, 20);
  EXPECT_GT(late_in_queue, late / 2) << "all but those whose picture took too long";
}

TEST_F(LocalClient, ADrainingServerAnswersWhatItHasTakenAndNothingElse) {
  ClientCounters counters;
  LocalServerOptions counted;
  counted.counters = &counters;
  start(counted, host_engine(1));
  Client client = connect();
  const Bytes file = photo(800, 600);
  std::atomic<int> done{0};
  std::atomic<int> busy{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 30; ++i) {
    requests.push_back({file, width(80), [&](Result<Resized> made) {
                          if (made) ++done;
                          if (!made && made.error().code() == StatusCode::kBusy) ++busy;
                        }});
  }
  HeldEngine held(*engine_, 1);
  client.submit(requests);
  ASSERT_TRUE(soon([&] { return counters.input_bytes == 30 * file.size(); })) << "all are taken";
  auto drained = std::async(std::launch::async, [&] { return server_->drain(kPatience); });
  EXPECT_TRUE(soon([&] { return client.draining(); }));
  EXPECT_EQ(done + busy, 0);
  held.release();
  EXPECT_TRUE(drained.get());
  client.drain();
  EXPECT_EQ(done, 30);
  EXPECT_TRUE(client.draining());
  const auto after = client.resize(file, width(80));
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code(), StatusCode::kBusy);
  EXPECT_THAT(after.error().message(), HasSubstr("draining"));
  EXPECT_FALSE(std::filesystem::exists(folder_.socket()));
  EXPECT_EQ(Client::connect(folder_.socket()).error().code(), StatusCode::kIoError);
  server_.reset();
  const auto lost = client.resize(file, width(80));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), StatusCode::kPeerLost);
}

// One client keeps the engine full; another's few requests do not wait behind all of them.
// Both where the engine is full and where the server hands it no more.
class LocalClientShares : public LocalServerTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Limit, LocalClientShares, testing::Bool(), [](const auto& limit) {
  return limit.param ? "OfTheServer" : "OfTheEngine";
});

TEST_P(LocalClientShares, AGreedyClientLeavesOthersTheirs) {
  LocalServerOptions options;
  EngineOptions engine = host_engine(2);
  if (GetParam()) {
    options.under_way = 8;
    engine.queue = 10'000;
  }
  start(options, engine);
  Client greedy = connect();
  Client modest = connect();
  const Bytes large = photo(1200, 900);
  std::atomic<bool> stop{false};
  std::atomic<int> greedy_done{0};
  std::thread flood([&] {
    while (!stop) {
      greedy.submit(large, width(60), [&](const Result<Resized>&) { ++greedy_done; });
    }
  });
  ASSERT_TRUE(soon([&] { return greedy_done > 40; }));
  std::array<int, 11> meanwhile{};
  for (int& count : meanwhile) {
    std::latch all(4);
    const int before = greedy_done;
    for (int k = 0; k < 4; ++k) {
      modest.submit(large, width(60), [&](const Result<Resized>& made) {
        EXPECT_TRUE(made);
        count = greedy_done - before;
        all.count_down();
      });
    }
    all.wait();
  }
  stop = true;
  flood.join();
  // A queue without shares would have put some 60 of the other's before each round. In some of them
  // the modest one's threads may have waited for a processor.
  std::ranges::sort(meanwhile);
  EXPECT_LT(meanwhile[meanwhile.size() / 2], 40);
}

TEST_F(LocalClient, TheServerAnswersForMoreThanItsMemory) {
  LocalServerOptions options;
  options.max_clients = 2;
  options.slots = 8;
  options.total_bytes = std::uint64_t{20} << 20;
  options.user_share_percent = 100;
  start(options);
  Client first = connect();
  const auto second = Client::connect(folder_.socket(), small_client());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kBusy);
  EXPECT_THAT(second.error().message(), HasSubstr("too many"));
  ClientOptions little = small_client();
  little.input_bytes = little.output_bytes = 1;  // the least there is
  Client third = connect(little);
  EXPECT_EQ(third.input_slice(40 << 10).error().code(), StatusCode::kTooLarge);
  const auto fourth = Client::connect(folder_.socket(), little);
  ASSERT_FALSE(fourth);
  EXPECT_THAT(fourth.error().message(), HasSubstr("2 clients"));
  EXPECT_EQ(server_->stats().clients, 2u);
}

TEST_F(LocalClient, OneUsersConnectionsAndMemoryAreBounded) {
  LocalServerOptions options;
  options.max_clients = 4;
  options.total_bytes = std::uint64_t{40} << 20;  // half of it holds one such client
  start(options);
  std::optional<Client> first = connect();
  const auto second = Client::connect(folder_.socket(), small_client());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kBusy);
  EXPECT_THAT(second.error().message(), HasSubstr("for one user"));
  ClientOptions little = small_client();
  little.input_bytes = little.output_bytes = 1;  // the least there is
  const Client third = connect(little);
  const auto fourth = Client::connect(folder_.socket(), little);
  ASSERT_FALSE(fourth);
  EXPECT_THAT(fourth.error().message(), HasSubstr("2 of at most 2 connections"));
  first.reset();
  ASSERT_TRUE(soon([&] { return server_->stats().clients == 1; }));
  EXPECT_TRUE(connect().resize(photo(), width(20)));
}

TEST(LocalFairShare, IsSplitAmongUsersFirstAndThenAmongTheirConnections) {
  FairShare share(12);
  base::WakeEvent event;
  FairShare::Member one(share, 1, event);
  FairShare::Member two(share, 1, event);
  FairShare::Member three(share, 1, event);
  FairShare::Member other(share, 2, event);
  EXPECT_EQ(one.allowance(), 12u);
  one.entered(8);
  EXPECT_EQ(two.allowance(), 4u) << "nobody waits";
  other.set_waiting(true);
  EXPECT_EQ(one.allowance(), 0u) << "eight are more than a user's half";
  EXPECT_EQ(two.allowance(), 0u) << "a connection more makes no share larger";
  EXPECT_EQ(other.allowance(), 4u);
  for (int i = 0; i < 4; ++i) one.left();
  EXPECT_EQ(two.allowance(), 2u);
  EXPECT_EQ(other.allowance(), 8u) << "nobody but it waits";
  two.set_waiting(true);
  three.set_waiting(true);
  EXPECT_EQ(other.allowance(), 6u);
  EXPECT_EQ(one.allowance(), 0u) << "two are a third of the half";
  EXPECT_EQ(two.allowance(), 2u);
  two.set_waiting(false);
  three.set_waiting(false);
  other.set_waiting(false);
  EXPECT_EQ(two.allowance(), 8u);
}

TEST(LocalClientAlone, APathWithoutAServerIsAnError) {
  const SocketFolder folder;
  EXPECT_EQ(Client::connect(folder.socket()).error().code(), StatusCode::kIoError);
  EXPECT_EQ(Client::connect("").error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(Client::connect(std::string(200, 'a')).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(Client::connect(std::string("a\0b", 3)).error().code(), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::service::local::test
