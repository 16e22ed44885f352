// What a process of the same user says at the meeting place and hands over there: whatever the
// messages and files, only one who knows the token gets in, only sealed memory that holds this
// connection's ring is mapped, and no descriptor stays open.
//
// The input is a list of visitors: what each says, and what it hands over; see run().
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fuzz/input.hpp>
#include <transport/peer/handover.hpp>
#include <transport/session/meeting.hpp>
#include <transport/shared/handover.hpp>
#include <transport/wire/control.hpp>
#include <vector>

namespace {

using namespace framewire;
using namespace framewire::transport;
using base::FileDescriptor;
using shared::LocalPeer;
using shared::RingKey;
using shared::RingLayout;

constexpr RingKey kOurs{std::byte{1}};
constexpr RingKey kTheirs{std::byte{2}};

void require(bool truth) {
  if (!truth) std::abort();
}

int open_files() {
  int count = 0;
  for (int fd = 3; fd < 64; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

std::vector<std::byte> take_bytes(Input& input, std::size_t most) {
  std::vector<std::byte> bytes(input.take() % (most + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(input.take());
  return bytes;
}

// A file of some kind, and whether it is what a peer of ours hands over.
struct File {
  FileDescriptor file;
  bool good = false;
};

File make_file(Input& input) {
  const auto kind = input.take();
  if ((kind & 15) == 15) return {FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC))};
  const int all[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL};
  int seals = 0;
  for (int i = 0; i < 3; ++i) seals |= (kind >> i & 1) != 0 ? all[i] : 0;
  const std::size_t sizes[] = {sizeof(RingLayout), sizeof(RingLayout) + 1, sizeof(RingLayout) - 1,
                               0};
  const std::size_t bytes = sizes[kind >> 4 & 3];
  FileDescriptor file(::memfd_create("theirs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  require(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  std::array<std::byte, 32> head;
  std::memcpy(head.data(), RingLayout::kMagic.data(), 16);
  std::memcpy(head.data() + 16, kTheirs.data(), 16);
  const auto spoiled = input.take();
  if (spoiled < head.size()) head[spoiled] ^= static_cast<std::byte>(1 + (input.take() & 127));
  if (bytes > 0) require(::pwrite(file.get(), head.data(), head.size(), 0) == 32);
  require(::fcntl(file.get(), F_ADD_SEALS, seals) == 0);
  return {std::move(file), (kind & 7) == 7 && bytes == sizes[0] && spoiled >= head.size()};
}

void send(const FileDescriptor& socket, std::span<const std::byte> bytes,
          const std::vector<int>& files) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(files.size() * sizeof(int)));
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (!files.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    cmsghdr* const item = CMSG_FIRSTHDR(&head);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(item), files.data(), files.size() * sizeof(int));
  }
  static_cast<void>(::sendmsg(socket.get(), &head, MSG_NOSIGNAL | MSG_DONTWAIT));
}

// A visitor that says anything, and one that hands over anything.
void exchange(Input& input) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  const LocalPeer ours{FileDescriptor(ends[0])};
  const FileDescriptor theirs(ends[1]);
  std::vector<std::byte> said{std::byte{'R'}, std::byte{'I'}, std::byte{'N'}, std::byte{'G'}};
  const bool usual = (input.take() & 3) != 0;
  if (!usual) said = take_bytes(input, 8);
  const bool right = said.size() == 4 && std::memcmp(said.data(), "RING", 4) == 0;
  std::vector<File> files;
  for (std::uint64_t count = input.take() % 4; files.size() < count;) {
    files.push_back(make_file(input));
  }
  std::vector<int> fds;
  for (const File& file : files) fds.push_back(file.file.get());
  send(theirs, said, fds);
  const auto rings = shared::exchange_rings(ours, kOurs, kTheirs, base::Clock::now());
  require(rings.has_value() == (right && files.size() == 1 && files[0].good));
}

void check_receive_buffer(Input& input) {
  std::array<std::byte, peer::kReceiveBufferMessageBytes> bytes;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(input.take());
  if ((input.take() & 1) != 0) std::fill(bytes.begin() + 17, bytes.begin() + 20, std::byte{0});
  const auto buffer = peer::decode_receive_buffer(bytes);
  if (!buffer) return;
  require(buffer->slots <= 32 && encode(*buffer) == bytes);
  require(buffer->slots == 0 || buffer->slot_bytes <= std::uint64_t{1} << 30);
}

// Whoever shows the token is let in, nobody else.
void visit(Input& input) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  const auto control = wire::make_plain_stream(FileDescriptor(ends[0]));
  const FileDescriptor far(ends[1]);
  auto point = session::MeetingPoint::open();
  if (!point) return;
  require(::write(far.get(), "x", 1) == 1);  // so that nobody waits
  bool expected = false;
  std::vector<FileDescriptor> visitors;
  for (std::uint64_t count = input.take() % 4; visitors.size() < count;) {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto name = session::name_of(point->rendezvous());
    require(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) ==
            0);
    const auto& token = point->rendezvous().client_token;
    std::vector<std::byte> said(token.begin(), token.end());
    switch (input.take() % 4) {
      case 0:
        expected = true;
        break;
      case 1:
        said[input.take() % 16] ^= static_cast<std::byte>(1 + (input.take() & 127));
        break;
      case 2:
        said = take_bytes(input, 40);
        break;
      default:
        said.push_back(static_cast<std::byte>(input.take()));
    }
    send(socket, said, std::vector<int>(input.take() % 4, 0));
    visitors.push_back(std::move(socket));
  }
  const auto client = point->await(*control, base::Clock::now() + std::chrono::milliseconds(100));
  require(!client || expected);
}

void run(Input input) {
  while (!input.left.empty()) {
    switch (input.take() % 3) {
      case 0:
        exchange(input);
        break;
      case 1:
        check_receive_buffer(input);
        break;
      default:
        visit(input);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int before = open_files();
  run({std::as_bytes(std::span(data, std::min<std::size_t>(size, 400)))});
  require(open_files() == before);
  return 0;
}
