// Client and RemoteServer: answers as from an engine in this process.
#include <atomic>
#include <framewire/completion_queue.hpp>
#include <future>
#include <latch>
#include <tests/service/local/pictures_and_wishes.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <tests/support/free_port.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;
using RemoteClient = RemoteServerTest;

TEST_F(RemoteClient, AnswersAreThoseOfAnEngine) {
  start();
  ClientOptions large = small_client();
  large.input_bytes = std::uint64_t{32} << 20;
  large.output_bytes = std::uint64_t{16} << 20;
  Client client = connect(large);
  auto files = local::test::inputs();
  for (Bytes& file : local::test::corpus()) files.push_back(std::move(file));
  for (const Bytes& file : files) {
    for (const ResizeOptions& options : local::test::wishes()) {
      SCOPED_TRACE(to_string(options) + " on " + std::to_string(file.size()) + " bytes");
      expect_equal(client.resize(file, options), engine_->resize(file, options));
      if (file.size() > (1u << 20)) break;  // one wish is enough where it takes long
    }
  }
  EXPECT_FALSE(client.lost());
}

TEST_F(RemoteClient, MayTakeAnyTimeToConnect) {
  start();
  ClientOptions patient = small_client();
  patient.timeout = std::chrono::milliseconds::max();
  Client client = connect(patient);
  EXPECT_TRUE(client.resize(photo(), width(16)));
}

TEST_F(RemoteClient, DrainsWithoutWaitingForWhatCameLater) {
  start();
  Client client = connect();
  const Bytes file = photo();
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  std::function<void(Result<Resized>)> again = [&](const Result<Resized>&) {
    ++answered;
    if (stop) return;
    EngineRequest next{file, width(20), again};
    EXPECT_TRUE(client.try_submit(next));
  };
  for (int i = 0; i < 8; ++i) client.submit(file, width(20), again);
  auto drained = std::async(std::launch::async, [&] { client.drain(); });
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_GE(answered, 8);
  stop = true;
  client.drain();
}

TEST_F(RemoteClient, HundredsOfRequestsOfSeveralClientsAreAnsweredOnce) {
  start();
  const auto expected = engine_->resize(photo(), width(80)).value().bytes;
  constexpr int kClients = 4;
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] {
      Client client = connect(small_client(), c % 2 == 0 ? "ann" : "bob");
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
      for (const auto& one : answers) EXPECT_EQ(one, 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, kClients * kEach);
  EXPECT_TRUE(soon([&] { return server_->stats().clients == 0; }));
  EXPECT_TRUE(soon([&] { return counters_.connections == 0; }));
  EXPECT_EQ(counters_.connected, std::uint64_t{kClients});
  EXPECT_EQ(counters_.resized, std::uint64_t{kClients * kEach});
  EXPECT_EQ(counters_.failed + counters_.refused, 0u);
  EXPECT_EQ(counters_.input_bytes, kClients * kEach * photo().size());
  EXPECT_EQ(counters_.output_bytes, kClients * kEach * expected.size());
  EXPECT_TRUE(soon([&] { return admission_->usage().requests + admission_->usage().bytes == 0; }));
}

TEST_F(RemoteClient, SlicesSinksQueuesAndViewsHoldTheSameStream) {
  start();
  const auto expected = engine_->resize(photo(), width(80)).value().bytes;
  std::optional<ResizedView> kept;
  {
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

    std::promise<Result<Resized>> too_small;
    Bytes little(10);
    EngineRequest second{slice.bytes, width(80),
                         [&](Result<Resized> made) { too_small.set_value(std::move(made)); },
                         OutputSink(little)};
    client.submit({&second, 1});
    EXPECT_EQ(too_small.get_future().get().error().code(), StatusCode::kTooLarge);

    auto queue = std::make_shared<CompletionQueue>();
    EngineRequest third;
    third.jpeg = slice.bytes;
    third.options = width(80);
    third.completions = queue;
    third.tag = 77;
    client.submit({&third, 1});
    const auto taken = queue->take(1, std::chrono::seconds(20));
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].tag, 77u);
    EXPECT_EQ(taken[0].result.value().bytes, expected);

    std::promise<Result<ResizedView>> view;
    client.submit_view(slice.bytes, width(80),
                       [&](Result<ResizedView> made) { view.set_value(std::move(made)); });
    kept = view.get_future().get().value();
  }
  // Whoever keeps a view keeps its memory, client or not.
  EXPECT_EQ(Bytes(kept->bytes.begin(), kept->bytes.end()), expected);
}

