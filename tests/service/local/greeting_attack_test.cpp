// Who connects and does not greet as agreed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <tests/service/local/raw_client.hpp>
#include <tests/support/passed_files.hpp>

namespace framewire::service::local::test {
namespace {

using testing::HasSubstr;

std::size_t open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

using LocalGreetingAttack = LocalServerTest;

TEST_F(LocalGreetingAttack, WhatIsNoGreetingIsRefused) {
  start();
  ipc::Hello hello;
  hello.slots = 1;
  const auto refusal = [&](std::span<const std::byte> bytes) {
    const auto socket = connect_raw(folder_.socket());
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return last_word(socket.get());
  };
  const auto bytes = std::as_bytes(std::span(&hello, 1));
  EXPECT_EQ(refusal(bytes.first(1)).code(), StatusCode::kInvalidInput);
  EXPECT_EQ(refusal(bytes.first(bytes.size() - 1)).code(), StatusCode::kInvalidInput);
  Bytes longer(5000);
  std::memcpy(longer.data(), bytes.data(), bytes.size());
  EXPECT_EQ(refusal(std::as_bytes(std::span(longer))).code(), StatusCode::kInvalidInput);
  hello.slots = 0;
  EXPECT_EQ(refusal(bytes).code(), StatusCode::kInvalidInput);
  hello.slots = 1;
  hello.version = ipc::kVersion + 1;
  EXPECT_EQ(refusal(bytes).code(), StatusCode::kUnsupported);
  hello.magic[3] = 'X';
  EXPECT_EQ(refusal(bytes).code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(connect().resize(photo(), width(40)));
}

TEST_F(LocalGreetingAttack, WhoAsksForEverythingIsGivenWhatIsAllowed) {
  LocalServerOptions options;
  options.slots = 16;
  options.input_bytes = 256 << 10;
  options.output_bytes = 128 << 10;
  start(options);
  const RawClient client(folder_.socket(), UINT32_MAX, UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(client.pages().layout().sizes.slots, 16u);
  EXPECT_EQ(client.pages().layout().sizes.input_bytes, 256u << 10);
  EXPECT_EQ(client.pages().layout().sizes.output_bytes, 128u << 10);
}

TEST_F(LocalGreetingAttack, AClientMayAskForAllThereIs) {
  start();
  ClientOptions options = small_client();
  options.slots = UINT32_MAX;
  options.input_bytes = UINT64_MAX;
  options.output_bytes = UINT64_MAX - 1;
  auto client = Client::connect(folder_.socket(), options);
  ASSERT_TRUE(client) << client.error().to_string();
  EXPECT_TRUE(client->resize(photo(), width(40)));
}

TEST_F(LocalGreetingAttack, AThousandSilentConnectionsKeepNobodyOut) {
  start();
  std::vector<base::FileDescriptor> silent;
  for (int i = 0; i < 1000; ++i) {
    auto socket = connect_raw(folder_.socket());
    if (!socket.valid()) break;  // out of descriptors here
    silent.push_back(std::move(socket));
  }
  EXPECT_GE(silent.size(), 900u);
  EXPECT_TRUE(connect().resize(photo(), width(40)));
  // Those that stay silent are let go: none is left of what they cost.
  silent.resize(10);
  EXPECT_TRUE(soon([&] {
    return std::ranges::all_of(silent, [](const auto& socket) {
      pollfd file{socket.get(), POLLIN, 0};
      return ::poll(&file, 1, 0) == 1;
    });
  }));
}

/// Nobody but their sender ever closes them, which may take long.
TEST_F(LocalGreetingAttack, DescriptorsAreRefused) {
  if (!framewire::test::can_refuse_files()) GTEST_SKIP() << "Linux before 6.16 accepts them";
  start();
  const auto silent = connect_raw(folder_.socket());
  EXPECT_EQ(framewire::test::send_file(silent.get(), "hello", STDERR_FILENO), EPERM);
  const RawClient client(folder_.socket());
  EXPECT_EQ(framewire::test::send_file(client.socket(), "w", STDERR_FILENO), EPERM);
  EXPECT_TRUE(connect().resize(photo(), width(40)));
}

TEST_F(LocalGreetingAttack, DescriptorsThatComeAlongAreClosed) {
  if (framewire::test::can_refuse_files()) GTEST_SKIP() << "Linux since 6.16 refuses them";
  start();
  const std::size_t before = open_files();
  ipc::Hello hello;
  hello.slots = 1;
  std::array<int, 2> files{STDERR_FILENO, STDERR_FILENO};
  {
    const transport::shared::LocalPeer peer(connect_raw(folder_.socket()));
    ASSERT_TRUE(peer.send(std::as_bytes(std::span(&hello, 1)), files));
    ipc::Word word;
    ASSERT_TRUE(
        peer.receive(std::as_writable_bytes(std::span(&word, 1)), base::Clock::now() + kPatience));
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(peer.send(std::as_bytes(std::span("w", 1)), files));
    }
  }
  EXPECT_TRUE(soon([&] { return open_files() <= before; }));
}

TEST_F(LocalGreetingAttack, AFloodOfBytesIsNobodyElsesConcern) {
  start();
  RawClient client(folder_.socket());
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    Bytes large(300);
    while (!stop) {
      client.ring_the_bell();
      (void)::send(client.socket(), large.data(), large.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  });
  Client honest = connect();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(honest.resize(photo(), width(40)));
  stop = true;
  flood.join();
}

TEST_F(LocalGreetingAttack, AnotherUserIsDenied) {
  LocalServerOptions options;
  options.uids = {::getuid() + 1};
  start(options);
  const auto client = Client::connect(folder_.socket());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kDenied);
  ASSERT_TRUE(soon([&] { return !events().empty(); }));
  EXPECT_EQ(events()[0].kind, LocalEvent::Kind::kRefused);
  EXPECT_EQ(events()[0].pid, ::getpid());
  EXPECT_EQ(events()[0].uid, ::getuid());
}

TEST_F(LocalGreetingAttack, TheSocketsFileIsOpenToNobodyElse) {
  LocalServerOptions options;
  options.mode = 0600;
  const mode_t umask_before = ::umask(0);
  start(options);
  ::umask(umask_before);
  struct stat facts {};
  ASSERT_EQ(::stat(folder_.socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(LocalGreetingAttack, NothingButAnOldSocketIsReplaced) {
  start();
  LocalServerOptions options;
  options.path = folder_.socket();
  const auto second = LocalServer::start(*engine_, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kBusy);
  EXPECT_TRUE(connect().resize(photo(), width(40)));
  options.path = folder_.path() + "/file";
  { const base::FileDescriptor file(::creat(options.path.c_str(), 0600)); }
  EXPECT_EQ(LocalServer::start(*engine_, options).error().code(), StatusCode::kIoError);
  EXPECT_TRUE(std::filesystem::exists(options.path));
  options.path = folder_.path() + "/link";
  std::filesystem::create_symlink(folder_.path() + "/file", options.path);
  EXPECT_EQ(LocalServer::start(*engine_, options).error().code(), StatusCode::kIoError);
  options.path = std::string(150, 'x');
  EXPECT_EQ(LocalServer::start(*engine_, options).error().code(), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::service::local::test
