// One address takes all connections and gets nowhere with them: others have their share all the
// same, and what moves is kept.
#include <gtest/gtest.h>
#include <atomic>
#include <list>
#include <service/http/pace.hpp>
#include <tests/service/http/http2_client.hpp>
#include <tests/service/http/other_address.hpp>
#include <tests/service/http/tls_server.hpp>
#include <tests/support/held_engine.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPlaces = 4;

ServiceSettings few_places() {
  ServiceSettings settings = loopback();
  settings.max_connections = kPlaces;
  return settings;
}

bool all_taken(TestServer& server) {
  return within_a_minute([&] { return server.server().state().connections >= kPlaces; });
}

// Whether somebody at another address is served before those who take all give up.
bool gets_a_place(TestServer& server) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  const std::string plain = server.endpoint(server.server().endpoints().size() - 1);
  while (std::chrono::steady_clock::now() < end) {
    if (OtherAddress(plain).answers()) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

bool tells_of_it(TestServer& server) {
  return within_a_minute([&] {
    return server.log().find("got nowhere while others wanted its place") != std::string::npos;
  });
}

// A request whose answer has begun, and waits for the client's window.
bool begin_unread(Http2Client& client) {
  const std::int32_t stream = client.begin(get_fields("/livez"));
  while (client.status(stream) == 0) {
    if (!client.receive()) return false;
  }
  return true;
}

TEST(HttpDisplacementAttack, AnswersThatNobodyReadsOverHttp2) {
  TlsServer server(few_places());
  std::list<Http2Client> greedy;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    greedy.emplace_back(server.endpoint(), settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
    ASSERT_TRUE(begin_unread(greedy.back()));
  }
  ASSERT_TRUE(all_taken(server.server));
  EXPECT_TRUE(gets_a_place(server.server));
  EXPECT_TRUE(tells_of_it(server.server));
}

TEST(HttpDisplacementAttack, AnswersThatNobodyReadsOverHttp1) {
  TestServer server(few_places());
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += get("/");
  std::list<TestClient> greedy;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    ASSERT_TRUE(greedy.emplace_back(server.endpoint()).send(many));
  }
  ASSERT_TRUE(all_taken(server));
  EXPECT_TRUE(gets_a_place(server));
}

// None is old enough to have a pace of its own.
TEST(HttpDisplacementAttack, AnswersThatAreGivenUpBeforeTheyAreSlow) {
  TlsServer server(few_places());
  std::list<Http2Client> greedy;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    greedy.emplace_back(server.endpoint(), settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
    ASSERT_TRUE(begin_unread(greedy.back()));
  }
  ASSERT_TRUE(all_taken(server.server));
  std::atomic<bool> ends = false;
  std::thread renewing([&] {
    while (!ends) {
      for (Http2Client& client : greedy) {
        const std::int32_t before = client.next_stream - 2;
        (void)client.begin(get_fields("/livez"));
        (void)client.send(frame(NGHTTP2_RST_STREAM, 0, before, number(NGHTTP2_CANCEL)));
      }
      std::this_thread::sleep_for(200ms);
    }
  });
  EXPECT_TRUE(gets_a_place(server.server));
  ends = true;
  renewing.join();
}

// Others are answered beside it, over the same connection.
TEST(HttpDisplacementAttack, AnswersThatAreReadBesideOneThatIsNot) {
  TlsServer server(few_places());
  std::list<Http2Client> greedy;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    greedy.emplace_back(server.endpoint(), settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
    ASSERT_TRUE(begin_unread(greedy.back()));
  }
  ASSERT_TRUE(all_taken(server.server));
  std::atomic<bool> ends = false;
  std::thread asking([&] {
    while (!ends) {
      for (Http2Client& client : greedy) (void)client.begin(get_fields("/livez", "HEAD"));
      std::this_thread::sleep_for(200ms);
    }
  });
  EXPECT_TRUE(gets_a_place(server.server));
  ends = true;
  asking.join();
}

TEST(HttpDisplacementAttack, BodiesThatStandStill) {
  TestServer server(few_places());
  std::list<TestClient> greedy = hold_requests(server, kPlaces);
  ASSERT_EQ(greedy.size(), kPlaces);
  EXPECT_TRUE(gets_a_place(server));
  EXPECT_TRUE(tells_of_it(server));
}

TEST(HttpDisplacementAttack, WorkThatTakesLong) {
  TestServer server(few_places());
  framewire::test::HeldEngine held(server.engine(), 1);
  std::list<TestClient> greedy;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    ASSERT_TRUE(greedy.emplace_back(server.endpoint())
                    .send(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)))));
  }
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().requests >= kPlaces; }));
  EXPECT_TRUE(gets_a_place(server));
  held.release();
}

// Whoever waits loses nothing.
TEST(HttpDisplacement, WhatWaitsGoesBeforeWork) {
  TestServer server(few_places());
  framewire::test::HeldEngine held(server.engine(), 1);
  std::list<TestClient> working;
  for (std::size_t i = 0; i + 1 < kPlaces; ++i) {
    ASSERT_TRUE(working.emplace_back(server.endpoint())
                    .send(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)))));
  }
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().requests >= kPlaces - 1; }));
  const OtherAddress waiting(server.endpoint());
  ASSERT_TRUE(waiting.answers());
  ASSERT_TRUE(all_taken(server));
  std::this_thread::sleep_for(
      2500ms);  // so that those in work have been without an answer for long
  const OtherAddress newcomer(server.endpoint());
  EXPECT_TRUE(newcomer.answers());
  held.release();
  for (TestClient& client : working) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
}