TEST_F(RemoteClient, WhatIsLargerThanBothAllowIsRefusedByOne) {
  RemoteServerOptions options;
  options.limits.max_input_bytes = 20'000;
  start(options);
  ClientOptions little = small_client();
  little.output_bytes = 500;
  Client client = connect(little);
  const Bytes large(20'001, 0xFF);
  const auto refused = client.resize(large, width(80));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
  EXPECT_THAT(refused.error().message(), HasSubstr("20000 that the server at " + address()));
  EXPECT_EQ(client.input_slice(20'001).error().code(), StatusCode::kTooLarge);
  const auto made = client.resize(photo(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kTooLarge);
  EXPECT_THAT(made.error().message(), HasSubstr("500"));
  EXPECT_FALSE(client.lost());
}

TEST_F(RemoteClient, LimitsAreTheServers) {
  RemoteServerOptions options;
  options.limits.max_input_pixels = 1000;
  start(options);
  Client client = connect();
  ResizeOptions wanted = width(20);
  wanted.limits.max_input_pixels = 1'000'000'000;
  EXPECT_EQ(client.resize(photo(), wanted).error().code(), StatusCode::kTooLarge);
}

TEST_F(RemoteClient, TrySubmitTakesWhatThereAreSlotsFor) {
  start();
  ClientOptions few = small_client();
  few.slots = 2;
  Client client = connect(few);
  const Bytes file = photo(1200, 900);
  std::latch answered(2);
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back({file, width(80), [&](Result<Resized> made) {
                          EXPECT_TRUE(made);
                          answered.count_down();
                        }});
  }
  std::latch room(1);
  HeldEngine held(*engine_, 2);
  ASSERT_EQ(client.try_submit(requests, [&] { room.count_down(); }), 2u);
  EXPECT_TRUE(requests[2].done);
  EXPECT_FALSE(room.try_wait());
  held.release();
  room.wait();
  answered.wait();
}

TEST_F(RemoteClient, WhatIsStoppedWhileItWaitsIsCancelled) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  Client client = connect();
  const Bytes file = photo();
  std::stop_source stop;
  std::atomic<int> cancelled{0};
  std::atomic<int> other{0};
  std::vector<EngineRequest> requests;
  constexpr int kAll = 40;
  for (int i = 0; i < kAll; ++i) {
    EngineRequest request;
    request.jpeg = file;
    request.options = width(80);
    request.done = [&](Result<Resized> made) {
      ++(!made && made.error().code() == StatusCode::kCancelled ? cancelled : other);
    };
    request.stop = stop.get_token();
    requests.push_back(std::move(request));
  }
  HeldEngine held(*engine_, 2);
  client.submit(requests);
  ASSERT_TRUE(soon([&] { return admission_->usage().requests != 0; }));
  stop.request_stop();
  EXPECT_TRUE(soon([&] { return cancelled + other == kAll; }));
  EXPECT_EQ(other, 0);
  held.release();
  client.drain();
  // The connection is as good as before.
  EXPECT_TRUE(client.resize(photo(), width(20)));
}

TEST_F(RemoteClient, ADeadlineThatRunsOutInTheServersQueueIsAboutThat) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  Client client = connect();
  const Bytes file = photo();
  ResizeOptions hurried = width(80);
  hurried.limits.deadline_ms = 50;
  HeldEngine held(*engine_, 2);
  std::atomic<int> late{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back({file, hurried, [&](Result<Resized> made) {
                          if (made || made.error().code() != StatusCode::kDeadline) return;
                          if (made.error().subject() == "queue") ++late;
                        }});
  }
  client.submit(requests);
  EXPECT_TRUE(soon([&] { return late == 3; })) << "one in the engine, the others before it";
  held.release();
  client.drain();
}

// One request of room, one byte, one pixel: whoever waits gets through in the end.
TEST_F(RemoteClient, AdmissionHoldsRequestsBackAndLosesNone) {
  http::ClientAdmission::Bounds bounds;
  bounds.requests = 2;
  bounds.bytes = 1;
  bounds.pixels = 1;
  start({}, 0, bounds);
  const auto expected = engine_->resize(photo(), width(40)).value().bytes;
  Client one = connect(small_client(), "ann");
  Client other = connect(small_client(), "bob");
  std::atomic<int> right{0};
  const auto submit = [&](Client& client) {
    for (int i = 0; i < 20; ++i) {
      client.submit(photo(), width(40), [&](Result<Resized> made) {
        if (made && made->bytes == expected) ++right;
      });
    }
  };
  submit(one);
  submit(other);
  one.drain();
  other.drain();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(admission_->usage().queue_full + admission_->usage().over_budget, 0u)
      << "nobody was turned away";
}

TEST_F(RemoteClient, ADrainingServerAnswersWhatItHasAndTakesNothingNew) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  Client client = connect();
  const Bytes slow = photo(1200, 900);
  std::atomic<int> good{0};
  std::atomic<int> busy{0};
  for (int i = 0; i < 10; ++i) {
    client.submit(slow, width(80), [&](Result<Resized> made) {
      if (made) ++good;
      if (!made && made.error().code() == StatusCode::kBusy) ++busy;
    });
  }
  ASSERT_TRUE(soon([&] { return good != 0; }));
  EXPECT_TRUE(server_->drain(kPatience));
  client.drain();
  EXPECT_EQ(good + busy, 10);
  EXPECT_TRUE(soon([&] { return client.draining(); }));
  EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kBusy);
  EXPECT_FALSE(Client::connect(address(), session(), small_client()));
}

