// Servers that are there and do nothing: a client gives up those that are frozen, and waits for
// those that have much to do.
#include <algorithm>
#include <client/local_session.hpp>
#include <future>
#include <tests/service/local/child.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <thread>

namespace framewire::service::local::test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kShortPatience{3000};

/// A client whose patience is short.
class ImpatientClient {
 public:
  explicit ImpatientClient(const std::string& path, const ClientOptions& options = small_client())
      : session_(client::LocalSession::connect({path, options, kShortPatience}).value()),
        thread_([this] { session_->receive(); }) {}
  ~ImpatientClient() {
    outstanding_.wait_for_all();
    session_->close();
    thread_.join();
  }
  ImpatientClient(const ImpatientClient&) = delete;
  ImpatientClient& operator=(const ImpatientClient&) = delete;

  Result<InputSlice> input_slice(std::size_t bytes) { return session_->input_slice(bytes); }
  std::future<Result<Resized>> submit(std::span<const std::uint8_t> jpeg) {
    auto answer = std::make_shared<std::promise<Result<Resized>>>();
    client::Order order;
    order.jpeg = jpeg;
    order.options = session_->options().find(width(40));
    order.done = [answer](Result<Resized> made) { answer->set_value(std::move(made)); };
    order.ticket = outstanding_.begin_request();
    session_->submit({&order, 1}, true, {});
    return answer->get_future();
  }

 private:
  client::Outstanding outstanding_;
  std::shared_ptr<client::LocalSession> session_;
  std::thread thread_;
};

TEST(ConnectTries, GrowOnlyWhereTheyRanOutOfTime) {
  using std::chrono::seconds;
  const base::Clock::time_point begin(seconds(1000));
  client::ConnectTries tries(begin + seconds(100));
  EXPECT_EQ(tries.next(begin), begin + seconds(4));
  // Nobody listened.
  EXPECT_EQ(tries.next(begin + seconds(1)), begin + seconds(5));
  EXPECT_EQ(tries.next(begin + seconds(5)), begin + seconds(13));
  EXPECT_EQ(tries.next(begin + seconds(13)), begin + seconds(29));
  // Behind another 32 there would not be time for 64.
  EXPECT_EQ(tries.next(begin + seconds(29)), begin + seconds(100));
  EXPECT_FALSE(tries.are_over(begin + seconds(99)));
  EXPECT_TRUE(tries.are_over(begin + seconds(100)));
}

using LocalSilence = LocalServerTest;

TEST_F(LocalSilence, AFrozenServerCountsAsGone) {
  Child server(serve_at(folder_.socket()));
  ASSERT_TRUE(connect_soon(folder_.socket()));
  ImpatientClient client(folder_.socket());
  const Bytes file = photo();
  EXPECT_TRUE(client.submit(file).get());
  server.freeze();
  auto answer = client.submit(file);
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  const auto made = answer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("no sign of life"));
  server.kill();
}

// Then it serves the connection that its client has given up, too: it must not take the memory back
// in which inputs still lie that are handed in again.
TEST_F(LocalSilence, AServerThatThawsHarmsNoInput) {
  Child server(serve_at(folder_.socket()));
  ASSERT_TRUE(connect_soon(folder_.socket()));
  ClientOptions options = small_client();
  options.retries = 1;
  options.timeout = std::chrono::seconds(20);
  ImpatientClient client(folder_.socket(), options);
  const Bytes file = photo(1200, 900);
  const auto expected = client.submit(file).get();
  ASSERT_TRUE(expected);
  server.freeze();
  // More than the next connection has room for at once, so that some lie in the old memory for
  // long.
  std::vector<std::future<Result<Resized>>> answers;
  std::vector<InputSlice> slices;
  while (slices.size() < 30) {
    auto slice = client.input_slice(file.size());
    if (!slice) break;
    std::ranges::copy(file, slice->bytes.begin());
    answers.push_back(client.submit(slice->bytes));
    slices.push_back(*slice);
  }
  ASSERT_GT(slices.size(), 4u);
  for (std::size_t i = 2; i < slices.size(); ++i) {  // as many, in as large a part of the memory
    const Bytes own = file;
    answers.push_back(client.submit(own));
  }
  std::this_thread::sleep_for(kShortPatience + std::chrono::seconds(1));
  server.thaw();
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
    const auto made = answer.get();
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->bytes, expected->bytes);
  }
  server.kill();
}

TEST_F(LocalSilence, AServerWithMuchToDoIsWaitedFor) {
  start();
  ImpatientClient client(folder_.socket());
  const Bytes file = photo();
  HeldEngine held(*engine_, 2);
  auto answer = client.submit(file);
  EXPECT_EQ(answer.wait_for(2 * kShortPatience), std::future_status::timeout);
  held.release();
  EXPECT_TRUE(answer.get());
}

}  // namespace
}  // namespace framewire::service::local::test