// The kernel gives each connection to some thread: mostly one comes to another than the connection
// that waits.
TEST(HttpDisplacement, WhatWaitsMakesRoomWhicheverThreadANewcomerComesTo) {
  ServiceSettings settings = few_places();
  settings.threads = 4;
  settings.client_share_percent = 100;  // so that nothing that is in work gives way
  TestServer server(settings);
  framewire::test::HeldEngine held(server.engine(), 1);
  std::list<TestClient> working;
  for (std::size_t i = 0; i + 1 < kPlaces; ++i) {
    ASSERT_TRUE(working.emplace_back(server.endpoint())
                    .send(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)))));
  }
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().requests >= kPlaces - 1; }));
  std::list<OtherAddress> waiting;
  EXPECT_TRUE(waiting.emplace_back(server.endpoint()).answers());
  ASSERT_TRUE(all_taken(server));
  // A newcomer takes the place of the one before. A thread that is kept from running tells of its
  // connections late: not each newcomer must find one.
  constexpr int kNewcomers = 20;
  int served = 0;
  for (int i = 0; i < kNewcomers; ++i) {
    std::this_thread::sleep_for(300ms);  // so that threads have told what waits
    served += waiting.emplace_back(server.endpoint()).answers() ? 1 : 0;
  }
  EXPECT_GE(served, kNewcomers - 4);
  held.release();
  for (TestClient& client : working) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
}

// What has come of a body counts behind its end, too: others have been in work for longer.
TEST(HttpDisplacement, ABodyThatHasComeIsProgress) {
  TestServer server(few_places());
  framewire::test::HeldEngine held(server.engine(), 1);
  TestClient moving(server.endpoint());
  std::list<TestClient> working;
  for (std::size_t i = 0; i + 1 < kPlaces; ++i) {
    ASSERT_TRUE(working.emplace_back(server.endpoint())
                    .send(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)))));
  }
  const std::string body = text_of(make_jpeg(3000, 2000));
  ASSERT_TRUE(moving.send("POST /v1/resize?size=8x HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n"));
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().requests >= kPlaces; }));
  std::this_thread::sleep_for(
      2500ms);  // so that those in work have been without an answer for long
  ASSERT_TRUE(moving.send(body));
  std::this_thread::sleep_for(300ms);  // so that it is looked at with the whole body
  std::list<OtherAddress> others;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(others.emplace_back(server.endpoint()).answers());
  held.release();
  const auto answer = moving.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(HttpDisplacementAttack, WhatMovesIsKept) {
  TestServer server(few_places());
  TestClient moving(server.endpoint());
  ASSERT_TRUE(
      moving.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 60000000\r\n\r\n"));
  std::list<TestClient> greedy = hold_requests(server, kPlaces - 1);
  ASSERT_EQ(greedy.size(), kPlaces - 1);
  ASSERT_TRUE(all_taken(server));
  std::atomic<bool> ends = false;
  std::atomic<bool> was_cut = false;
  std::thread sending([&] {
    for (int i = 0; i < 590 && !ends; ++i) {
      if (!moving.send(std::string(100'000, 'x'))) was_cut = true;
      std::this_thread::sleep_for(50ms);
    }
  });
  // Their share, each in the place of one that stands still.
  std::list<OtherAddress> others;
  EXPECT_TRUE(within_a_minute([&] {
    if (others.emplace_back(server.endpoint()).answers()) return others.size() == 2;
    others.pop_back();
    return false;
  }));
  ends = true;
  sending.join();
  EXPECT_FALSE(was_cut);
  EXPECT_FALSE(moving.closed_within(200ms));
  EXPECT_TRUE(tells_of_it(server));
}

TEST(HttpDisplacement, ProgressIsThatOfTheLastSeconds) {
  RecentProgress progress;
  auto now = RecentProgress::Clock::now();
  EXPECT_FALSE(progress.look(1'000, 0, now)) << "nothing is known yet";
  now += 900ms;
  EXPECT_FALSE(progress.look(5'000, 0, now));
  now += 100ms;
  auto lately = progress.look(5'000, 0, now);
  ASSERT_TRUE(lately);
  EXPECT_DOUBLE_EQ(lately->bytes_per_second, 4'000);
  EXPECT_FALSE(lately->answered);
  now += 600ms;
  lately = progress.look(5'000, 1, now);
  EXPECT_DOUBLE_EQ(lately->bytes_per_second, 2'500);
  EXPECT_TRUE(lately->answered);
  now += 600ms;
  lately = progress.look(5'000, 1, now);
  ASSERT_TRUE(lately);
  EXPECT_DOUBLE_EQ(lately->bytes_per_second, 0) << "what was before is forgotten";
  EXPECT_TRUE(lately->answered);
  now += 1100ms;
  EXPECT_FALSE(progress.look(5'000, 1, now)) << "nobody has looked for too long";
}

}  // namespace
}  // namespace framewire::service::http::test
