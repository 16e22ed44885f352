// One address hands in more work than the engine does at once: others do not wait for it.
#include <gtest/gtest.h>
#include <list>
#include <tests/service/http/client.hpp>
#include <tests/service/http/other_address.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/support/held_engine.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

constexpr std::size_t kMany = 12;
// Of these, that may have been begun, or be done, before somebody else's.
constexpr std::size_t kBefore = 3;

class HttpFairEngineAttack : public testing::Test {
 protected:
  HttpFairEngineAttack() {
    folder_.write("a.jpg", text_of(make_jpeg(400, 300)));
    settings_.source.root = folder_.path().string();
  }
  /// Requests of 127.0.0.1 that take tens of milliseconds each, and wait for the engine.
  void hand_in_many(TestServer& server) {
    const std::string request = post("/v1/resize?size=1900x", text_of(make_jpeg(2000, 1500)));
    for (std::size_t i = 0; i < kMany; ++i) {
      ASSERT_TRUE(many_.emplace_back(server.endpoint()).send(request));
    }
    ASSERT_TRUE(waiting(server, kMany));
  }
  static bool waiting(TestServer& server, std::size_t requests) {
    return within_a_minute([&] { return server.server().state().requests >= requests; });
  }

  const service::test::TemporaryFolder folder_;
  ServiceSettings settings_ = loopback();
  std::list<TestClient> many_;
};

TEST_F(HttpFairEngineAttack, ABodyOfAnotherAddressIsNext) {
  TestServer server(settings_);
  framewire::test::HeldEngine held(server.engine(), 1);
  hand_in_many(server);
  const OtherAddress other(server.endpoint());
  ASSERT_TRUE(other.send(post("/v1/resize?size=64x", text_of(make_jpeg(100, 80)))));
  ASSERT_TRUE(waiting(server, kMany + 1));
  held.release();
  EXPECT_EQ(other.status(), 200);
  EXPECT_GE(server.server().state().requests, kMany - kBefore);
}

// Who asks first for what others want must not make them wait behind its own.
TEST_F(HttpFairEngineAttack, NorDoesAPictureThatItHasAskedForFirst) {
  TestServer server(settings_);
  framewire::test::HeldEngine held(server.engine(), 1);
  hand_in_many(server);
  const std::string wanted = get("/unsafe/w:100/plain/a.jpg");
  TestClient first(server.endpoint());
  ASSERT_TRUE(first.send(wanted));
  ASSERT_TRUE(waiting(server, kMany + 1));
  // Time for the file to be read: the other one finds the picture in the engine's queue.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const OtherAddress other(server.endpoint());
  ASSERT_TRUE(other.send(wanted));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  held.release();
  EXPECT_EQ(other.status(), 200);
  EXPECT_GE(server.server().state().requests, kMany - kBefore);
  const auto answer = first.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << "and both get it";
  EXPECT_TRUE(server.idle()) << "what was handed in twice is over, too";
}

// Whoever looks for where the time goes has to find the engine's queue there, too.
TEST(HttpServerTiming, WaitingInTheEngineIsQueue) {
  TestServer server(loopback());
  framewire::test::HeldEngine held(server.engine(), 1);
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send(post("/v1/resize?size=64x", text_of(make_jpeg(100, 80)))));
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().requests == 1; }));
  // It is admitted by its head: the body may come later on a busy machine, and counts from there.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  held.release();
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  const std::string timing = answer->field("server-timing");
  const std::string name = "queue;dur=";
  ASSERT_EQ(timing.find(name), 0u) << timing;
  EXPECT_GE(std::stod(timing.substr(name.size())), 100) << timing;
}

}  // namespace
}  // namespace framewire::service::http::test
