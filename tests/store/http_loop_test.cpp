// What is left of an attempt that failed, for those that come after it in the same loop.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <store/s3/http_loops.hpp>
#include <tests/service/support/failing_memory.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store::s3 {
namespace {

using namespace framewire::test;

/// Asks one address after the other, with every option that requests to stores have.
class AskInTurn final : public HttpTask {
 public:
  AskInTurn(std::vector<std::string> urls, std::promise<std::vector<CURLcode>> codes)
      : urls_(std::move(urls)), codes_(std::move(codes)) {}

  std::optional<Next> prepare(CURL* easy) override {
    const bool good = set_common_options(easy, urls_[found_.size()]) &&
                      set_option(easy, CURLOPT_BUFFERSIZE, 256L * 1'024) &&
                      set_option(easy, CURLOPT_PROXY, "") &&
                      set_option(easy, CURLOPT_WRITEFUNCTION, &drop);
    if (good) return std::nullopt;
    return ended(CURLE_BAD_FUNCTION_ARGUMENT);
  }
  Next ended(CURLcode code) override {
    found_.push_back(code);
    if (found_.size() < urls_.size()) return base::Clock::now();
    codes_.set_value(found_);
    return std::nullopt;
  }
  bool cancelled() const noexcept override { return false; }
  void give_up(Status) noexcept override { codes_.set_value({}); }

 private:
  static std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
    return size * count;
  }

  const std::vector<std::string> urls_;
  std::promise<std::vector<CURLcode>> codes_;
  std::vector<CURLcode> found_;
};

// Its 200 would count as the server's answer, whatever that is.
TEST(HttpLoops, AProxysAnswerToConnectIsNotTheServers) {
  const ScriptedServer proxy([](const Asked& asked) {
    if (asked.method == "CONNECT") {
      return Scripted{"HTTP/1.1 200 Connection established\r\n\r\n", ""};
    }
    return reply(403, "no");
  });
  const CurlHandle easy(curl_easy_init());
  std::string heads;
  const auto take = +[](char* data, std::size_t size, std::size_t count, void* into) {
    static_cast<std::string*>(into)->append(data, size * count);
    return size * count;
  };
  ASSERT_TRUE(set_common_options(easy.get(), "http://bucket.test/key"));
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_PROXY, proxy.url().c_str()));
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_HTTPPROXYTUNNEL, 1L));
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_HEADERFUNCTION, take));
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_HEADERDATA, static_cast<void*>(&heads)));
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_WRITEFUNCTION, take));
  std::string body;
  ASSERT_TRUE(set_option(easy.get(), CURLOPT_WRITEDATA, static_cast<void*>(&body)));
  ASSERT_EQ(curl_easy_perform(easy.get()), CURLE_OK);
  EXPECT_EQ(proxy.requests(), 2u);
  EXPECT_TRUE(heads.starts_with("HTTP/1.1 403 ")) << heads;
}

TEST(HttpLoops, ANameThatCannotBeResolvedHarmsNoLaterRequest) {
  const ScriptedServer server([](const Asked&) { return reply(200, "here"); });
  HttpLoop loop(8);
  ASSERT_TRUE(loop.start());
  // No resolver looks for a name with an empty part.
  const std::string nowhere = "http://no..where/";
  std::promise<std::vector<CURLcode>> codes;
  auto got = codes.get_future();
  loop.submit(std::make_unique<AskInTurn>(
      std::vector<std::string>{server.url(), nowhere, server.url(), nowhere, nowhere, server.url()},
      std::move(codes)));
  constexpr CURLcode kMissed = CURLE_COULDNT_RESOLVE_HOST;
  EXPECT_EQ(got.get(),
            (std::vector<CURLcode>{CURLE_OK, kMissed, CURLE_OK, kMissed, kMissed, CURLE_OK}));
  EXPECT_EQ(server.requests(), 3u);
  EXPECT_EQ(server.connections(), 1u) << "connections outlive handles";
}

/// Waits for an attempt that never comes.
class NeverBegins final : public HttpTask {
 public:
  explicit NeverBegins(std::atomic<int>& given_up) : given_up_(given_up) {}
  std::optional<Next> prepare(CURL*) override { return base::Clock::now() + std::chrono::hours(1); }
  Next ended(CURLcode) override { return std::nullopt; }
  bool cancelled() const noexcept override { return false; }
  void give_up(Status why) noexcept override {
    if (why.code() == StatusCode::kCancelled) ++given_up_;
  }

 private:
  std::atomic<int>& given_up_;
};

TEST(HttpLoopsMemoryAttack, ALoopEndsWithoutMemoryToSayWhy) {
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 1'000);
    std::atomic<int> given_up = 0;
    auto loop = std::make_unique<HttpLoop>(8);
    ASSERT_TRUE(loop->start());
    for (int i = 0; i < 3; ++i) loop->submit(std::make_unique<NeverBegins>(given_up));
    const service::test::FailingMemory memory(n);
    loop.reset();
    EXPECT_EQ(given_up, 3) << "allocation " << n;
    failed = memory.failed();
  }
}

}  // namespace
}  // namespace framewire::store::s3
