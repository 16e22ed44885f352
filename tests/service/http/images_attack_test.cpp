// Pictures by URL under attack: shares of who asks with others, slow origins, what strangers learn.
#include <gtest/gtest.h>
#include <atomic>
#include <list>
#include <set>
#include <tests/service/http/image_server.hpp>
#include <tests/service/http/other_address.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
namespace scripted = service::test;

// Whoever asked first has more than its share while others wait. Who joined it has not.
TEST(HttpImagesAttack, NobodyIsRefusedForAnothersShare) {
  const std::string jpeg = text_of(make_jpeg(400, 300));
  std::atomic<bool> go = false;
  ServiceSettings settings = loopback();
  settings.bytes_under_way = 100'000'000;
  const ImageServer images(scripted::answering([&](const std::string&) {
                             while (!go) std::this_thread::sleep_for(5ms);
                             return scripted::ok(jpeg);
                           }),
                           settings);
  TestClient first(images.server->endpoint());
  ASSERT_TRUE(first.send(get(kImageTarget)));
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
  const OtherAddress second(images.server->endpoint());
  ASSERT_TRUE(second.send(get(kImageTarget)));
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(2); }));
  ClientAdmission& admission = images.server->server().admission();
  const ClientKey greedy{std::uint64_t{1} << 32 | 0x7F000001};
  ClientAdmission::Ticket held;
  ClientAdmission::Ticket refused;
  ASSERT_EQ(admission.admit(greedy, 90'000'000, 0, held), ClientAdmission::Verdict::kAdmitted);
  // As if it had just happened, however long what follows takes.
  ASSERT_EQ(admission.admit(ClientKey{3}, 20'000'000, 0, refused,
                            ClientAdmission::Clock::now() + std::chrono::hours(1)),
            ClientAdmission::Verdict::kOverBudget);
  go = true;
  EXPECT_EQ(first.receive()->status, 429);
  EXPECT_EQ(second.status(), 200);
  held.give_back();
  EXPECT_TRUE(images.server->idle());
}

constexpr ClientKey kFirst{std::uint64_t{1} << 32 | 0x7F000001};   // TestClient
constexpr ClientKey kSecond{std::uint64_t{1} << 32 | 0x7F000002};  // OtherAddress

/// Three fifths of what may be under way, and more than sockets keep.
constexpr std::size_t kLargeBytes = 60'000'000;

ServiceSettings with_room_for_one() {
  ServiceSettings settings = loopback();
  settings.allow_raw = true;
  settings.bytes_under_way = kLargeBytes / 3 * 5;
  settings.request_timeout_ms = 300'000;
  settings.write_timeout_ms = 300'000;
  settings.source.download_timeout = std::chrono::minutes(5);
  return settings;
}

std::string raw_target(const std::string& name) {
  return "/unsafe/raw:1/plain/http://images.test/" + name;
}

/// Somebody who has less than their share is refused, from now on for an hour.
void refuse_somebody(ClientAdmission& admission) {
  ClientAdmission::Ticket refused;
  EXPECT_EQ(admission.admit(ClientKey{3}, kLargeBytes / 4 * 3, 0, refused,
                            ClientAdmission::Clock::now() + std::chrono::hours(1)),
            ClientAdmission::Verdict::kOverBudget);
}

// Both have asked for the same picture. Who has read it holds nothing of it any more; it counts for
// who has not, and until that one has gone.
TEST(HttpImagesAttack, WhatIsReadCountsForThoseWhoStillReadIt) {
  const std::string large(kLargeBytes, 'x');
  std::atomic<bool> go = false;
  const ImageServer images(scripted::answering([&](const std::string& head) {
                             const bool is_large = head.find("/large") != std::string::npos;
                             while (is_large && !go) std::this_thread::sleep_for(5ms);
                             return scripted::ok(is_large ? large : "x");
                           }),
                           with_room_for_one());
  ClientAdmission& admission = images.server->server().admission();
  TestClient first(images.server->endpoint());
  ASSERT_TRUE(first.send(get(raw_target("large"))));
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
  const OtherAddress second(images.server->endpoint());
  ASSERT_TRUE(second.send(get(raw_target("large"))));
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(2); }));
  go = true;
  const auto answer = first.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body.size(), kLargeBytes);
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
  EXPECT_TRUE(within_a_minute([&] { return admission.usage().bytes == kLargeBytes; }))
      << "once, for two";
  refuse_somebody(admission);
  EXPECT_FALSE(admission.gives_way(kFirst).any());
  EXPECT_TRUE(admission.gives_way(kSecond).answers);
  EXPECT_EQ(first.ask(get(raw_target("small")))->status, 200);
  EXPECT_TRUE(within_a_minute([&] { return admission.usage().bytes == 0; }))
      << "the slow one gives way";
  EXPECT_TRUE(images.server->idle());
}

