// Clients all of whose slots name the same bytes: what the service holds of them is bounded.
#include <gmock/gmock.h>
#include <algorithm>
#include <atomic>
#include <tests/service/local/raw_client.hpp>

namespace framewire::service::local::test {
namespace {

/// An engine that reads copies, as workers do, and counts what it is given.
class CountingEngine final : public PictureEngine {
 public:
  CountingEngine(Engine& engine, std::size_t at_once) : engine_(engine), at_once_(at_once) {}

  Result<InputSlice> input_slice(std::size_t bytes) override {
    ++copies;
    return engine_.input_slice(bytes);
  }
  Result<RegisteredMemory> register_memory(std::span<std::uint8_t> /*memory*/) override {
    return RegisteredMemory();
  }
  bool needs_stable_inputs() const noexcept override { return true; }
  std::size_t try_submit(std::span<EngineRequest> requests,
                         std::function<void()> on_room) override {
    const bool refuses = requests.size() > at_once_;
    const std::size_t taken =
        engine_.try_submit(requests.first(std::min(requests.size(), at_once_)));
    submitted += taken;
    if (refuses && on_room) on_room();
    return taken;
  }
  void drain() override { engine_.drain(); }
  EngineStats stats() const override { return engine_.stats(); }
  std::vector<EngineDevice> devices() const override { return {}; }
  bool ready() const override { return true; }
  std::optional<WorkerFigures> workers() const override { return std::nullopt; }

  std::atomic<std::size_t> copies{0};
  std::atomic<std::size_t> submitted{0};

 private:
  OwnEngine engine_;
  const std::size_t at_once_;
};

class LocalInputBytesAttack : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 8;

  void start(std::size_t at_once) {
    pictures_ = std::make_unique<CountingEngine>(engine_, at_once);
    LocalServerOptions options;
    options.path = folder_.socket();
    server_.emplace(LocalServer::start(*pictures_, std::move(options)).value());
  }
  /// All slots at once, each with the same bytes.
  static void submit_all(RawClient& client, std::uint64_t bytes) {
    client.put_input(photo());
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      ASSERT_TRUE(client.push(RawClient::request(slot, 0, bytes)));
    }
    ASSERT_TRUE(soon([&] { return client.control().taken == kSlots; }));
  }
  static void expect_answers(RawClient& client) {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      const auto answer = client.take();
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->outcome, static_cast<std::uint32_t>(ipc::AnswerKind::kResized));
      client.push(RawClient::release(answer->offset));
    }
  }

  SocketFolder folder_;
  Engine engine_ = Engine::make(host_engine()).value();
  std::unique_ptr<CountingEngine> pictures_;
  std::optional<LocalServer> server_;
};

TEST_F(LocalInputBytesAttack, NoMoreIsInWorkThanTheClientsOwnMemoryHolds) {
  start(SIZE_MAX);
  constexpr std::uint64_t kArea = std::uint64_t{1} << 20;
  // The largest input that there can be, and one that fits twice.
  for (const std::uint64_t bytes : {kArea, kArea / 2}) {
    RawClient client(folder_.socket(), kSlots, kArea);
    HeldEngine held(engine_, 2);
    const std::size_t before = pictures_->submitted;
    submit_all(client, bytes);
    ASSERT_TRUE(soon([&] { return pictures_->submitted != before; }));
    // Time in which the others would come.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(pictures_->submitted - before, kArea / bytes);
    EXPECT_EQ(pictures_->copies, pictures_->submitted);
    held.release();
    expect_answers(client);
  }
  EXPECT_EQ(pictures_->submitted, 2 * kSlots);
}

TEST_F(LocalInputBytesAttack, AnInputThatWaitsForTheEngineIsCopiedOnce) {
  start(1);
  RawClient client(folder_.socket(), kSlots);
  submit_all(client, photo().size());
  expect_answers(client);
  EXPECT_EQ(pictures_->copies, kSlots);
}

}  // namespace
}  // namespace framewire::service::local::test
