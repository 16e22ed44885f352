// Origins that lie, stall, and never end.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <latch>
#include <memory>
#include <service/source/transfer.hpp>
#include <stop_token>
#include <tests/service/support/origin.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>
#include <vector>

namespace framewire::service::source {
namespace {

using std::chrono::milliseconds;
using test::answering;
using test::Connection;
using test::ok;
using test::Origin;
using test::remote;

constexpr const char* kAttackedUrl = "http://images.test/a.jpg";

FetchErrorKind kind(const Fetched<Original>& original) {
  EXPECT_FALSE(original) << "fetched " << (original ? original->bytes.size() : 0) << " bytes";
  return original ? FetchErrorKind::kIo : original.error().kind;
}

TEST(OriginAttack, AResetInTheBodyIsTruncated) {
  Origin origin([](Connection& connection) {
    if (connection.read_head().empty()) return;
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome");
    connection.reset();
  });
  EXPECT_EQ(kind(origin.fetch(kAttackedUrl)), FetchErrorKind::kTruncated);
}

TEST(OriginAttack, ALengthOverTheBoundIsRefusedBeforeMemoryIsTaken) {
  SourceSettings settings = remote();
  settings.max_bytes = 1'000;
  std::atomic<int> allocations = 0;
  settings.allocate = [&](std::size_t) -> Result<InputSlice> {
    ++allocations;
    return fail(StatusCode::kBusy, "none");
  };
  Origin origin(
      [](Connection& connection) {
        if (connection.read_head().empty()) return;
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n");
        connection.stall(10'000);
      },
      settings);
  EXPECT_EQ(kind(origin.fetch(kAttackedUrl)), FetchErrorKind::kTooLarge);
  EXPECT_EQ(allocations.load(), 0);
  FetchRequest request;
  request.url = kAttackedUrl;
  request.max_bytes = 2'000;
  EXPECT_EQ(kind(test::fetch(*origin.sources, request)), FetchErrorKind::kTooLarge)
      << "a request lowers the bound only";
}

TEST(OriginAttack, SlowOriginsEndByTheirTime) {
  const struct {
    const char* what;
    std::string begin;
    std::string drip;
  } kOrigins[] = {
      {"silent", "", ""},
      {"a header a byte at a time", "HTTP/1.1 200 OK\r\nX-Header: ", "x"},
      {"silent behind the head", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", ""},
      {"a body a byte at a time", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"},
      {"a short error that does not come", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", ""},
  };
  for (const auto& slow : kOrigins) {
    SourceSettings settings = remote();
    settings.download_timeout = milliseconds(300);
    Origin origin(
        [&](Connection& connection) {
          if (connection.read_head().empty() || !connection.send(slow.begin)) return;
          while (connection.open()) {
            connection.stall(slow.drip.empty() ? 10'000 : 20);
            if (slow.drip.empty() || !connection.send(slow.drip)) return;
          }
        },
        settings);
    // The best of several: a machine with other work may take its time.
    auto quickest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 5 && quickest >= milliseconds(3'000); ++i) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(kind(origin.fetch(kAttackedUrl)), FetchErrorKind::kTimeout) << slow.what;
      quickest = std::min(quickest, std::chrono::steady_clock::now() - start);
    }
    EXPECT_LT(quickest, milliseconds(3'000)) << slow.what;
  }
}

TEST(OriginAttack, RedirectsOnlyGoSoFarAndShareOneTime) {
  std::atomic<int> asked = 0;
  Origin loop(answering([&](const std::string&) {
    ++asked;
    return test::status(302, "Location: /again\r\n");
  }));
  EXPECT_EQ(kind(loop.fetch(kAttackedUrl)), FetchErrorKind::kTooManyRedirects);
  EXPECT_EQ(asked.load(), 4);
  SourceSettings settings = remote();
  settings.max_redirects = 20;
  settings.download_timeout = milliseconds(300);
  Origin slow(answering([&](const std::string&) {
                std::this_thread::sleep_for(milliseconds(60));
                return test::status(302, "Location: /again\r\n");
              }),
              settings);
  EXPECT_EQ(kind(slow.fetch(kAttackedUrl)), FetchErrorKind::kTimeout);
}

TEST(OriginAttack, EachHopIsJudged) {
  using enum FetchErrorKind;
  const struct {
    const char* to;
    FetchErrorKind kind;
  } kHops[] = {
      {"http://127.0.0.1/secret", kAddressNotAllowed},
      {"//[::1]/secret", kAddressNotAllowed},
      {"http://[::ffff:169.254.169.254]/latest", kAddressNotAllowed},
      {"http://private.test/", kAddressNotAllowed},
      {"http://2130706433/", kBadRedirect},
      {"file:///etc/passwd", kSchemeNotAllowed},
      {"local:///a.jpg", kSchemeNotAllowed},
      {"gopher://127.0.0.1:6379/_FLUSHALL", kSchemeNotAllowed},
      {"http://other.test/", kSourceNotAllowed},
      {"http://images.test:6379/", kSourceNotAllowed},
      {"/private/a.jpg", kSourceNotAllowed},
      {"..%2fprivate/a.jpg", kSourceNotAllowed},
  };
  test::TemporaryFolder folder;
  folder.write("a.jpg", "file");
  for (const auto& hop : kHops) {
    SourceSettings settings = remote();
    settings.root = folder.path().string();
    if (hop.kind == kSourceNotAllowed) settings.allowed_sources = {"http://images.test/public/"};
    std::atomic<int> asked = 0;
    Origin origin(answering([&](const std::string&) {
                    ++asked;
                    return test::status(302, std::string("Location: ") + hop.to + "\r\n");
                  }),
                  settings);
    origin.network.name("private.test", {{"10.0.0.1", "fd00::1"}});
    EXPECT_EQ(kind(origin.fetch("http://images.test/public/a.jpg")), hop.kind) << hop.to;
    EXPECT_EQ(asked.load(), 1) << hop.to;
  }
}

TEST(OriginAttack, ANameThatIsBoundAnewIsJudgedAnew) {
  Origin origin([](Connection& connection) {
    if (!connection.read_head().empty()) connection.send("HTTP/1.1 200 OK\r\n\r\nbytes");
  });
  origin.network.name("rebind.test", {{"93.184.215.14"}, {"127.0.0.1"}, {"::ffff:7f00:1"}, {}});
  EXPECT_TRUE(origin.fetch("http://rebind.test/a"));
  EXPECT_EQ(kind(origin.fetch("http://rebind.test/a")), FetchErrorKind::kAddressNotAllowed);
  EXPECT_EQ(kind(origin.fetch("http://rebind.test/a")), FetchErrorKind::kAddressNotAllowed);
  EXPECT_EQ(kind(origin.fetch("http://rebind.test/a")), FetchErrorKind::kResolve);
  EXPECT_EQ(kind(origin.fetch("http://unknown.test/a")), FetchErrorKind::kResolve);
  EXPECT_EQ(origin.server.connections(), 1);
}

TEST(OriginAttack, OfSeveralAddressesOnlyPermittedOnesAreDialled) {
  Origin origin(answering([](const std::string&) { return ok("bytes"); }));
  origin.network.name("mixed.test", {{"127.0.0.1", "10.0.0.1", "93.184.215.14", "::1"}});
  EXPECT_TRUE(origin.fetch("http://mixed.test/a"));
  EXPECT_EQ(origin.network.dialled(),
            std::vector<IpAddress>{parse_address("93.184.215.14").value()});
}

// The judgement as the socket is made, alone: the transfer is handed an address that nobody judged.
TEST(OriginAttack, TheAddressIsJudgedAsItsSocketIsMade) {
  test::OriginServer server(answering([](const std::string&) { return ok("bytes"); }));
  test::FakeNetwork fake(server.port());
  const Network network = fake.network();
  const auto fetch = [&](const SourceSettings& settings, const std::string& host,
                         std::vector<IpAddress> addresses) {
    Budget budget(1'000);
    const FetchRequest request;
    store::s3::KeptSockets sockets;
    OriginTransfer transfer(settings, network, sockets, budget, request, 1'000);
    const auto url = parse_source("http://" + host + "/a").value();
    EXPECT_TRUE(transfer.prepare(url, addresses, milliseconds(1'000)));
    return transfer.take_result(curl_easy_perform(transfer.handle()));
  };
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
  const IpAddress loopback = parse_address("127.0.0.1").value();
  for (const char* text : {"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"}) {
    const auto refused = fetch(remote(), "named.test", {parse_address(text).value()});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, FetchErrorKind::kAddressNotAllowed) << text;
  }
  const auto refused = fetch(remote(), "127.0.0.1", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, FetchErrorKind::kAddressNotAllowed);
  EXPECT_EQ(server.connections(), 0);
  SourceSettings open = remote();
  open.addresses.allow_loopback = true;
  EXPECT_TRUE(fetch(open, "named.test", {loopback}));
  EXPECT_EQ(server.connections(), 1);
}

TEST(OriginAttack, TheEnvironmentsProxiesAndSecretsAreNotUsed) {
  test::OriginServer proxy(answering([](const std::string&) { return ok("proxied"); }));
  test::TemporaryFolder home;
  home.write(".netrc", "machine images.test login user password secret\n");
  const std::string address = "http://127.0.0.1:" + std::to_string(proxy.port());
  const std::vector<std::string> names = {"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY",
                                          "all_proxy"};
  const char* const old_home = std::getenv("HOME");
  const std::string kept_home = old_home != nullptr ? old_home : "";
  for (const std::string& name : names) ::setenv(name.c_str(), address.c_str(), 1);
  ::setenv("HOME", home.path().c_str(), 1);
  std::string seen;
  {
    Origin origin(answering([&](const std::string& head) {
      seen += head;
      return ok("bytes", "Set-Cookie: a=b; Path=/\r\nAlt-Svc: http/1.1=\"evil.test:80\"\r\n");
    }));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(test::text(origin.fetch(kAttackedUrl).value()), "bytes");
    }
    EXPECT_EQ(origin.network.lookups(), 2U);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
  ::setenv("HOME", kept_home.c_str(), 1);
  EXPECT_EQ(proxy.connections(), 0);
  EXPECT_EQ(seen.find("Authorization"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("Cookie"), std::string::npos) << seen;
}

// Bytes behind an answer, which look like the next one, must not become it.
TEST(OriginAttack, WhatFollowsAnAnswerIsNotTheNextOne) {
  std::atomic<int> asked = 0;
  Origin origin([&](Connection& connection) {
    while (!connection.read_head().empty()) {
      const std::string mine = std::to_string(asked++);
      connection.send(ok("right " + mine) + ok("wrong " + mine));
    }
  });
  for (int i = 0; i < 5; ++i) {
    const auto original = origin.fetch(kAttackedUrl);
    ASSERT_TRUE(original) << original.error().message;
    EXPECT_EQ(test::text(*original), "right " + std::to_string(i));
  }
}

// The same bytes, once the answer has been taken and its connection is kept.
TEST(OriginAttack, WhatFollowsAnAnswerLaterIsNotTheNextOne) {
  std::atomic<int> asked = 0;
  std::atomic<int> taken = 0;
  std::atomic<int> followed = 0;
  Origin origin([&](Connection& connection) {
    while (!connection.read_head().empty()) {
      const int mine = asked++;
      connection.send(ok("right " + std::to_string(mine)));
      while (connection.open() && taken.load() <= mine) connection.stall(1);
      connection.send(ok("wrong " + std::to_string(mine)));
      connection.await_delivery();
      ++followed;
    }
  });
  for (int i = 0; i < 3; ++i) {
    const auto original = origin.fetch(kAttackedUrl);
    ASSERT_TRUE(original) << original.error().message;
    EXPECT_EQ(test::text(*original), "right " + std::to_string(i));
    ++taken;
    while (followed.load() <= i) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(origin.server.connections(), 3) << "one that brought too much is used no more";
}

TEST(OriginAttack, ATlsHandshakeThatIsNone) {
  Origin garbage([](Connection& connection) { (void)connection.read_head(); });
  EXPECT_EQ(kind(garbage.fetch("https://images.test/a")), FetchErrorKind::kTls);
  SourceSettings settings = remote();
  settings.dial_timeout = milliseconds(150);
  settings.tls_timeout = milliseconds(150);
  settings.download_timeout = milliseconds(20'000);
  Origin silent([](Connection& connection) { connection.stall(10'000); }, settings);
  EXPECT_EQ(kind(silent.fetch("https://images.test/a")), FetchErrorKind::kTimeout);
}

TEST(OriginAttack, NobodyListens) {
  std::uint16_t port = 0;
  {
    const test::OriginServer gone([](Connection&) {});
    port = gone.port();
  }
  test::FakeNetwork network(port);
  network.name("images.test", {{"93.184.215.14"}});
  auto sources = Sources::make(remote(), network.network());
  ASSERT_TRUE(sources);
  EXPECT_EQ(kind(test::fetch(*sources, kAttackedUrl)), FetchErrorKind::kConnect);
}

TEST(OriginAttack, ANameServerThatDoesNotAnswerCostsItsOwnFetchAlone) {
  test::OriginServer server(answering([](const std::string&) { return ok("bytes"); }));
  test::FakeNetwork fake(server.port());
  fake.name("images.test", {{"93.184.215.14"}});
  Network network = fake.network();
  std::latch release(1);
  network.resolve = [&, resolve = network.resolve](const std::string& host) {
    if (host == "tar.test") release.wait();
    return resolve(host);
  };
  SourceSettings settings = remote();
  settings.dial_timeout = milliseconds(2'000);
  settings.resolver_threads = 2;
  auto sources = Sources::make(settings, network);
  ASSERT_TRUE(sources);
  EXPECT_EQ(kind(test::fetch(*sources, "http://tar.test/a")), FetchErrorKind::kTimeout);
  EXPECT_TRUE(test::fetch(*sources, kAttackedUrl));
  release.count_down();
}

TEST(OriginAttack, CancelledFetchesAreAnsweredAtOnce) {
  SourceSettings settings = remote();
  settings.connections_per_origin = 1;
  settings.download_timeout = milliseconds(20'000);
  std::latch asked(1);
  Origin origin(
      [&](Connection& connection) {
        if (connection.read_head().empty()) return;
        asked.count_down();
        connection.stall(10'000);
      },
      settings);
  std::stop_source running;
  std::stop_source waiting;
  std::vector<std::promise<FetchErrorKind>> answers(3);
  const auto start = [&](std::size_t at, std::stop_token stop) {
    FetchRequest request;
    request.url = kAttackedUrl;
    request.stop = std::move(stop);
    ASSERT_TRUE(origin.sources->fetch(
        request, [&, at](const auto& original) { answers[at].set_value(kind(original)); }));
  };
  start(0, running.get_token());
  asked.wait();
  start(1, waiting.get_token());
  waiting.request_stop();
  EXPECT_EQ(answers[1].get_future().get(), FetchErrorKind::kCancelled);
  running.request_stop();
  EXPECT_EQ(answers[0].get_future().get(), FetchErrorKind::kCancelled);
  start(2, running.get_token());
  EXPECT_EQ(answers[2].get_future().get(), FetchErrorKind::kCancelled) << "stopped before it began";
}

TEST(OriginAttack, TheEndAnswersEverything) {
  std::atomic<int> cancelled = 0;
  {
    SourceSettings settings = remote();
    settings.connections_per_origin = 2;
    Origin origin([](Connection& connection) { connection.stall(10'000); }, settings);
    for (int i = 0; i < 20; ++i) {
      FetchRequest request;
      request.url = kAttackedUrl;
      ASSERT_TRUE(origin.sources->fetch(request, [&](const auto& original) {
        cancelled += kind(original) == FetchErrorKind::kCancelled ? 1 : 0;
      }));
    }
  }
  EXPECT_EQ(cancelled.load(), 20);
}

TEST(OriginAttack, NoMoreWaitThanMay) {
  SourceSettings settings = remote();
  settings.connections = 2;
  settings.waiting = 3;
  settings.download_timeout = milliseconds(20'000);
  Origin origin([](Connection& connection) { connection.stall(10'000); }, settings);
  std::atomic<int> answered = 0;
  int taken = 0;
  for (int i = 0; i < 50; ++i) {
    FetchRequest request;
    request.url = kAttackedUrl;
    const auto begun = origin.sources->fetch(request, [&](const auto&) { ++answered; });
    if (begun) {
      ++taken;
    } else {
      EXPECT_EQ(begun.error().kind, FetchErrorKind::kBusy);
    }
  }
  EXPECT_EQ(taken, 5);
  origin.sources.reset();
  EXPECT_EQ(answered.load(), 5);
}

TEST(OriginAttack, WhatACallerThrowsEndsNothing) {
  Origin origin(answering([](const std::string&) { return ok("bytes"); }));
  std::promise<void> called;
  FetchRequest request;
  request.url = kAttackedUrl;
  ASSERT_TRUE(origin.sources->fetch(request, [&](const auto&) {
    called.set_value();
    throw std::runtime_error("a caller's fault");
  }));
  called.get_future().wait();
  EXPECT_TRUE(origin.fetch(kAttackedUrl));
}

TEST(OriginAttack, MemoryThatRunsOutIsAnsweredBusy) {
  SourceSettings settings = remote();
  std::atomic<bool> throws = true;
  settings.allocate = [&](std::size_t) -> Result<InputSlice> {
    if (throws) throw std::bad_alloc();
    return fail(StatusCode::kBusy, "none");
  };
  Origin origin(answering([](const std::string&) { return ok("bytes"); }), settings);
  EXPECT_EQ(kind(origin.fetch(kAttackedUrl)), FetchErrorKind::kBusy);
  throws = false;
  EXPECT_EQ(kind(origin.fetch(kAttackedUrl)), FetchErrorKind::kBusy);
}

// Many origins that announce much and send nothing hold no more than the budget.
TEST(OriginAttack, LengthsThatAreOnlyAnnouncedStayInTheBudget) {
  SourceSettings settings = remote();
  settings.max_bytes = 1'000'000;
  settings.max_bytes_under_way = 3'000'000;
  settings.download_timeout = milliseconds(120'000);
  std::atomic<std::size_t> held = 0;
  settings.allocate = [&](std::size_t bytes) -> Result<InputSlice> {
    held += bytes;
    auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes);
    return InputSlice{*memory, memory};
  };
  Origin origin(
      [](Connection& connection) {
        if (connection.read_head().empty()) return;
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        connection.stall(120'000);
      },
      settings);
  constexpr int kAll = 10;
  std::atomic<int> busy = 0;
  std::atomic<int> answered = 0;
  std::stop_source stop;
  for (int i = 0; i < kAll; ++i) {
    FetchRequest request;
    request.url = kAttackedUrl;
    request.stop = stop.get_token();
    ASSERT_TRUE(origin.sources->fetch(request, [&](const auto& original) {
      ++answered;
      if (kind(original) == FetchErrorKind::kBusy) ++busy;
    }));
  }
  const auto wait_for = [](const std::atomic<int>& count, int wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (count < wanted && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  wait_for(busy, 7);
  EXPECT_EQ(answered, busy) << "the others' bytes do not come";
  stop.request_stop();
  wait_for(answered, kAll);
  EXPECT_EQ(answered, kAll);
  EXPECT_EQ(busy, 7);
  EXPECT_EQ(held.load(), 3'000'000U);
}

}  // namespace
}  // namespace framewire::service::source