// Whoever asks with others, and goes, leaves to those what they wait for.
TEST(HttpImagesAttack, WhoHasGoneHoldsNothingOfWhatOthersWaitFor) {
  std::atomic<bool> over = false;
  const ImageServer images(
      [&](scripted::Connection& connection) {
        if (connection.read_head().find("/large") == std::string::npos) {
          (void)connection.send(scripted::ok("x"));
          return;
        }
        (void)connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kLargeBytes) +
                              "\r\n\r\n");
        while (!over && connection.open()) std::this_thread::sleep_for(5ms);
      },
      with_room_for_one());
  ClientAdmission& admission = images.server->server().admission();
  TestClient first(images.server->endpoint());
  ASSERT_TRUE(first.send(get(raw_target("large"))));
  ASSERT_TRUE(within_a_minute([&] { return admission.usage().bytes == kLargeBytes; }));
  const OtherAddress second(images.server->endpoint());
  ASSERT_TRUE(second.send(get(raw_target("large"))));
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(2); }));
  first.reset();
  ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
  EXPECT_TRUE(within_a_minute([&] { return admission.usage().bytes == kLargeBytes; }));
  EXPECT_EQ(admission.usage().requests, 1u);
  refuse_somebody(admission);
  EXPECT_FALSE(admission.gives_way(kFirst).any());
  EXPECT_TRUE(admission.gives_way(kSecond).bodies);
  EXPECT_EQ(TestClient(images.server->endpoint()).ask(get(raw_target("small")))->status, 200);
  EXPECT_EQ(second.status(), 429) << "the slowest gives way";
  over = true;
  EXPECT_TRUE(images.server->idle());
}

// Whoever asks for what comes slowly does not keep others from an origin: not from other pictures,
// and not from those that it has asked for first.
TEST(HttpImagesAttack, SlowOriginalsOfOneAddressLeaveConnectionsToOthers) {
  const std::string jpeg = text_of(make_jpeg(400, 300));
  std::atomic<int> slow = 0;
  std::atomic<bool> over = false;
  ServiceSettings settings = loopback();
  settings.request_timeout_ms = 300'000;
  settings.source.download_timeout = std::chrono::minutes(5);
  settings.source.connections_per_origin = 2;
  const ImageServer images(
      [&](scripted::Connection& connection) {
        while (true) {
          const std::string head = connection.read_head();
          if (head.empty()) return;
          if (head.find("/slow") != std::string::npos) {
            ++slow;
            while (!over && connection.open()) std::this_thread::sleep_for(1ms);
          }
          if (!connection.send(scripted::ok(jpeg))) return;
        }
      },
      settings);
  const auto ask_for = [](const std::string& name) {
    return get("/unsafe/w:100/plain/http://images.test/" + name + ".jpg");
  };
  std::list<TestClient> greedy;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(
        greedy.emplace_back(images.server->endpoint()).send(ask_for("slow" + std::to_string(i))));
    ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(i + 1); }));
  }
  ASSERT_TRUE(within_a_minute([&] { return slow == 1; }));
  const OtherAddress other(images.server->endpoint());
  ASSERT_TRUE(other.send(ask_for("a")));
  EXPECT_EQ(other.status(), 200);
  EXPECT_EQ(slow, 1);
  const OtherAddress joins(images.server->endpoint());
  ASSERT_TRUE(joins.send(ask_for("slow3")));
  EXPECT_TRUE(within_a_minute([&] { return slow == 2; }));
  over = true;
  EXPECT_EQ(joins.status(), 200);
  for (TestClient& client : greedy) EXPECT_EQ(client.receive()->status, 200);
}

