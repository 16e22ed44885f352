// Clients and servers that end in the middle of work, as processes of their own.
//
// Each process is forked while this one has no threads yet.
#include <unistd.h>
#include <atomic>
#include <deque>
#include <tests/service/local/child.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <thread>

namespace framewire::service::local::test {
namespace {

using LocalLives = LocalServerTest;

TEST_F(LocalLives, AClientThatIsKilledInTheMiddleCostsNobodyElse) {
  const auto flood = [path = folder_.socket()] {
    auto client = connect_soon(path);
    if (!client) return;
    const Bytes file = photo(1200, 900);
    for (;;) client->submit(file, width(80), [](const Result<Resized>&) {});
  };
  Child first(flood);
  Child second(flood);
  start();
  ASSERT_TRUE(
      soon([&] { return server_->stats().clients == 2 && engine_->stats().host_images > 20; }));
  Client honest = connect();
  const auto expected = engine_->resize(photo(), width(60)).value().bytes;
  first.kill();
  EXPECT_EQ(honest.resize(photo(), width(60)).value().bytes, expected);
  second.kill();
  EXPECT_EQ(honest.resize(photo(), width(60)).value().bytes, expected);
  EXPECT_TRUE(ended(StatusCode::kPeerLost));
  EXPECT_TRUE(soon([&] { return server_->stats().clients == 1; }));
  // All that a client maps counts, with what its slots take.
  const auto only = small_client();
  const auto layout = ipc::Layout::make({only.slots, only.input_bytes, only.output_bytes});
  EXPECT_EQ(server_->stats().total_bytes, layout->total);
  EXPECT_GT(layout->total, only.input_bytes + only.output_bytes);
}

TEST_F(LocalLives, AServerThatIsKilledAnswersEveryRequestOnce) {
  Child server(serve_at(folder_.socket()));
  auto client = connect_soon(folder_.socket());
  ASSERT_TRUE(client) << client.error().to_string();
  const Bytes file = photo(1200, 900);
  std::deque<std::atomic<int>> answers;
  std::atomic<int> resized{0};
  std::atomic<int> lost{0};
  std::atomic<bool> over{false};
  std::thread submitter([&] {
    while (!over) {
      std::atomic<int>& count = answers.emplace_back(0);
      client->submit(file, width(80), [&](const Result<Resized>& made) {
        ++count;
        if (made) ++resized;
        if (!made && made.error().code() == StatusCode::kPeerLost) ++lost;
      });
    }
  });
  ASSERT_TRUE(soon([&] { return resized > 20; }));
  server.kill();
  EXPECT_TRUE(soon([&] { return lost > 0; }));
  over = true;
  submitter.join();  // who waited for room is answered, too
  client->drain();
  for (const auto& count : answers) EXPECT_EQ(count, 1);
  EXPECT_EQ(static_cast<std::size_t>(resized + lost), answers.size());
  ASSERT_TRUE(client->lost());
  EXPECT_EQ(client->lost()->code(), StatusCode::kPeerLost);
  EXPECT_EQ(client->resize(file, {}).error().code(), StatusCode::kPeerLost);
  EXPECT_FALSE(client->input_slice(100));
  // The file that the dead server has left is replaced by the next one's.
  start();
  EXPECT_TRUE(connect().resize(photo(), width(40)));
}

TEST_F(LocalLives, AServerThatEndsInOrderSaysSo) {
  start();
  Client client = connect();
  const Bytes file = photo(1200, 900);
  std::atomic<int> answered{0};
  for (int i = 0; i < 30; ++i) {
    client.submit(file, width(80), [&](const Result<Resized>&) { ++answered; });
  }
  server_.reset();
  client.drain();
  EXPECT_EQ(answered, 30);
  ASSERT_TRUE(client.lost());
  EXPECT_EQ(client.lost()->code(), StatusCode::kPeerLost);
  EXPECT_TRUE(ended(StatusCode::kCancelled));
}

}  // namespace
}  // namespace framewire::service::local::test
