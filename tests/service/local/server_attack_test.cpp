// Servers that lie to a client.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <client/local_session.hpp>
#include <future>
#include <tests/service/local/raw_client.hpp>
#include <thread>

namespace framewire::service::local::test {
namespace {

using testing::HasSubstr;

/// Whoever listens at a path, and greets as it likes.
class LocalHostileServerAttack : public testing::Test {
 protected:
  static constexpr ipc::AreaSizes kSizes{4, 128 << 10, 64 << 10};

  LocalHostileServerAttack() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, folder_.socket().data(), folder_.socket().size());
    listening_ = base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0 ||
        ::listen(listening_.get(), 4) != 0) {
      throw std::runtime_error("cannot listen");
    }
  }
  /// Asks for what our memory has.
  static ClientOptions modest_client() {
    ClientOptions options = small_client();
    options.input_bytes = kSizes.input_bytes;
    options.output_bytes = kSizes.output_bytes;
    return options;
  }
  /// Accepts a client, and answers its greeting with these.
  void greet(const ipc::Word& word, std::span<const int> files) {
    peer_.emplace(base::FileDescriptor(::accept(listening_.get(), nullptr, nullptr)));
    ipc::Hello hello;
    ASSERT_TRUE(peer_->receive(std::as_writable_bytes(std::span(&hello, 1)),
                               base::Clock::now() + kPatience));
    ASSERT_TRUE(peer_->send(std::as_bytes(std::span(&word, 1)), files));
  }
  [[nodiscard]] Status refusal(const ipc::Word& word, std::span<const int> files) {
    std::thread server([&] { greet(word, files); });
    ClientOptions options = modest_client();
    options.timeout = std::chrono::seconds(30);
    auto client = Client::connect(folder_.socket(), options);
    server.join();
    return client ? Status(StatusCode::kInternal, "was believed") : client.error();
  }
  /// A client that believes us.
  [[nodiscard]] Client connect(std::uint32_t retries = 0) {
    pages_.emplace(ipc::SharedPages::make(kSizes).value());
    std::thread server([&] { greet(good_word(), std::array{pages_->fd()}); });
    ClientOptions options = modest_client();
    options.retries = retries;
    auto client = Client::connect(folder_.socket(), options);
    server.join();
    return std::move(client.value());
  }
  static ipc::Word good_word() {
    ipc::Word word;
    word.slots = kSizes.slots;
    word.input_bytes = kSizes.input_bytes;
    word.output_bytes = kSizes.output_bytes;
    return word;
  }
  void complete(const ipc::CompletionEntry& entry) {
    ipc::RingWriter<ipc::CompletionEntry> writer(pages_->completions());
    ASSERT_TRUE(writer.push(entry));
    writer.publish();
    (void)::send(peer_->fd(), "w", 1, MSG_NOSIGNAL);
  }
  /// What becomes of a request that is answered so.
  [[nodiscard]] Status answer_of(const ipc::CompletionEntry& entry) {
    Client client = connect();
    auto answer = client.submit(photo(), {});
    EXPECT_TRUE(soon([&] { return pages_->control().submitted == 1; }));
    complete(entry);
    auto result = answer.get();
    return result ? Status(StatusCode::kInternal, "was believed") : result.error();
  }

  SocketFolder folder_;
  base::FileDescriptor listening_;
  std::optional<transport::shared::LocalPeer> peer_;
  std::optional<ipc::SharedPages> pages_;
};

TEST_F(LocalHostileServerAttack, MemoryThatCouldFailUsIsRefused) {
  EXPECT_EQ(refusal(good_word(), {}).code(), StatusCode::kPeerLost);
  const auto pages = ipc::SharedPages::make(kSizes).value();
  auto word = good_word();
  word.input_bytes += ipc::kPageBytes;  // more than there is
  EXPECT_EQ(refusal(word, std::array{pages.fd()}).code(), StatusCode::kPeerLost);
  word.input_bytes = UINT64_MAX;
  EXPECT_EQ(refusal(word, std::array{pages.fd()}).code(), StatusCode::kPeerLost);
  word = good_word();
  word.slots = UINT32_MAX;
  EXPECT_EQ(refusal(word, std::array{pages.fd()}).code(), StatusCode::kPeerLost);
  const base::FileDescriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<off_t>(pages.layout().total)), 0);
  EXPECT_EQ(refusal(good_word(), std::array{unsealed.get()}).code(), StatusCode::kPeerLost);
  word = good_word();
  word.version = 9;
  EXPECT_EQ(refusal(word, std::array{pages.fd()}).code(), StatusCode::kUnsupported);
}