/// Originals that are announced and trickle in hold memory in the share of who asked for them, and
/// the slowest gives way to others.
TEST(HttpImagesAttack, OriginalsThatTrickleGiveWayToOthers) {
  const std::string jpeg = text_of(make_jpeg(400, 300));
  const std::string large = jpeg + std::string(45'000'000 - jpeg.size(), '\0');
  std::atomic<bool> over = false;
  ServiceSettings settings = loopback();
  settings.bytes_under_way = 100'000'000;
  settings.request_timeout_ms = 300'000;
  settings.source.download_timeout = std::chrono::minutes(5);
  const ImageServer images(
      [&](scripted::Connection& connection) {
        const std::string head = connection.read_head();
        if (head.find("/slow") == std::string::npos) {
          (void)connection.send(scripted::ok(large));
          return;
        }
        const bool slower = head.find("/slower") != std::string::npos;
        (void)connection.send("HTTP/1.1 200 OK\r\nContent-Length: 45000000\r\n\r\n");
        const std::string some(slower ? 200 : 20'000, 'x');
        while (!over && connection.open() && connection.send(some)) {
          std::this_thread::sleep_for(50ms);
        }
      },
      settings);
  const auto target = [](const std::string& name) {
    return "/unsafe/rs:fit:8:0/plain/http://images.test/" + name + ".jpg";
  };
  ClientAdmission& admission = images.server->server().admission();
  TestClient slow(images.server->endpoint());
  TestClient slower(images.server->endpoint());
  ASSERT_TRUE(slow.send(get(target("slow"))));
  ASSERT_TRUE(slower.send(get(target("slower"))));
  ASSERT_TRUE(within_a_minute([&] { return admission.usage().bytes >= 90'000'000; }))
      << "they count while they come";
  const auto begun = std::chrono::steady_clock::now();
  int status = 0;
  ASSERT_TRUE(within_a_minute([&] {
    const OtherAddress other(images.server->endpoint());
    if (other.send(get(target("whole")))) status = other.status();
    return status == 200;
  })) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_EQ(slower.receive()->status, 429);
  EXPECT_GE(admission.usage().bytes, 45'000'000u) << "the other one has its share, and goes on";
  over = true;
}

// What it has sent behind its request fills the buffer, so that its end is not read.
TEST(HttpImagesAttack, WhoVanishesBehindWhatItSentIsNoticed) {
  ServiceSettings settings = loopback();
  settings.request_timeout_ms = 300'000;
  settings.source.download_timeout = std::chrono::minutes(5);
  const ImageServer images(
      [&](scripted::Connection& connection) {
        (void)connection.read_head();
        connection.stall(300'000);
      },
      settings);
  {
    TestClient client(images.server->endpoint());
    std::string request = get(kImageTarget);
    for (int i = 0; i < 300; ++i) request += get("/livez");
    ASSERT_TRUE(client.send(request));
    ASSERT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
  }
  EXPECT_TRUE(images.server->idle());
  EXPECT_NE(images.server->log().find("\"status\":499"), std::string::npos);
}

TEST(HttpImagesAttack, TheLastWaiterEndsTheWork) {
  std::atomic<bool> begun = false;
  std::atomic<bool> ended = false;
  ServiceSettings settings = loopback();
  // Nothing but the waiters' leaving ends the fetch.
  settings.source.download_timeout = 3min;
  settings.source.min_bytes_per_second = 1;
  const ImageServer images(
      [&](scripted::Connection& connection) {
        (void)connection.read_head();
        (void)connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        begun = true;
        while (connection.open() && connection.send("x")) std::this_thread::sleep_for(10ms);
        ended = true;
      },
      settings);
  {
    TestClient one(images.server->endpoint());
    TestClient two(images.server->endpoint());
    ASSERT_TRUE(one.send(get(kImageTarget)));
    ASSERT_TRUE(two.send(get(kImageTarget)));
    EXPECT_TRUE(within_a_minute([&] { return images.are_under_way(2); }));
    // A request is under way before its fetch reaches the origin. A fetch that is given up earlier
    // never connects, and the script would not run.
    ASSERT_TRUE(within_a_minute([&] { return begun.load(); }));
    one.reset();
    EXPECT_TRUE(within_a_minute([&] { return images.are_under_way(1); }));
    EXPECT_FALSE(ended) << "somebody still waits";
    EXPECT_EQ(images.server->server().state().requests, 1u);
  }
  EXPECT_TRUE(within_a_minute([&] { return ended.load(); }));
  EXPECT_TRUE(images.server->idle());
  images.server->stop();
  EXPECT_NE(images.server->log().find("\"status\":499"), std::string::npos);
}

TEST(HttpImagesAttack, TheLastWaiterEndsTheWorkBeforeTheOriginIsReached) {
  scripted::OriginServer origin(scripted::answering([](const std::string&) { return ""; }));
  scripted::FakeNetwork names(origin.port());
  names.name("images.test", {{"93.184.215.14"}});
  std::atomic<bool> asked = false;
  std::atomic<bool> go = false;
  source::Network network = names.network();
  network.resolve = [&, resolve = network.resolve](const std::string& host) {
    asked = true;
    while (!go) std::this_thread::sleep_for(5ms);
    return resolve(host);
  };
  ServiceSettings settings = loopback();
  settings.source.remote = true;
  // Nothing but the waiter's leaving ends the fetch.
  settings.source.dial_timeout = settings.source.download_timeout = 3min;
  TestServer server(settings, &network);
  {
    TestClient client(server.endpoint());
    EXPECT_TRUE(client.send(get(kImageTarget)));
    EXPECT_TRUE(within_a_minute([&] { return asked.load(); }));
    EXPECT_EQ(server.server().state().requests, 1u);
  }
  EXPECT_TRUE(server.idle()) << "while the lookup still takes its time";
  go = true;
  server.stop();
  EXPECT_EQ(origin.connections(), 0);
  EXPECT_NE(server.log().find("\"status\":499"), std::string::npos);
}

TEST(HttpImagesAttack, SlowOriginsEndWithTheRequest) {
  ServiceSettings settings = loopback();
  settings.request_timeout_ms = 400;
  const ImageServer images(
      [](scripted::Connection& connection) {
        (void)connection.read_head();
        connection.stall(10'000);
      },
      settings);
  const auto answer = images.ask(kImageTarget);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->field("cache-control"), "");
  EXPECT_TRUE(images.server->idle());
}

TEST(HttpImagesAttack, StrangersLearnNothingOfTheInside) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", "x");
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  const ImageServer images(
      scripted::answering([](const std::string&) { return scripted::ok("x"); }), settings);
  std::set<std::string> bodies;
  for (const char* source :
       {"http://127.0.0.1/a.jpg", "http://10.0.0.1/a.jpg", "http://none.test/a.jpg",
        "local:///none.jpg", "local:///../etc/passwd", "file:///etc/passwd", "ftp://a/b"}) {
    const auto answer = images.ask(std::string("/unsafe/plain/") + source);
    ASSERT_TRUE(answer) << source;
    EXPECT_EQ(answer->status, 404) << source;
    bodies.insert(answer->body);
  }
  EXPECT_EQ(bodies.size(), 1u) << "answers differ";
}

TEST(HttpImagesAttack, RawIsOffUnlessAllowed) {
  const ImageServer images(
      scripted::answering([](const std::string&) { return scripted::ok("<script>"); }));
  EXPECT_EQ(images.ask("/unsafe/raw:1/plain/http://images.test/a")->status, 403);
  ServiceSettings settings = loopback();
  settings.allow_raw = true;
  const ImageServer open(scripted::answering([](const std::string&) {
                           return scripted::ok("<script>", "Content-Type: text/html\r\n");
                         }),
                         settings);
  const auto answer = open.ask("/unsafe/raw:1/plain/http://images.test/a");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "<script>");
  EXPECT_EQ(answer->field("content-type"), "application/octet-stream");
}

}  // namespace
}  // namespace framewire::service::http::test
