// The HTTP server over a pool of workers.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <service/http/fallback_image.hpp>
#include <service/http/server.hpp>
#include <sstream>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/service/workers/pool_fixture.hpp>

namespace framewire::service::workers::test {
namespace {

using http::test::Answer;
using http::test::TestClient;
using http::test::text_of;

class HttpWorkersTest : public WorkerPoolTest {
 protected:
  void serve(unsigned workers) { serve(pool_options(workers)); }
  void serve(const WorkerPoolOptions& options) {
    start(options);
    http::ServiceSettings settings = http::test::loopback();
    settings.metrics = {"main"};
    auto server = http::Server::start(settings, *pool_, {});
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
  }
  [[nodiscard]] Answer ask(const std::string& request) const {
    TestClient client(server_->endpoints().front());
    return client.ask(request).value_or(Answer{});
  }

  std::unique_ptr<http::Server> server_;
};

TEST_F(HttpWorkersTest, AnswersTheBytesOfOneProcess) {
  serve(2);
  for (const int px : {40, 333, 900}) {
    const Bytes jpeg = make_jpeg(px, 200);
    const Answer answer = ask(http::test::post("/v1/resize?size=20x", text_of(jpeg)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, text_of(expected(jpeg)));
  }
  const Answer refused = ask(http::test::post("/v1/resize?size=20x", "no JPEG"));
  EXPECT_EQ(refused.status, 422);
}

TEST_F(HttpWorkersTest, RefusesQuarantinedBodies) {
  serve(2);
  const std::string request = http::test::post("/v1/resize?size=20x", text_of(faulty("crash")));
  for (int i = 0; i < 2; ++i) {
    const Answer answer = ask(request);
    EXPECT_EQ(answer.status, 422);
    EXPECT_NE(answer.body.find("quarantined"), std::string::npos) << answer.body;
  }
  const Answer metrics = ask(http::test::get("/metrics"));
  const auto has = [&](const std::string& line) {
    return metrics.body.find("\n" + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has("framewire_worker_deaths_total{cause=\"crash\"} 2")) << metrics.body;
  EXPECT_TRUE(has("framewire_quarantined_inputs 1"));
  EXPECT_TRUE(has("framewire_quarantined_requests_total 2"));
}

// Workers can write to whatever they share, and the fallback outlives every one of them.
TEST_F(HttpWorkersTest, KeepTheFallbackOutOfWorkersMemory) {
  const service::test::TemporaryFolder folder;
  http::ServiceSettings settings = http::test::loopback();
  settings.fallback_image = folder.write("f.jpg", text_of(make_jpeg(200, 100))).string();
  settings.source.root = folder.path().string();
  start(1);
  const std::string maps = [] {
    std::ifstream file("/proc/self/maps");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const auto fallback = http::FallbackImage::open(settings, *pool_);
  ASSERT_TRUE(fallback) << fallback.error().to_string();
  const auto at = reinterpret_cast<std::uintptr_t>(fallback->bytes().data());
  bool is_found = false;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    const auto dash = line.find('-');
    const bool holds = std::stoull(line, nullptr, 16) <= at &&
                       at < std::stoull(line.substr(dash + 1), nullptr, 16);
    is_found = is_found || (holds && line.find("memfd") != std::string::npos);
  }
  EXPECT_FALSE(is_found) << "in memory that a worker can write to";
  auto server = http::Server::start(settings, *pool_, {});
  ASSERT_TRUE(server) << server.error().to_string();
  server_ = std::move(*server);
  for (int i = 0; i < 2; ++i) {
    const Answer answer = ask(http::test::get("/unsafe/w:20/plain/none.jpg"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("fallback-image"), "1");
    const int before = pids().back();
    pool_->restart_workers();
    ASSERT_TRUE(soon([&] { return pids().back() != before; }));
  }
}

// A worker that dies while a body is being read into memory that it shares.
TEST_F(HttpWorkersTest, ReadsOnWhereAWorkerHasDied) {
  serve(1);
  const Bytes jpeg = make_jpeg(600, 400);
  const std::string request = http::test::post("/v1/resize?size=20x", text_of(jpeg));
  TestClient client(server_->endpoints().front());
  ASSERT_TRUE(client.send(request.substr(0, request.size() / 2)));
  ASSERT_TRUE(soon([&] { return server_->state().requests == 1; }));
  ASSERT_EQ(::kill(pids().front(), SIGKILL), 0);
  ASSERT_TRUE(soon([&] { return pool_->workers()->killed == 1; }));
  ASSERT_TRUE(client.send(request.substr(request.size() / 2)));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, text_of(expected(jpeg)));
}

// One start fails, as where a worker is killed while it starts.
TEST_F(HttpWorkersTest, RequestsWaitWhereAWorkerFailsToStartOnce) {
  const local::test::SocketFolder folder;
  const std::string program = folder.path() + "/worker";
  const std::string fault = folder.path() + "/fault";
  std::ofstream(program) << "#!/bin/sh\n[ ! -e '" << fault << "' ] || { /bin/rm '" << fault
                         << "'; exit 1; }\nexec " FRAMEWIRE_TEST_WORKER " \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  WorkerPoolOptions options = pool_options(1);
  options.command = {program};
  serve(options);
  std::ofstream(fault).put('1');
  ASSERT_EQ(::kill(pids().front(), SIGKILL), 0);
  EXPECT_EQ(ask(http::test::post("/v1/resize?size=20x", text_of(make_jpeg(60, 60)))).status, 200);
  EXPECT_TRUE(told("worker not started"));
  for (const WorkerEvent& event : events()) EXPECT_GE(event.pid, 0) << event.what;
}

// The worker's program is gone for a while, as in an upgrade that goes wrong.
TEST_F(HttpWorkersTest, SaysThatNoWorkerRunsAndRecovers) {
  const local::test::SocketFolder folder;
  const std::string program = folder.path() + "/worker";
  std::filesystem::create_symlink(FRAMEWIRE_TEST_WORKER, program);
  WorkerPoolOptions options = pool_options(1);
  options.command = {program};
  serve(options);
  const std::string request = http::test::post("/v1/resize?size=20x", text_of(make_jpeg(60, 60)));
  EXPECT_EQ(ask(http::test::get("/readyz")).status, 200);
  EXPECT_EQ(ask(request).status, 200);
  std::filesystem::remove(program);
  ASSERT_EQ(::kill(pids().front(), SIGKILL), 0);
  EXPECT_TRUE(soon([&] { return told("worker not started"); }));
  EXPECT_EQ(ask(http::test::get("/readyz")).status, 503);
  const Answer refused = ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("no worker process runs"), std::string::npos) << refused.body;
  // Why is for the log alone.
  EXPECT_EQ(refused.body.find(folder.path()), std::string::npos);
  std::filesystem::create_symlink(FRAMEWIRE_TEST_WORKER, program);
  EXPECT_TRUE(soon([&] { return ask(http::test::get("/readyz")).status == 200; }));
  EXPECT_EQ(ask(request).status, 200);
}

}  // namespace
}  // namespace framewire::service::workers::test