TEST_F(LocalHostileServerAttack, WhatIsNoWordIsNotTheClientsFault) {
  for (const std::size_t bytes :
       {std::size_t{1}, sizeof(ipc::Word) - 1, sizeof(ipc::Word) + 1, std::size_t{5000}}) {
    std::jthread server([&] {
      const base::FileDescriptor client(::accept(listening_.get(), nullptr, nullptr));
      const Bytes garbage(bytes, 0);
      (void)::send(client.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
      Bytes hello(sizeof(ipc::Hello));
      (void)::recv(client.get(), hello.data(), hello.size(), 0);
    });
    auto client = Client::connect(folder_.socket(), modest_client());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code(), StatusCode::kPeerLost) << client.error().to_string();
    EXPECT_THAT(client.error().message(), HasSubstr("cannot be"));
  }
}

TEST_F(LocalHostileServerAttack, MoreMemoryThanWasAskedForIsRefused) {
  const ClientOptions asked = modest_client();
  for (const int which : {0, 1, 2}) {
    ipc::AreaSizes sizes{asked.slots, asked.input_bytes, asked.output_bytes};
    if (which == 0) sizes.slots += 1;
    if (which == 1) sizes.input_bytes += 2 * ipc::kPageBytes;
    if (which == 2) sizes.output_bytes += std::uint64_t{1} << 30;
    const auto pages = ipc::SharedPages::make(sizes).value();
    ipc::Word word;
    word.slots = sizes.slots;
    word.input_bytes = sizes.input_bytes;
    word.output_bytes = sizes.output_bytes;
    const Status said = refusal(word, std::array{pages.fd()});
    EXPECT_EQ(said.code(), StatusCode::kPeerLost) << which;
    EXPECT_THAT(said.message(), HasSubstr("asked for"));
  }
}

// Each input would be too large for it, as if that were the input's fault.
TEST_F(LocalHostileServerAttack, LessMemoryThanWasAskedForIsRefusedByTheServersName) {
  for (const int which : {0, 1, 2}) {
    ipc::Word word = good_word();
    if (which == 0) word.slots = 0;
    if (which == 1) word.input_bytes -= ipc::kPageBytes;
    if (which == 2) word.output_bytes = ipc::kPageBytes;
    const Status said = refusal(word, std::array{ipc::SharedPages::make(kSizes).value().fd()});
    EXPECT_EQ(said.code(), StatusCode::kPeerLost) << which;
    EXPECT_THAT(said.message(), HasSubstr("cannot be"));
    EXPECT_THAT(said.message(), HasSubstr(std::to_string(word.output_bytes)));
    EXPECT_EQ(said.subject(), folder_.socket());
  }
}

