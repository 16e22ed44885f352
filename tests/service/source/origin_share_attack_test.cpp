// Origins and name servers that are slow, by whose means one client keeps places from others.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <tests/service/support/origin.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::service::source {
namespace {

using std::chrono::milliseconds;
using test::answering;
using test::Connection;
using test::ok;
using test::Origin;
using test::remote;

std::shared_ptr<Askers> by(std::uint64_t client) {
  auto askers = std::make_shared<Askers>();
  askers->add(client);
  return askers;
}

/// Begins many fetches for one client, and waits for their answers at the end.
class Crowd {
 public:
  Crowd(Sources& sources, AskedBy client) : sources_(sources), client_(std::move(client)) {}
  ~Crowd() {
    for (auto& answer : answers_) answer.wait();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  void fetch(const std::string& url) {
    auto promise = std::make_shared<std::promise<void>>();
    answers_.push_back(promise->get_future());
    FetchRequest request;
    request.url = url;
    request.client = client_;
    EXPECT_TRUE(sources_.fetch(std::move(request), [promise](auto) { promise->set_value(); }));
  }

 private:
  Sources& sources_;
  AskedBy client_;
  std::vector<std::future<void>> answers_;
};

FetchRequest request_by(std::uint64_t client) {
  FetchRequest request;
  request.url = "http://images.test/a.jpg";
  request.client = by(client);
  return request;
}

// Whoever has names of their own has as many as they like that nobody answers for.
TEST(OriginAttack, NamesThatDoNotAnswerLeaveThreadsToOtherClients) {
  test::OriginServer server(answering([](const std::string&) { return ok("bytes"); }));
  test::FakeNetwork fake(server.port());
  fake.name("images.test", {{"93.184.215.14"}});
  Network network = fake.network();
  std::atomic<int> stuck = 0;
  std::latch release(1);
  network.resolve = [&, resolve = network.resolve](const std::string& host) {
    if (host.starts_with("tar")) {
      ++stuck;
      release.wait();
    }
    return resolve(host);
  };
  SourceSettings settings = remote();
  settings.dial_timeout = settings.download_timeout = milliseconds(30'000);
  settings.resolver_threads = 4;
  auto sources = Sources::make(settings, network);
  ASSERT_TRUE(sources);
  {
    const auto attacker = by(1);
    Crowd crowd(*sources, attacker);
    for (int i = 0; i < 20; ++i) crowd.fetch("http://tar" + std::to_string(i) + ".test/a");
    while (stuck < 3) std::this_thread::sleep_for(milliseconds(1));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(test::fetch(*sources, request_by(2)));
    EXPECT_EQ(stuck, 3) << "one client leaves a thread to others";
    // Others wait for these as well by now.
    attacker->add(3);
    while (stuck < 4) std::this_thread::sleep_for(milliseconds(1));
    release.count_down();
  }
}

// The same with connections: to one origin, and to all.
TEST(OriginAttack, SlowAnswersLeaveConnectionsToOtherClients) {
  for (const bool of_all : {false, true}) {
    SourceSettings settings = remote();
    settings.download_timeout = milliseconds(30'000);
    (of_all ? settings.connections : settings.connections_per_origin) = 4;
    std::atomic<int> stuck = 0;
    std::atomic<bool> over = false;
    Origin origin(
        [&](Connection& connection) {
          while (true) {
            const std::string head = connection.read_head();
            if (head.empty()) return;
            if (head.find("/slow") != std::string::npos) {
              ++stuck;
              while (!over) std::this_thread::sleep_for(milliseconds(1));
            }
            if (!connection.send(ok("bytes"))) return;
          }
        },
        settings);
    {
      Crowd crowd(*origin.sources, by(1));
      for (int i = 0; i < 20; ++i) crowd.fetch("http://images.test/slow");
      while (stuck < 3) std::this_thread::sleep_for(milliseconds(1));
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(test::fetch(*origin.sources, request_by(2)));
      EXPECT_EQ(stuck, 3) << "one client leaves a connection to others";
      over = true;
    }
  }
}

// Whoever has many that wait is not served before who has few.
TEST(OriginAttack, WhoHoldsFewestConnectionsIsNext) {
  SourceSettings settings = remote();
  settings.download_timeout = milliseconds(30'000);
  settings.connections_per_origin = 3;
  std::mutex mutex;
  std::string asked;
  std::counting_semaphore<> may_answer(0);
  Origin origin(
      [&](Connection& connection) {
        while (true) {
          const std::string head = connection.read_head();
          if (head.empty()) return;
          {
            const std::lock_guard lock(mutex);
            asked += head.at(head.find('/') + 1);
          }
          may_answer.acquire();
          if (!connection.send(ok("bytes"))) return;
        }
      },
      settings);
  const auto asked_for = [&](std::size_t count) {
    while (true) {
      {
        const std::lock_guard lock(mutex);
        if (asked.size() >= count) return asked;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  {
    Crowd first(*origin.sources, by(1));
    Crowd second(*origin.sources, by(2));
    Crowd third(*origin.sources, by(3));
    for (int i = 0; i < 6; ++i) first.fetch("http://images.test/a");
    EXPECT_EQ(asked_for(2), "aa");
    second.fetch("http://images.test/b");
    EXPECT_EQ(asked_for(3), "aab");
    third.fetch("http://images.test/c");
    may_answer.release();
    EXPECT_EQ(asked_for(4).at(3), 'c');
    may_answer.release(20);
  }
}

// Whoever is redirected has a connection, and keeps it, though others have fewer. But nobody comes
// by redirects before those who wait for an origin.
TEST(OriginAttack, RedirectsGoOnUnlessOthersWaitForTheirOrigin) {
  struct Case {
    std::string leads_to;
    std::string waits_for;
    char next;
  };
  for (const auto& [leads_to, waits_for, next] :
       {Case{"images.test", "images.test", 't'}, Case{"other.test", "images.test", 't'},
        Case{"other.test", "other.test", 'w'}}) {
    SCOPED_TRACE(leads_to + ", " + waits_for);
    SourceSettings settings = remote();
    settings.download_timeout = milliseconds(30'000);
    settings.connections = 3;
    const std::string moved =
        "HTTP/1.1 302 Found\r\nLocation: http://" + leads_to + "/t\r\nContent-Length: 0\r\n\r\n";
    std::mutex mutex;
    std::string asked;
    std::counting_semaphore<> may_redirect(0);
    std::counting_semaphore<> may_answer(0);
    Origin origin(
        [&](Connection& connection) {
          while (true) {
            const std::string head = connection.read_head();
            if (head.empty()) return;
            const char name = head.at(head.find('/') + 1);
            {
              const std::lock_guard lock(mutex);
              asked += name;
            }
            (name == 'r' ? may_redirect : may_answer).acquire();
            if (!connection.send(name == 'r' ? moved : ok("bytes"))) return;
          }
        },
        settings);
    const auto asked_for = [&](std::size_t count) {
      while (true) {
        {
          const std::lock_guard lock(mutex);
          if (asked.size() >= count) return asked;
        }
        std::this_thread::sleep_for(milliseconds(1));
      }
    };
    Crowd first(*origin.sources, by(1));
    Crowd second(*origin.sources, by(2));
    Crowd third(*origin.sources, by(3));
    first.fetch("http://images.test/a");
    first.fetch("http://images.test/r");
    second.fetch("http://images.test/b");
    (void)asked_for(3);
    third.fetch("http://" + waits_for + "/w");
    std::this_thread::sleep_for(milliseconds(100));  // until the loop knows of it
    may_redirect.release();
    EXPECT_EQ(asked_for(4).at(3), next);
    may_answer.release(20);
  }
}

}  // namespace
}  // namespace framewire::service::source
