// A server that gets too few threads is refused, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/service/http/client.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

TEST(StartAttack, EveryThreadOfAServerIsRefused) {
  const service::test::TemporaryFolder folder;
  ServiceSettings settings = loopback();
  settings.threads = 2;
  settings.inspect_threads = 2;
  settings.cache_dir = (folder.path() / "cache").string();
  auto engine = Engine::make(engine_options(settings));
  ASSERT_TRUE(engine) << engine.error().to_string();
  long refused = 0;
  long n = 1;
  for (bool failed = true; failed && n < 100; ++n) {
    const service::test::FailingThreads failing(n);
    const auto server = Server::start(settings, *engine, [](std::string_view) {});
    failed = failing.failed();
    EXPECT_TRUE(server || failed) << n;
    if (server) continue;
    ++refused;
    EXPECT_EQ(server.error().code(), StatusCode::kBusy) << n << server.error().to_string();
    EXPECT_THAT(server.error().message(), testing::HasSubstr("cannot start the thread fw-")) << n;
  }
  // The log's, the cache's three at least, the scraper's, two for inspections, two of sockets.
  EXPECT_GE(refused, 9);
}

}  // namespace
}  // namespace framewire::service::http::test
