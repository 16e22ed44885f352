// What a process of the same user may hand over, and what of it is mapped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <base/file_descriptor.hpp>
#include <cstring>
#include <future>
#include <string>
#include <transport/peer/handover.hpp>
#include <transport/shared/handover.hpp>
#include <vector>

namespace framewire::transport::testing {
namespace {

using base::FileDescriptor;
using shared::LocalPeer;
using shared::RingKey;
using shared::RingLayout;

constexpr RingKey kOurs{std::byte{1}};
constexpr RingKey kTheirs{std::byte{2}};
constexpr std::array<std::byte, 4> kRing{std::byte{'R'}, std::byte{'I'}, std::byte{'N'},
                                         std::byte{'G'}};
constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

base::Clock::time_point soon(int ms = 60'000) {
  return base::Clock::now() + std::chrono::milliseconds(ms);
}

std::pair<LocalPeer, LocalPeer> local_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    throw std::runtime_error("no sockets");
  }
  return {LocalPeer(FileDescriptor(ends[0])), LocalPeer(FileDescriptor(ends[1]))};
}

TEST(Handover, RingsOfBothEndsAreWrittenByTheOther) {
  auto [one, other] = local_pair();
  auto far = std::async(std::launch::async,
                        [&] { return shared::exchange_rings(other, kTheirs, kOurs, soon()); });
  auto near = shared::exchange_rings(one, kOurs, kTheirs, soon());
  auto there = far.get();
  ASSERT_TRUE(near && there);
  EXPECT_LT(near->incoming.fd(), 0);  // nobody else finds it
  const std::vector<std::byte> head(20);
  EXPECT_TRUE(near->outgoing.add(head, {}));
  struct Taker {
    int count = 0;
    void take(std::span<const std::byte>, std::span<const std::byte>, std::uint64_t) { ++count; }
    void take_more(std::span<const std::byte>) {}
    void take_short(const ShortPut&, std::span<const std::byte>) {}
  } taker;
  EXPECT_EQ(there->incoming.drain(10, taker), 1);
  EXPECT_EQ(taker.count, 1);
}

class HandoverAttack : public ::testing::Test {
 protected:
  // What our side answers when these files are handed over.
  Result<void> answer(std::span<const int> files,
                      std::span<const std::byte> message = std::span(kRing)) {
    auto [ours, theirs] = local_pair();
    EXPECT_TRUE(theirs.send(message, files));
    auto rings = shared::exchange_rings(ours, kOurs, kTheirs, soon());
    if (!rings) return fail(rings.error());
    return {};
  }
  StatusCode code(const FileDescriptor& file) {
    const std::array<int, 1> files{file.get()};
    auto answered = answer(files);
    return answered ? StatusCode::kInternal : answered.error().code();
  }
  static void write_head(int fd, const RingKey& key = kTheirs) {
    EXPECT_EQ(::pwrite(fd, RingLayout::kMagic.data(), RingLayout::kMagic.size(), 0), 16);
    EXPECT_EQ(::pwrite(fd, key.data(), key.size(), 16), 16);
  }
  static FileDescriptor memory(std::size_t bytes, int seals, unsigned flags = 0,
                               const RingKey& key = kTheirs) {
    FileDescriptor file(::memfd_create("theirs", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
      return FileDescriptor();
    }
    if ((flags & MFD_HUGETLB) == 0) write_head(file.get(), key);
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
    return file;
  }
  static constexpr std::size_t kSize = sizeof(RingLayout);
};

TEST_F(HandoverAttack, OnlySealedMemoryOfThisConnectionIsMapped) {
  EXPECT_EQ(code(memory(kSize, kAllSeals)), StatusCode::kInternal);  // as it should be: taken
  EXPECT_EQ(code(memory(kSize, 0)), StatusCode::kInvalidInput) << "not sealed";
  EXPECT_EQ(code(memory(kSize, F_SEAL_SHRINK | F_SEAL_GROW)), StatusCode::kInvalidInput)
      << "seals may still be added";
  EXPECT_EQ(code(memory(kSize, F_SEAL_GROW | F_SEAL_SEAL)), StatusCode::kInvalidInput)
      << "may shrink";
  EXPECT_EQ(code(memory(kSize - 4096, kAllSeals)), StatusCode::kInvalidInput) << "too short";
  EXPECT_EQ(code(memory(kSize + 4096, kAllSeals)), StatusCode::kInvalidInput) << "too long";
  EXPECT_EQ(code(memory(0x1000, kAllSeals)), StatusCode::kInvalidInput) << "much too short";
  EXPECT_EQ(code(memory(kSize, kAllSeals, 0, kOurs)), StatusCode::kInvalidInput) << "another's";
  EXPECT_EQ(code(memory(kSize, kAllSeals, 0, RingKey{})), StatusCode::kInvalidInput) << "no key";
  EXPECT_NE(code(memory(kSize, kAllSeals | F_SEAL_WRITE)), StatusCode::kInternal) << "read only";
}

TEST_F(HandoverAttack, MemoryOfHugePagesIsLeftAlone) {
  const std::size_t huge = std::size_t{2} << 20;
  const FileDescriptor file = memory(huge, kAllSeals, MFD_HUGETLB);
  if (!file.valid()) GTEST_SKIP() << "no huge pages to be had";
  EXPECT_EQ(code(file), StatusCode::kInvalidInput);
}

// Somebody else's file, as the peer could name one: it is not written to.
TEST_F(HandoverAttack, OrdinaryFilesAreLeftAlone) {
  for (const std::string folder : {"/tmp", "/dev/shm"}) {
    std::string name = folder + "/framewire-victim-XXXXXX";
    const FileDescriptor file(::mkstemp(name.data()));
    if (!file.valid()) continue;
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(kSize)), 0);
    write_head(file.get());
    EXPECT_EQ(code(file), StatusCode::kInvalidInput) << folder;
    ::unlink(name.c_str());
  }
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const FileDescriptor one(pipe[0]);
  const FileDescriptor other(pipe[1]);
  EXPECT_EQ(code(other), StatusCode::kInvalidInput);
  EXPECT_EQ(code(FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC))),
            StatusCode::kInvalidInput);
  EXPECT_EQ(code(FileDescriptor(::open("/", O_RDONLY | O_CLOEXEC))), StatusCode::kInvalidInput);
}

