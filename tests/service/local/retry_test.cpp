// Servers that end and come again, and what becomes of the requests that they had.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <base/unix_address.hpp>
#include <chrono>
#include <client/retries.hpp>
#include <filesystem>
#include <functional>
#include <future>
#include <ipc/greeting.hpp>
#include <ipc/shared_pages.hpp>
#include <stop_token>
#include <tests/service/local/child.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <thread>
#include <transport/shared/local_peer.hpp>
#include <vector>

namespace framewire::service::local::test {
namespace {

class LocalRetry : public LocalServerTest {
 protected:
  static ClientOptions retrying(std::uint32_t retries = 1) {
    ClientOptions options = small_client();
    options.retries = retries;
    return options;
  }
  /// Inputs that are gone once this returns.
  void submit_copies(Client& client, int count) {
    const Bytes file = photo(1200, 900);
    for (int i = 0; i < count; ++i) {
      const Bytes own = file;
      client.submit(own, width(80), counted());
    }
  }
  /// As many as there is room for. @return how many
  int try_to_submit_copies(Client& client, const std::function<void()>& on_room) {
    const Bytes file = photo(1200, 900);
    for (int count = 0;; ++count) {
      EngineRequest request{file, width(80), counted()};
      if (!client.try_submit(request, on_room)) return count;
    }
  }
  /// As many inputs as there is room for in the memory that client and server share.
  int submit_slices(Client& client) {
    const Bytes file = photo(1200, 900);
    int count = 0;
    while (true) {
      auto slice = client.input_slice(file.size());
      if (!slice) return count;
      std::ranges::copy(file, slice->bytes.begin());
      slices_.push_back(*slice);
      EngineRequest request{slice->bytes, width(80), counted()};
      if (!client.try_submit(request)) return count;
      ++count;
    }
  }
  /// Whoever connects there is never greeted.
  [[nodiscard]] base::FileDescriptor listen_in_silence() const {
    const auto address = base::unix_address(folder_.socket()).value();
    base::FileDescriptor silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(silent.get(), where, sizeof address), 0);
    EXPECT_EQ(::listen(silent.get(), 8), 0);
    return silent;
  }
  Client::Callback counted() {
    return [this](const Result<Resized>& made) {
      ++answers_;
      if (made && made->bytes == expected_) ++right_;
    };
  }
  void expect_pictures_as(Engine& engine) {
    expected_ = engine.resize(photo(1200, 900), width(80)).value().bytes;
  }

  Bytes expected_;
  std::vector<InputSlice> slices_;
  std::atomic<int> answers_{0};
  std::atomic<int> right_{0};
};

TEST_F(LocalRetry, WhatHasNoAnswerGoesToTheNextServer) {
  start();
  expect_pictures_as(*engine_);
  Client client = connect(retrying());
  // Together they are more than the next session has room for copies.
  const int slices = submit_slices(client);
  const int copies = try_to_submit_copies(client, {});
  server_.reset();
  start();
  submit_copies(client, 40);
  client.drain();
  EXPECT_GT(slices, 4);
  EXPECT_GT(copies, 4);
  EXPECT_EQ(answers_, slices + copies + 40);
  EXPECT_EQ(right_, answers_);
  EXPECT_FALSE(client.lost());
  slices_.clear();
  EXPECT_TRUE(client.input_slice(100));
}

// A client of many hours meets many servers.
TEST_F(LocalRetry, AnAnswerBeginsTheCountAgain) {
  start();
  Client client = connect(retrying());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.resize(photo(), width(20))) << i;
    server_.reset();
    start();
  }
  // The fourth server has answered nothing.
  const auto greeted = [this] {
    const auto all = events();
    return std::ranges::count(all, LocalEvent::Kind::kConnected, &LocalEvent::kind);
  };
  ASSERT_TRUE(soon([&] { return greeted() == 4; }));
  server_.reset();
  start();
  EXPECT_TRUE(soon([&] { return client.lost().has_value(); }));
  EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kPeerLost);
}

// Nobody is there; then somebody who never greets.
TEST_F(LocalRetry, WhoStopsRetryingIsAnsweredSoon) {
  for (const bool listens : {false, true}) {
    start();
    ClientOptions options = retrying();
    options.timeout = kPatience;
    Client client = connect(options);
    EXPECT_TRUE(client.resize(photo(), width(20)));
    server_.reset();
    base::FileDescriptor silent;
    if (listens) silent = listen_in_silence();
    // Whoever submits is held up until the next server is there.
    auto submitting = std::async(std::launch::async, [&] { submit_copies(client, 5); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto begun = std::chrono::steady_clock::now();
    client::Retries::stop(client);
    submitting.get();
    client.drain();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2)) << listens;
    EXPECT_TRUE(client.lost());
    std::filesystem::remove(folder_.socket());
  }
  EXPECT_EQ(answers_, 10);
  EXPECT_EQ(right_, 0);
}

TEST_F(LocalRetry, WhatIsHeldBackForTheNextServerIsAnsweredByAStop) {
  start();
  expect_pictures_as(*engine_);
  Client client = connect(retrying());
  submit_copies(client, 20);
  ASSERT_TRUE(soon([&] { return answers_ > 2; }));
  EXPECT_TRUE(server_->drain(kPatience));
  ASSERT_TRUE(soon([&] { return client.draining(); }));
  submit_copies(client, 6);
  client::Retries::stop(client);
  EXPECT_TRUE(soon([&] { return answers_ == 26; })) << "although the server is there";
  EXPECT_LE(right_, 20);
}

