// Clients that write what they like into the memory that they share with the server.
#include <gmock/gmock.h>
#include <atomic>
#include <random>
#include <service/local/output_allocator.hpp>
#include <tests/service/local/raw_client.hpp>

namespace framewire::service::local::test {
namespace {

using testing::HasSubstr;

class LocalRingAttack : public LocalServerTest {
 protected:
  void SetUp() override { start(); }
  /// Ends the test with an honest client, whom nothing of this may have harmed.
  void TearDown() override {
    const auto expected = engine_->resize(photo(), width(60)).value().bytes;
    Client client = connect();
    EXPECT_EQ(client.resize(photo(), width(60)).value().bytes, expected);
  }
  /// Expects the server to end the connection because of what it found.
  void expect_end(const RawClient& client, std::string_view found) {
    const Status said = client.last_word();
    EXPECT_EQ(said.code(), StatusCode::kInvalidInput) << said.to_string();
    EXPECT_THAT(said.message(), HasSubstr(std::string(found)));
    EXPECT_TRUE(ended(StatusCode::kInvalidInput));
  }
  [[nodiscard]] RawClient raw(std::uint32_t slots = 8) const {
    return RawClient(folder_.socket(), slots);
  }
};

TEST_F(LocalRingAttack, AnIndexFarAheadEndsTheConnection) {
  RawClient client = raw();
  client.control().submitted = std::uint64_t{1} << 40;
  client.ring_the_bell();
  expect_end(client, "index of what the client has submitted");
}

TEST_F(LocalRingAttack, AnIndexThatGoesBackEndsTheConnection) {
  RawClient client = raw();
  ASSERT_TRUE(client.push(RawClient::cancel(0)));
  ASSERT_TRUE(soon([&] { return client.control().taken == 1; }));
  client.control().submitted = 0;
  client.ring_the_bell();
  expect_end(client, "index of what the client has submitted");
}

TEST_F(LocalRingAttack, ReceivingWhatWasNeverAnsweredEndsTheConnection) {
  RawClient client = raw();
  client.control().received = 5;
  client.push(RawClient::request(0, 0, 10));
  expect_end(client, "index of what the client has received");
}

TEST_F(LocalRingAttack, AnUnknownCommandEndsTheConnection) {
  RawClient client = raw();
  client.push({77, 0, 0, 0, 0, 0});
  expect_end(client, "command 77");
}

TEST_F(LocalRingAttack, InputsStayInTheirArea) {
  const std::uint64_t area = 1 << 20;
  const std::pair<std::uint64_t, std::uint64_t> ranges[] = {
      {0, area + 1},
      {area, 1},
      {area - 1, 2},
      {UINT64_MAX, 1},
      {1, UINT64_MAX},
      {UINT64_MAX - 5, 100},
      {std::uint64_t{1} << 63, std::uint64_t{1} << 63}};
  for (const auto& [offset, bytes] : ranges) {
    RawClient client = raw();
    client.push(RawClient::request(0, offset, bytes));
    expect_end(client, "lies outside");
  }
  RawClient client = raw();  // the whole of it, and nothing at its very end, are inside
  client.push(RawClient::request(0, 0, area));
  EXPECT_EQ(client.take()->outcome, static_cast<std::uint32_t>(ipc::AnswerKind::kFailed));
  client.push(RawClient::request(0, area, 0));
  EXPECT_EQ(client.take()->outcome, static_cast<std::uint32_t>(ipc::AnswerKind::kFailed));
}

TEST_F(LocalRingAttack, SlotsThatAreNotThereEndTheConnection) {
  for (const std::uint32_t slot : {8u, 9u, 0xFFFFFFFFu}) {
    RawClient client = raw();
    client.push(RawClient::request(slot, 0, 10));
    expect_end(client, "found slot");
    RawClient other = raw();
    other.push(RawClient::cancel(slot));
    expect_end(other, "found slot");
  }
}

TEST_F(LocalRingAttack, OptionsThatAreTooLongEndTheConnection) {
  RawClient client = raw();
  client.push(RawClient::request(0, 0, 10, ipc::kMaxOptionsBytes + 1));
  expect_end(client, "bytes of options");
}

TEST_F(LocalRingAttack, OptionsThatAreNoneAreAnErrorOfTheRequest) {
  RawClient client = raw();
  const std::string_view texts[] = {"width",      "size=0x0", "size=10x rm=-rf",
                                    "=",          "  ",       std::string_view("size=\0", 6),
                                    "quality=101"};
  for (const std::string_view text : texts) {
    client.put_options(0, text);
    client.push(RawClient::request(0, 0, 10, static_cast<std::uint32_t>(text.size())));
    const auto answer = client.take();
    ASSERT_TRUE(answer);
    EXPECT_EQ(client.error(*answer).code(), StatusCode::kInvalidInput) << text;
  }
}

TEST_F(LocalRingAttack, ASlotInUseIsNotGivenTwice) {
  RawClient client = raw();
  const HeldEngine held(*engine_, 2);
  const Bytes file = photo();
  client.put_input(file);
  client.push(RawClient::request(3, 0, file.size()));
  client.push(RawClient::request(3, 0, file.size()));
  expect_end(client, "used again");
}

TEST_F(LocalRingAttack, WhoReadsNoAnswersGetsNoMoreThanSlots) {
  RawClient client = raw(4);
  for (int round = 0; round < 4; ++round) {
    client.push(RawClient::request(static_cast<std::uint32_t>(round), 0, 10));
    ASSERT_TRUE(client.take(false));
  }
  client.push(RawClient::request(0, 0, 10));
  expect_end(client, "before answers were taken");
}

TEST_F(LocalRingAttack, OnlyWhatWasHandedOverCanBeReleased) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{64}, UINT64_MAX}) {
    RawClient client = raw();
    client.push(RawClient::release(offset));
    expect_end(client, "to release");
  }
  RawClient client = raw();
  client.put_input(photo());
  client.push(RawClient::request(0, 0, photo().size()));
  const auto answer = client.take();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->outcome, static_cast<std::uint32_t>(ipc::AnswerKind::kResized));
  client.push(RawClient::release(answer->offset));
  ASSERT_TRUE(soon([&] { return client.control().taken == 2; }));
  client.push(RawClient::release(answer->offset));  // a second time
  expect_end(client, "to release");
}