// What was taken cannot be cut short under us: the system refuses it.
TEST_F(HandoverAttack, MemoryThatWasTakenDoesNotShrink) {
  const FileDescriptor file = memory(kSize, kAllSeals);
  EXPECT_EQ(code(file), StatusCode::kInternal);
  EXPECT_NE(::ftruncate(file.get(), 0), 0);
  EXPECT_EQ(errno, EPERM);
}

TEST_F(HandoverAttack, OtherMessagesEndTheHandover) {
  const FileDescriptor good = memory(kSize, kAllSeals);
  const std::array<int, 1> one{good.get()};
  const std::array<int, 2> two{good.get(), good.get()};
  EXPECT_EQ(answer({}).error().code(), StatusCode::kInvalidInput) << "no file";
  EXPECT_EQ(answer(two).error().code(), StatusCode::kInvalidInput) << "two";
  EXPECT_EQ(answer(one, std::span(kRing).first(3)).error().code(), StatusCode::kInvalidInput);
  const std::array<std::byte, 5> longer{std::byte{'R'}, std::byte{'I'}, std::byte{'N'},
                                        std::byte{'G'}};
  EXPECT_EQ(answer(one, longer).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(answer(one, std::array<std::byte, 4>{}).error().code(), StatusCode::kInvalidInput);
  auto [ours, theirs] = local_pair();
  EXPECT_EQ(shared::exchange_rings(ours, kOurs, kTheirs, soon(200)).error().code(),
            StatusCode::kDeadline);
  auto [ours_too, gone] = local_pair();
  gone = LocalPeer(FileDescriptor());
  EXPECT_EQ(shared::exchange_rings(ours_too, kOurs, kTheirs, soon()).error().code(),
            StatusCode::kPeerLost);
}

// Descriptors are a table of bounded length: none that was sent stays open.
TEST_F(HandoverAttack, NoDescriptorStaysBehind) {
  const auto open_files = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  const FileDescriptor bad = memory(kSize, 0);
  const int before = open_files();
  for (int i = 0; i < 20; ++i) {
    const std::array<int, 2> two{bad.get(), bad.get()};
    EXPECT_FALSE(answer(two));
    EXPECT_FALSE(answer(two, std::span(kRing).first(2)));
    EXPECT_FALSE(answer(two, std::span(kRing).first(0)));
    // More than anybody of ours sends.
    auto [ours, theirs] = local_pair();
    std::vector<int> many(100, bad.get());
    iovec part{const_cast<std::byte*>(kRing.data()), kRing.size()};
    std::vector<char> control(CMSG_SPACE(many.size() * sizeof(int)));
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    cmsghdr* const item = CMSG_FIRSTHDR(&head);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(many.size() * sizeof(int));
    std::memcpy(CMSG_DATA(item), many.data(), many.size() * sizeof(int));
    ASSERT_EQ(::sendmsg(theirs.fd(), &head, 0), 4);
    EXPECT_EQ(shared::exchange_rings(ours, kOurs, kTheirs, soon()).error().code(),
              StatusCode::kInvalidInput);
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(HandoverAttack, ReceiveBuffersOutOfBoundsAreRefused) {
  peer::ReceiveBufferMessage message;
  const auto good = [&] { return peer::decode_receive_buffer(encode(message)).has_value(); };
  EXPECT_TRUE(good());
  message.slots = 32;
  message.slot_bytes = std::uint64_t{1} << 30;
  EXPECT_TRUE(good());
  message.slots = 33;
  EXPECT_FALSE(good());
  message.slots = 1;
  message.slot_bytes += 1;
  EXPECT_FALSE(good());
  message.slot_bytes = peer::kMinPartBytes - 1;
  EXPECT_FALSE(good());
}

}  // namespace
}  // namespace framewire::transport::testing
