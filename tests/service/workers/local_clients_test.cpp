// Local clients of a service whose workers decode: served by the service, made by whoever is there.
#include <atomic>
#include <framewire/client.hpp>
#include <optional>
#include <random>
#include <service/local/local_server.hpp>
#include <tests/service/local/pictures_and_wishes.hpp>
#include <tests/service/local/raw_client.hpp>
#include <tests/service/workers/pool_fixture.hpp>

namespace framewire::service::workers::test {
namespace {

using local::LocalServer;
using local::LocalServerOptions;
using local::test::RawClient;
using local::test::small_client;

class LocalClientsOfWorkers : public WorkerPoolTest {
 protected:
  void serve(unsigned workers, LocalServerOptions options = {}) {
    start(workers);
    options.path = folder_.socket();
    options.counters = &counters_;
    options.under_way = 8;
    auto started = LocalServer::start(*pool_, std::move(options));
    ASSERT_TRUE(started) << started.error().to_string();
    server_.emplace(std::move(*started));
  }
  [[nodiscard]] Client connect() const {
    auto client = Client::connect(folder_.socket(), small_client());
    if (!client) throw std::runtime_error(client.error().to_string());
    return std::move(*client);
  }

  local::test::SocketFolder folder_;
  ClientCounters counters_;
  std::optional<LocalServer> server_;
};

TEST_F(LocalClientsOfWorkers, AnswersAreThoseOfAnEngine) {
  serve(2);
  Client client = connect();
  const Resizer alone;
  for (const Bytes& file : local::test::inputs()) {
    for (const ResizeOptions& options : local::test::wishes()) {
      SCOPED_TRACE(to_string(options) + " on " + std::to_string(file.size()) + " bytes");
      const auto served = client.resize(file, options);
      const auto made = alone.resize(file, options);
      ASSERT_EQ(served.has_value(), made.has_value())
          << (served ? made.error().to_string() : served.error().to_string());
      if (made) {
        EXPECT_EQ(served->bytes, made->bytes);
      } else {
        EXPECT_EQ(served.error().to_string(), made.error().to_string());
      }
    }
  }
  EXPECT_FALSE(client.lost());
}

TEST_F(LocalClientsOfWorkers, KilledWorkersCostNoRequest) {
  serve(2);
  Client client = connect();
  constexpr std::size_t kFiles = 6;
  constexpr int kRounds = 40;
  std::vector<Bytes> files;
  std::vector<Bytes> right;
  for (std::size_t i = 0; i < kFiles; ++i) {
    files.push_back(make_jpeg(300 + static_cast<int>(i), 200));
    right.push_back(expected(files.back()));
  }
  std::atomic<std::size_t> good{0};
  std::atomic<std::size_t> answered{0};
  std::mt19937 random(5);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<EngineRequest> requests;
    for (std::size_t i = 0; i < kFiles; ++i) {
      requests.push_back({files[i], width(20), [&, i](const Result<Resized>& made) {
                            if (made && made->bytes == right[i]) ++good;
                            ++answered;
                          }});
    }
    client.submit(requests);
    const auto alive = pids();
    if (round % 8 == 3 && !alive.empty()) ::kill(alive[random() % alive.size()], SIGKILL);
  }
  client.drain();
  EXPECT_EQ(answered, kRounds * kFiles);
  EXPECT_EQ(good, kRounds * kFiles);
  EXPECT_GE(pool_->workers()->killed, 1u);
  EXPECT_EQ(counters_.resized, kRounds * kFiles);
  EXPECT_EQ(counters_.failed + counters_.refused, 0u);
}

TEST_F(LocalClientsOfWorkers, AFileThatEndsWorkersCostsItsOwnRequestAlone) {
  serve(2);
  Client client = connect();
  Client other = connect();
  const Bytes bad = faulty("crash");
  const Bytes good = make_jpeg(90, 90);
  const auto refused = client.resize(bad, width(20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_NE(refused.error().message().find("quarantined"), std::string::npos);
  EXPECT_EQ(client.resize(good, width(20)).value().bytes, expected(good));
  EXPECT_EQ(other.resize(good, width(20)).value().bytes, expected(good));
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
}

// Whoever changes a file under the service's hands has what it sent first quarantined, not what it
// wrote there afterwards: another's picture, say.
TEST_F(LocalClientsOfWorkers, AnInputThatIsChangedAccusesNoOther) {
  serve(1);
  RawClient liar(folder_.socket());
  const Bytes innocent = make_jpeg(90, 90);
  Bytes bad = innocent;
  const std::string mark = "fw-fault:crash";
  std::ranges::copy(mark, bad.end() - static_cast<std::ptrdiff_t>(mark.size()));
  liar.put_input(bad);
  ASSERT_TRUE(liar.push(RawClient::request(0, 0, bad.size())));
  ASSERT_TRUE(soon([&] { return pool_->workers()->crashed >= 1; }));
  liar.put_input(innocent);
  ASSERT_TRUE(soon([&] { return pool_->workers()->quarantined == 1; }));
  Client client = connect();
  EXPECT_EQ(client.resize(innocent, width(20)).value().bytes, expected(innocent));
  EXPECT_FALSE(client.resize(bad, width(20)));
}

TEST_F(LocalClientsOfWorkers, InputsBeyondTheLimitAreRefusedUncopied) {
  LocalServerOptions options;
  options.limits.max_input_bytes = 4096;
  serve(1, std::move(options));
  Client client = connect();
  const auto refused = client.resize(Bytes(100'000, 0xFF), width(20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge) << refused.error().to_string();
}

TEST_F(LocalClientsOfWorkers, ADrainingServerAnswersWhatItHasTaken) {
  serve(2);
  Client client = connect();
  const Bytes file = make_jpeg(400, 300);
  std::atomic<int> made{0};
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 30; ++i) {
    requests.push_back(
        {file, width(20), [&](const Result<Resized>& result) { made += result ? 1 : 0; }});
  }
  const std::uint64_t before = counters_.input_bytes;
  client.submit(requests);
  ASSERT_TRUE(soon([&] { return counters_.input_bytes - before == 30 * file.size(); }));
  EXPECT_TRUE(server_->drain(local::test::kPatience));
  client.drain();
  EXPECT_EQ(made, 30);
  server_.reset();
  EXPECT_EQ(counters_.connections, 0u);
}

}  // namespace
}  // namespace framewire::service::workers::test