// Guesses offsets while the engine writes there: none may be given to a second request meanwhile.
TEST_F(LocalRingAttack, WhatIsBeingWrittenCannotBeReleased) {
  RawClient client = raw();
  const Bytes file = photo(1000, 800);
  client.put_input(file);
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    client.push(RawClient::request(slot, 0, file.size()));
  }
  client.push(RawClient::release(1 << 17));
  expect_end(client, "to release");
}

/// Whoever leaves and keeps what it was given: no page of it is the server's any more.
TEST_F(LocalRingAttack, WhoLeavesKeepsNoPages) {
  RawClient client = raw();
  const ipc::SharedPages& pages = client.pages();
  const std::array areas{pages.input_with_guard(), pages.output()};
  for (const std::span<std::uint8_t> area : areas) std::ranges::fill(area, std::uint8_t{7});
  EXPECT_EQ(server_->stats().clients, 1u);
  ASSERT_EQ(::shutdown(client.socket(), SHUT_RDWR), 0);
  ASSERT_TRUE(soon([&] { return server_->stats().total_bytes == 0; }));
  EXPECT_EQ(client.control().magic[0], 0);
  for (const std::span<std::uint8_t> area : areas) {
    EXPECT_TRUE(std::ranges::all_of(area, [](std::uint8_t byte) { return byte == 0; }));
  }
}

TEST_F(LocalRingAttack, WhoIsSentAwayForALieKeepsNoPages) {
  RawClient client = raw();
  std::ranges::fill(client.pages().input(), std::uint8_t{7});
  client.push({9, 0, 0, 0, 0, 0});
  ASSERT_TRUE(soon([&] { return server_->stats().total_bytes == 0; }));
  EXPECT_TRUE(std::ranges::all_of(client.pages().input(), [](auto byte) { return byte == 0; }));
}

