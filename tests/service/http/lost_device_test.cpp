// GPUs of the service's own engine that fail. There is none here: an engine answers as if.
#include <gtest/gtest.h>
#include <atomic>
#include <framewire/completion_queue.hpp>
#include <list>
#include <service/http/server.hpp>
#include <service/pictures/picture_engine.hpp>
#include <tests/service/http/image_server.hpp>

namespace framewire::service::http::test {
namespace {

/// Loses a GPU with the first requests, then makes pictures on the CPU.
class LosingEngine final : public PictureEngine {
 public:
  explicit LosingEngine(Engine& engine) : engine_(engine) {}

  Result<InputSlice> input_slice(std::size_t bytes) override { return engine_.input_slice(bytes); }
  Result<RegisteredMemory> register_memory(std::span<std::uint8_t> memory) override {
    return engine_.register_memory(memory);
  }
  bool needs_stable_inputs() const noexcept override { return false; }
  using PictureEngine::try_submit;
  std::size_t try_submit(std::span<EngineRequest> requests, std::function<void()>) override {
    std::size_t lost = 0;
    while (lost < requests.size() && losses_left_ > 0) {
      --losses_left_;
      std::list<Completion> one;
      one.emplace_back().tag = requests[lost].tag;
      one.front().result = fail(StatusCode::kDeviceLost, "lost by a test");
      requests[lost++].completions->put(std::move(one));
    }
    return lost + (lost == requests.size() ? 0 : engine_.try_submit(requests.subspan(lost)));
  }
  void drain() override { engine_.drain(); }
  EngineStats stats() const override { return engine_.stats(); }
  std::vector<EngineDevice> devices() const override {
    return {{0, "one", true}, {1, "two", false}};
  }
  bool ready() const override { return is_ready_; }
  std::optional<WorkerFigures> workers() const override { return std::nullopt; }

  std::atomic<int> losses_left_{0};
  std::atomic<bool> is_ready_{true};

 private:
  Engine& engine_;
};

class HttpLostDevice : public testing::Test {
 protected:
  void SetUp() override {
    ServiceSettings settings = loopback();
    settings.metrics = {"main"};
    auto server = Server::start(settings, losing_, {});
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
  }
  [[nodiscard]] Answer ask(const std::string& request) const {
    TestClient client(server_->endpoints().front());
    return client.ask(request).value_or(Answer{});
  }
  [[nodiscard]] bool has(const std::string& line) const {
    return ask(get("/metrics")).body.find("\n" + line + "\n") != std::string::npos;
  }

  Engine engine_ = Engine::make(engine_options(ServiceSettings{})).value();
  LosingEngine losing_{engine_};
  std::unique_ptr<Server> server_;
};

TEST_F(HttpLostDevice, APictureIsMadeElsewhere) {
  const std::string request = post("/v1/resize?size=20x", text_of(make_jpeg(400, 300)));
  const Answer right = ask(request);
  losing_.losses_left_ = 1;
  const Answer again = ask(request);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.body, right.body);
  EXPECT_TRUE(has("framewire_device_retries_total 1"));
  EXPECT_TRUE(has("framewire_devices{state=\"working\"} 1"));
  EXPECT_TRUE(has("framewire_devices{state=\"lost\"} 1"));
  EXPECT_TRUE(has("framewire_images_in_progress 0"));
}

TEST_F(HttpLostDevice, TheSecondLossIsToldTheClient) {
  losing_.losses_left_ = 2;
  const Answer lost = ask(post("/v1/resize?size=20x", text_of(make_jpeg(400, 300))));
  EXPECT_EQ(lost.status, 503) << lost.body;
  EXPECT_NE(lost.body.find("device_lost"), std::string::npos) << lost.body;
  EXPECT_EQ(ask(post("/v1/resize?size=20x", text_of(make_jpeg(400, 300)))).status, 200);
}

TEST_F(HttpLostDevice, WithoutAnyGpuForItsCodecItIsNotReady) {
  EXPECT_EQ(ask(get("/readyz")).status, 200);
  losing_.is_ready_ = false;
  EXPECT_EQ(ask(get("/readyz")).status, 503);
  EXPECT_EQ(ask(get("/livez")).status, 200);
}

}  // namespace
}  // namespace framewire::service::http::test