TEST_F(RemoteClient, AServerThatEndsAnswersEverythingOnce) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  Client client = connect();
  const Bytes slow = photo(1200, 900);
  std::atomic<int> answers{0};
  std::atomic<int> lost{0};
  const HeldEngine held(*engine_, 2);
  for (int i = 0; i < 20; ++i) {
    client.submit(slow, width(80), [&](Result<Resized> made) {
      ++answers;
      if (!made && made.error().code() == StatusCode::kPeerLost) ++lost;
    });
  }
  server_.reset();
  client.drain();
  EXPECT_EQ(answers, 20);
  EXPECT_GT(lost, 0);
  ASSERT_TRUE(client.lost());
  EXPECT_EQ(client.resize(slow, width(20)).error().code(), StatusCode::kPeerLost);
}

TEST_F(RemoteClient, WhatHasNoAnswerIsSentAgainToTheNextServer) {
  const std::uint16_t port = framewire::test::free_port();
  start({}, port);
  const Bytes file = photo(1200, 900);
  const auto expected = engine_->resize(file, width(80)).value().bytes;
  ClientOptions options = small_client();
  options.retries = 1;
  Client client = connect(options);
  std::atomic<int> right{0};
  std::atomic<int> answers{0};
  for (int i = 0; i < 60; ++i) {
    client.submit(file, width(80), [&](Result<Resized> made) {
      ++answers;
      if (made && made->bytes == expected) ++right;
    });
  }
  ASSERT_TRUE(soon([&] { return answers > 2; }));
  server_.reset();
  start({}, port);
  client.drain();
  EXPECT_EQ(answers, 60);
  EXPECT_EQ(right, 60);
  EXPECT_FALSE(client.lost());
}

TEST_F(RemoteClient, WhatADrainingServerDoesNotTakeGoesToTheNext) {
  const std::uint16_t port = framewire::test::free_port();
  RemoteServerOptions server;
  server.under_way = 1;
  start(server, port);
  const Bytes file = photo(1200, 900);
  ClientOptions options = small_client();
  options.retries = 1;
  Client client = connect(options);
  std::atomic<int> right{0};
  std::atomic<int> answers{0};
  const auto count = [&](Result<Resized> made) {
    ++answers;
    if (made) ++right;
  };
  for (int i = 0; i < 60; ++i) client.submit(file, width(80), count);
  ASSERT_TRUE(soon([&] { return answers > 2; }));
  EXPECT_TRUE(server_->drain(kPatience));
  ASSERT_TRUE(soon([&] { return client.draining(); }));
  // What is submitted meanwhile waits, too, and can be cancelled.
  for (int i = 0; i < 20; ++i) client.submit(file, width(80), count);
  std::stop_source stop;
  std::promise<Result<Resized>> cancelled;
  EngineRequest request{file, width(80), [&](Result<Resized> made) { cancelled.set_value(made); }};
  request.stop = stop.get_token();
  client.submit({&request, 1});
  stop.request_stop();
  auto answer = cancelled.get_future();
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kCancelled);
  server_.reset();
  start({}, port);
  client.drain();
  EXPECT_EQ(answers, 80);
  EXPECT_EQ(right, 80);
  EXPECT_FALSE(client.lost());
}

TEST_F(RemoteClient, WhoCannotBeReachedIsAnError) {
  start();
  const std::string where = address();
  server_.reset();
  ClientOptions options = small_client();
  options.timeout = std::chrono::seconds(5);
  EXPECT_EQ(Client::connect(where, session(), options).error().code(), StatusCode::kPeerLost);
  EXPECT_EQ(Client::connect("nonsense", session(), options).error().code(),
            StatusCode::kInvalidInput);
  options.slots = 0;
  EXPECT_EQ(Client::connect(where, session(), options).error().code(), StatusCode::kInvalidInput);
}

TEST_F(RemoteClient, ConnectionsOfOneNameAreBounded) {
  RemoteServerOptions options;
  options.max_clients = 4;
  start(options);
  std::vector<Client> anns;
  for (int i = 0; i < 2; ++i) anns.push_back(connect(small_client(), "ann"));
  const auto third = Client::connect(address(), session("keys", "ann"), small_client());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), StatusCode::kBusy);
  EXPECT_THAT(third.error().message(), HasSubstr("'ann'"));
  EXPECT_TRUE(connect(small_client(), "bob").resize(photo(), width(20)));
}

}  // namespace
}  // namespace framewire::service::remote::test