TEST_F(LocalRingAttack, CancellingWhatIsIdleIsHarmless) {
  RawClient client = raw();
  for (int i = 0; i < 1000; ++i) {
    while (!client.push(RawClient::cancel(static_cast<std::uint32_t>(i % 8)))) {
      std::this_thread::yield();
    }
  }
  client.put_input(photo());
  client.push(RawClient::request(0, 0, photo().size()));
  EXPECT_EQ(client.take()->outcome, static_cast<std::uint32_t>(ipc::AnswerKind::kResized));
}

// Outputs that nobody gives back: the server's own memory for them is bounded too.
TEST_F(LocalRingAttack, WhoReleasesNothingIsKeptWaiting) {
  RawClient client = raw();
  const Bytes file = photo(600, 400);
  client.put_input(file);
  const auto stream = engine_->resize(file, {}).value().bytes.size();
  const auto fit = (256 << 10) / OutputAllocator::rounded(stream);
  std::size_t answered = 0;
  std::vector<std::uint32_t> free{0, 1, 2, 3, 4, 5, 6, 7};
  for (; !free.empty(); ++answered) {
    for (const std::uint32_t slot : free) client.push(RawClient::request(slot, 0, file.size()));
    free.clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    while (client.pages().control().completed > answered + free.size()) {
      free.push_back(client.take()->slot);
    }
    answered += free.size();
    if (answered > 2 * fit) break;
    if (!free.empty()) --answered;
  }
  EXPECT_LE(answered, fit + 1);
}

TEST_F(LocalRingAttack, InputsThatChangeWhileTheyAreReadHarmNobody) {
  RawClient client = raw();
  const Bytes file = photo(640, 480);
  client.put_input(file);
  std::atomic<bool> stop{false};
  std::thread scribbler([&] {
    std::mt19937 random(1);
    const auto input = client.pages().input();
    while (!stop) {
      const std::size_t at = random() % file.size();
      input[at] = static_cast<std::uint8_t>(random());
      if (random() % 64 == 0) client.put_input(file);
    }
  });
  Client honest = connect();
  const auto expected = engine_->resize(photo(), width(60)).value().bytes;
  for (int i = 0; i < 100; ++i) {
    client.push(RawClient::request(0, 0, file.size()));
    const auto answer = client.take();
    ASSERT_TRUE(answer);
    if (answer->outcome == static_cast<std::uint32_t>(ipc::AnswerKind::kResized)) {
      client.push(RawClient::release(answer->offset));
    }
    EXPECT_EQ(honest.resize(photo(), width(60)).value().bytes, expected);
  }
  stop = true;
  scribbler.join();
}

// Everything that can be written is, again and again, while work goes on.
TEST_F(LocalRingAttack, ScribblingOverAllOfTheMemoryHarmsNobody) {
  Client honest = connect();
  const auto expected = engine_->resize(photo(), width(60)).value().bytes;
  for (unsigned seed = 0; seed < 30; ++seed) {
    RawClient client = raw();
    client.put_input(photo());
    std::mt19937 random(seed);
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
      client.push(RawClient::request(slot, 0, photo().size()));
    }
    auto* const memory = reinterpret_cast<std::uint64_t*>(&client.control());
    const std::size_t words = client.pages().layout().total / sizeof(std::uint64_t);
    const std::size_t head = client.pages().layout().reports / sizeof(std::uint64_t);
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t at = random() % (i % 4 == 0 ? words : head);
      const std::uint64_t value = random() % 3 == 0 ? random() % 16 : random();
      reinterpret_cast<std::atomic<std::uint64_t>*>(memory)[at].store(value);
      if (i % 100 == 0) client.ring_the_bell();
    }
    EXPECT_EQ(honest.resize(photo(), width(60)).value().bytes, expected);
  }
}

}  // namespace
}  // namespace framewire::service::local::test
