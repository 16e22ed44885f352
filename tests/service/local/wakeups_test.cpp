// What a client costs that sleeps while answers come: one wake-up a group of them.
#include <framewire/completion_queue.hpp>
#include <list>
#include <service/pictures/picture_engine.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <tests/service/local/raw_client.hpp>

namespace framewire::service::local::test {
namespace {

/// Answers when it is told to, as many together as a GPU's batch has.
class BatchingEngine final : public PictureEngine {
 public:
  explicit BatchingEngine(Engine& engine) : engine_(engine) {}

  Result<InputSlice> input_slice(std::size_t bytes) override { return engine_.input_slice(bytes); }
  Result<RegisteredMemory> register_memory(std::span<std::uint8_t> memory) override {
    return engine_.register_memory(memory);
  }
  bool needs_stable_inputs() const noexcept override { return false; }
  using PictureEngine::try_submit;
  std::size_t try_submit(std::span<EngineRequest> requests, std::function<void()>) override {
    const std::lock_guard lock(mutex_);
    for (EngineRequest& request : requests) held_.push_back(std::move(request));
    return requests.size();
  }
  void drain() override {}
  EngineStats stats() const override { return {}; }
  std::vector<EngineDevice> devices() const override { return {}; }
  bool ready() const override { return true; }
  std::optional<WorkerFigures> workers() const override { return std::nullopt; }

  [[nodiscard]] std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void answer_all() {
    std::vector<EngineRequest> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(held_);
    }
    std::list<Completion> answers;
    for (const EngineRequest& request : batch) {
      Completion& answer = answers.emplace_back();
      answer.tag = request.tag;
      answer.result.emplace();
      answer.result->written = request.sink.room(100).value();
    }
    batch.front().completions->put(std::move(answers));
  }

 private:
  Engine& engine_;
  mutable std::mutex mutex_;
  std::vector<EngineRequest> held_;
};

class LocalWakeups : public LocalServerTest {
 protected:
  void start_batching() {
    engine_ = std::make_unique<Engine>(Engine::make(host_engine()).value());
    batching_.emplace(*engine_);
    LocalServerOptions options;
    options.path = folder_.socket();
    options.counters = &counters_;
    auto started = LocalServer::start(*batching_, std::move(options));
    ASSERT_TRUE(started) << started.error().to_string();
    server_.emplace(std::move(*started));
  }
  void TearDown() override {
    if (batching_ && batching_->held() != 0) batching_->answer_all();
    server_.reset();
  }

  ClientCounters counters_;
  std::optional<BatchingEngine> batching_;
};

TEST_F(LocalWakeups, AnswersThatComeTogetherCostOne) {
  start_batching();
  constexpr std::uint32_t kRequests = 24;
  // With room for outputs of the size that a server expects at first.
  RawClient client(folder_.socket(), kRequests, 1 << 20, 4 << 20);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::uint32_t slot = 0; slot < kRequests; ++slot) {
      ASSERT_TRUE(client.push(RawClient::request(slot, 0, 100)));
    }
    ASSERT_TRUE(soon([&] { return batching_->held() == kRequests; }));
    client.control().client_sleeps = ipc::kForNews;
    batching_->answer_all();
    EXPECT_EQ(counters_.wakeups, round);
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      const auto answer = client.take();
      ASSERT_TRUE(answer);
      ASSERT_TRUE(client.push(RawClient::release(answer->offset)));
    }
  }
  EXPECT_EQ(counters_.resized, 3 * kRequests);
  EXPECT_EQ(counters_.output_bytes, 3 * kRequests * 100);
  EXPECT_EQ(counters_.input_bytes, 3 * kRequests * 100);
}

TEST_F(LocalWakeups, WhoIsAwakeCostsNone) {
  start_batching();
  RawClient client(folder_.socket());
  ASSERT_TRUE(client.push(RawClient::request(0, 0, 100)));
  ASSERT_TRUE(soon([&] { return batching_->held() == 1; }));
  batching_->answer_all();
  ASSERT_TRUE(client.take());
  EXPECT_EQ(counters_.wakeups, 0u);
}

}  // namespace
}  // namespace framewire::service::local::test