TEST_F(LocalHostileServerAttack, SignsOfLifeWithoutAnAnswerHoldNobodyForEver) {
  pages_.emplace(ipc::SharedPages::make(kSizes).value());
  std::thread server([&] { greet(good_word(), std::array{pages_->fd()}); });
  constexpr std::chrono::milliseconds kImpatient{100};
  const auto session =
      client::LocalSession::connect({folder_.socket(), modest_client(), kImpatient}).value();
  server.join();
  std::thread receiving([&] { session->receive(); });
  std::jthread pretending([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pages_->control().server_sleeps = ipc::kForNews;
      (void)::send(peer_->fd(), "w", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  std::promise<Result<Resized>> answer;
  client::Order order;
  const Bytes file = photo();
  order.jpeg = file;
  order.options = session->options().find({});
  order.done = [&](Result<Resized> made) { answer.set_value(std::move(made)); };
  session->submit({&order, 1}, true, {});
  auto made = answer.get_future();
  ASSERT_EQ(made.wait_for(kPatience), std::future_status::ready);
  const auto result = made.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(result.error().message(), HasSubstr("answered nothing"));
  session->close();
  receiving.join();
}

TEST_F(LocalHostileServerAttack, SilenceEndsWithTheTimeout) {
  ClientOptions options = small_client();
  options.timeout = std::chrono::milliseconds(50);
  const auto client = Client::connect(folder_.socket(), options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kDeadline);
}

TEST_F(LocalHostileServerAttack, ARefusalIsShownAsText) {
  const Status said = refusal(ipc::make_word({StatusCode::kDenied, "no\x1b[2J\nway"}), {});
  EXPECT_EQ(said.code(), StatusCode::kDenied);
  EXPECT_EQ(said.message(), "no?[2J?way");
  // A control of C1, a text from right to left, and what is no UTF-8; what is text stays.
  const Status odd = refusal(ipc::make_word({StatusCode::kDenied,
                                             "a\xc2\x9b"
                                             "b\xe2\x80\xae"
                                             "c\xff"
                                             "d\x9b"
                                             "e\xc3\xa9"}),
                             {});
  EXPECT_EQ(odd.message(), "a?b?c?d?e\xc3\xa9");
}

TEST_F(LocalHostileServerAttack, AnswersThatCannotBeEndTheConnection) {
  const auto resized = static_cast<std::uint32_t>(ipc::AnswerKind::kResized);
  const ipc::CompletionEntry lies[] = {
      {9, resized, 0, 10, 0, 0},          // a slot that is not there
      {3, resized, 0, 10, 0, 0},          // nothing was asked in it
      {0, resized, 64 << 10, 1, 0, 0},    // outside of the area
      {0, resized, UINT64_MAX, 2, 0, 0},  // around the end of all numbers
      {0, resized, 0, UINT64_MAX, 0, 0},
      {0, resized, 0, 10, ipc::kReportBytes + 1, 0},  // more of a report than there is room for
  };
  for (const ipc::CompletionEntry& lie : lies) {
    const Status said = answer_of(lie);
    EXPECT_EQ(said.code(), StatusCode::kPeerLost) << said.to_string();
    EXPECT_THAT(said.message(), HasSubstr("cannot be"));
  }
}

TEST_F(LocalHostileServerAttack, DamagedReportsEndTheConnection) {
  for (const auto outcome : {ipc::AnswerKind::kResized, ipc::AnswerKind::kFailed}) {
    const Status said = answer_of({0, static_cast<std::uint32_t>(outcome), 0, 10, 7, 0});
    EXPECT_EQ(said.code(), StatusCode::kPeerLost);
    EXPECT_THAT(said.message(), HasSubstr("cannot be"));
    EXPECT_THAT(said.message(), HasSubstr("damaged"));
  }
}

TEST_F(LocalHostileServerAttack, AServerThatSaysItHasLeftIsBelievedNoMore) {
  Client client = connect();
  auto answer = client.submit(photo(), {});
  ASSERT_TRUE(soon([&] { return pages_->control().submitted == 1; }));
  const std::size_t bytes = ipc::write_error({StatusCode::kPeerLost, "gone"}, pages_->report(0));
  complete({0, static_cast<std::uint32_t>(ipc::AnswerKind::kFailed), 0, 0,
            static_cast<std::uint32_t>(bytes), 0});
  const auto made = answer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("cannot be"));
  EXPECT_TRUE(soon([&] { return client.lost().has_value(); }));
}

// A server that ends whenever it works on that one, and does the others' work before.
TEST_F(LocalHostileServerAttack, ARequestThatEndsServersIsNotSentForEver) {
  constexpr std::uint32_t kRetries = 2;
  Client client = connect(kRetries);
  auto killer = client.submit(photo(), {});
  for (std::uint32_t lost = 0; lost <= kRetries; ++lost) {
    EXPECT_EQ(killer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    ASSERT_TRUE(soon([&] { return pages_->control().submitted == 1; }));
    auto other = client.submit(photo(), {});
    ASSERT_TRUE(soon([&] { return pages_->control().submitted == 2; }));
    const std::size_t bytes = ipc::write_error({StatusCode::kUnsupported, "no"}, pages_->report(1));
    complete({1, static_cast<std::uint32_t>(ipc::AnswerKind::kFailed), 0, 0,
              static_cast<std::uint32_t>(bytes), 0});
    EXPECT_EQ(other.get().error().code(), StatusCode::kUnsupported);
    pages_.emplace(ipc::SharedPages::make(kSizes).value());
    peer_.reset();
    greet(good_word(), std::array{pages_->fd()});
  }
  ASSERT_EQ(killer.wait_for(kPatience), std::future_status::ready);
  const auto made = killer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("3 connections were lost"));
  EXPECT_FALSE(client.lost()) << "others go on";
  EXPECT_EQ(pages_->control().submitted, 0u);
}

TEST_F(LocalHostileServerAttack, WhatAServerCancelsThatStaysIsAnswered) {
  Client client = connect(1);
  auto answer = client.submit(photo(), {});
  ASSERT_TRUE(soon([&] { return pages_->control().submitted == 1; }));
  const std::size_t bytes =
      ipc::write_error({StatusCode::kCancelled, "not this one"}, pages_->report(0));
  complete({0, static_cast<std::uint32_t>(ipc::AnswerKind::kFailed), 0, 0,
            static_cast<std::uint32_t>(bytes), 0});
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kCancelled);
}

TEST_F(LocalHostileServerAttack, AnIndexThatCannotBeEndsTheConnection) {
  Client client = connect();
  auto answer = client.submit(photo(), {});
  pages_->control().completed = 1000;
  (void)::send(peer_->fd(), "w", 1, MSG_NOSIGNAL);
  const auto made = answer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
}

TEST_F(LocalHostileServerAttack, ARingWithoutRoomEndsTheConnection) {
  Client client = connect();
  pages_->control().taken = 3;  // of nothing: the ring seems to be full, or worse
  const auto made = client.resize(photo(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
}

}  // namespace
}  // namespace framewire::service::local::test