TEST_F(LocalRetry, WhatADrainingServerDoesNotTakeGoesToTheNext) {
  start();
  expect_pictures_as(*engine_);
  Client client = connect(retrying());
  // Fewer than there is room for, however few are answered: who waits for room waits for the next
  // server, which this thread starts.
  submit_copies(client, 20);
  ASSERT_TRUE(soon([&] { return answers_ > 2; }));
  EXPECT_TRUE(server_->drain(kPatience));
  ASSERT_TRUE(soon([&] { return client.draining(); }));
  // What is submitted meanwhile waits, too, and can be cancelled.
  submit_copies(client, 6);
  std::stop_source stop;
  std::promise<StatusCode> cancelled;
  const Bytes file = photo(1200, 900);
  EngineRequest request{file, width(80), [&](const Result<Resized>& made) {
                          cancelled.set_value(made ? StatusCode::kInternal : made.error().code());
                        }};
  request.stop = stop.get_token();
  client.submit({&request, 1});
  stop.request_stop();
  auto answer = cancelled.get_future();
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get(), StatusCode::kCancelled);
  server_.reset();
  start();
  client.drain();
  EXPECT_EQ(answers_, 26);
  EXPECT_EQ(right_, 26);
  EXPECT_FALSE(client.lost());
}

TEST_F(LocalRetry, WhoListensAndNeverGreetsHoldsUpNobodyWhoComesNext) {
  start();
  expect_pictures_as(*engine_);
  ClientOptions options = retrying();
  options.timeout = kPatience;
  Client client = connect(options);
  server_.reset();
  const base::FileDescriptor silent = listen_in_silence();
  auto submitting = std::async(std::launch::async, [&] { submit_copies(client, 5); });
  pollfd visitor{silent.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&visitor, 1, static_cast<int>(kPatience.count())), 1);
  std::filesystem::remove(folder_.socket());
  start();
  submitting.get();
  client.drain();
  EXPECT_EQ(right_, 5);
  EXPECT_FALSE(client.lost());
}

// A server that greets after five seconds when the client comes again.
TEST_F(LocalRetry, WhatTakesLongToGreetIsWaitedForAgain) {
  start();
  ClientOptions options = retrying();
  options.timeout = std::chrono::seconds(9);
  Client client = connect(options);
  server_.reset();
  const base::FileDescriptor silent = listen_in_silence();
  transport::shared::LocalPeer peer(base::FileDescriptor(::accept(silent.get(), nullptr, nullptr)));
  const auto pages =
      ipc::SharedPages::make({options.slots, options.input_bytes, options.output_bytes}).value();
  ipc::Word word;
  word.slots = options.slots;
  word.input_bytes = options.input_bytes;
  word.output_bytes = options.output_bytes;
  std::this_thread::sleep_for(std::chrono::seconds(5));
  ASSERT_TRUE(peer.send(std::as_bytes(std::span(&word, 1)), std::array{pages.fd()}));
  auto answer = client.submit(photo(), width(20));
  EXPECT_TRUE(soon([&] { return pages.control().submitted == 1; }));
  ::shutdown(peer.fd(), SHUT_RDWR);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kPeerLost);
}

TEST_F(LocalRetry, AServerThatRefusesIsTheReason) {
  start();
  Client client = connect(retrying());
  server_.reset();
  LocalServerOptions others_only;
  others_only.uids = {::geteuid() + 1};
  start(others_only);
  EXPECT_TRUE(soon([&] { return client.lost().has_value(); }));
  const auto made = client.resize(photo(), width(20));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), testing::HasSubstr("denied"));
}

TEST_F(LocalRetry, AKilledServerCostsNothingWhereAnotherFollows) {
  Child server(serve_at(folder_.socket()));
  ASSERT_TRUE(connect_soon(folder_.socket()));
  {
    Engine engine = Engine::make(host_engine()).value();
    expect_pictures_as(engine);
  }
  Client client = connect(retrying());
  auto submitting = std::async(std::launch::async, [&] { submit_copies(client, 300); });
  ASSERT_TRUE(soon([&] { return answers_ > 20; }));
  server.kill();
  start();
  submitting.get();  // who waited for room goes on with the next server
  client.drain();
  EXPECT_EQ(answers_, 300);
  EXPECT_EQ(right_, 300);
}

TEST_F(LocalRetry, WhereNoServerFollowsAllIsAnsweredOnce) {
  start();
  ClientOptions options = retrying(3);
  options.timeout = std::chrono::milliseconds(300);
  Client client = connect(options);
  submit_copies(client, 60);
  server_.reset();
  submit_copies(client, 60);
  client.drain();
  EXPECT_EQ(answers_, 120);
  ASSERT_TRUE(client.lost());
  EXPECT_EQ(client.lost()->code(), StatusCode::kPeerLost);
  EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kPeerLost);
}

TEST_F(LocalRetry, WhoHasAllAnswersWaitsForNoServer) {
  start();
  ClientOptions options = retrying();
  options.timeout = std::chrono::seconds(60);
  const auto begun = std::chrono::steady_clock::now();
  {
    Client client = connect(options);
    EXPECT_TRUE(client.resize(photo(), width(20)));
    server_.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it looks for another one
    client.drain();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST_F(LocalRetry, RoomIsToldOfByTheNextServer) {
  start();
  Client client = connect(retrying());
  std::promise<void> room;
  HeldEngine held(*engine_, 2);
  const int submitted = try_to_submit_copies(client, [&] { room.set_value(); });
  // What the engine has is waited for.
  auto releasing = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    held.release();
  });
  server_.reset();
  releasing.get();
  start();
  EXPECT_EQ(room.get_future().wait_for(kPatience), std::future_status::ready);
  client.drain();
  EXPECT_EQ(answers_, submitted);
}

}  // namespace
}  // namespace framewire::service::local::test
