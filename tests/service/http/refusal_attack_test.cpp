// What a server spends on requests for which it has no room.
#include <gtest/gtest.h>
#include <list>
#include <service/http/admission.hpp>
#include <sstream>
#include <tests/service/http/client.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The requests that lines about many of them tell of.
std::size_t told_together(const std::string& log) {
  std::size_t sum = 0;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("requests that were turned away have no line") == std::string::npos) continue;
    const std::string_view key = "\"message\":\"";
    sum += std::stoul(line.substr(line.find(key) + key.size()));
  }
  return sum;
}

TEST(HttpRefusalAttack, ManyHaveFewLinesInTheLogAndEachIsCounted) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(16, 16)));
  ServiceSettings settings = loopback();
  settings.queue = 2;
  settings.source.root = folder.path().string();
  TestServer server(settings);
  std::list<TestClient> waiting = hold_requests(server, 2);
  ASSERT_EQ(waiting.size(), 2u);
  // All at once: nothing waits for the client between two of them.
  constexpr std::size_t kRequests = 1000;
  std::string requests;
  for (std::size_t i = 0; i < kRequests; ++i) requests += get("/unsafe/w:8/plain/a.jpg");
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send(requests));
  for (std::size_t i = 0; i < kRequests; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->status, 429);
    EXPECT_EQ(answer->field("retry-after"), "1");
    EXPECT_FALSE(answer->field("x-request-id").empty());
    EXPECT_EQ(answer->body, "too many requests are under way\n");
  }
  const auto lines = [&] { return count(server.log(), "\"status\":429"); };
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (lines() + told_together(server.log()) < kRequests &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(lines() + told_together(server.log()), kRequests);
  EXPECT_GE(lines(), 1u);
  EXPECT_LT(lines(), kRequests) << "each costs a line";
  // Others are told of as ever.
  EXPECT_EQ(client.ask(get("/none"))->status, 404);
}

TEST(HttpRefusalAttack, WhatIsUnderWayAlreadyIsJoinedAllTheSame) {
  const service::test::TemporaryFolder folder;
  // Long under way, so that others find it there.
  folder.write("large.jpg", text_of(make_jpeg(2000, 1400)));
  folder.write("other.jpg", text_of(make_jpeg(16, 16)));
  const std::string large = get("/unsafe/w:1300/plain/large.jpg");
  ServiceSettings settings = loopback();
  settings.queue = 1;
  settings.defaults.codec = CodecKind::kReference;
  settings.source.root = folder.path().string();
  TestServer server(settings);
  TestClient first(server.endpoint());
  TestClient client(server.endpoint());
  std::optional<Answer> other;
  for (int i = 0; i < 100 && (!other || other->status != 429); ++i) {
    ASSERT_TRUE(first.send(large));
    // One of the three finds the large one under way.
    for (int k = 0; k < 3 && (!other || other->status != 429); ++k) {
      other = client.ask(get("/unsafe/w:8/plain/other.jpg"));
      ASSERT_TRUE(other);
    }
    TestClient second(server.endpoint());
    const auto same = second.ask(large);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->status, 200) << "there is room for what is under way already";
    const auto answer = first.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
  EXPECT_EQ(other->status, 429);
}

}  // namespace
}  // namespace framewire::service::http::test
