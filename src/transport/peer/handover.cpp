#include "transport/peer/handover.hpp"
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include "transport/bytes.hpp"

namespace framewire::transport::peer {
namespace {

using wire::Socket;
using Token = std::array<std::byte, 16>;

// One message each way: secret, the device's name, slots, words of a slot with their layout, bytes
// of a slot; with descriptors of the landing and of the words that the sender's copies tell.
constexpr std::size_t kMessageBytes = 48;
constexpr std::size_t kMostFiles = 2;
using Message = std::array<std::byte, kMessageBytes>;

struct Received {
  Message message{};
  Socket memory;
  Socket words;
};

bool same_user(const Socket& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         peer.uid == ::geteuid();
}

Message encode(const Token& token, const Landing* ours) {
  Message message{};
  std::copy(token.begin(), token.end(), message.begin());
  if (ours == nullptr) return message;
  const DeviceId id = ours->devices->id(ours->owner);
  std::copy(id.begin(), id.end(), message.begin() + 16);
  store(&message[32], std::uint32_t{ours->slots});
  store(&message[36], static_cast<std::uint16_t>(ours->arrival_words));
  store(&message[38], kArrivalLayout);
  store(&message[40], ours->slot_bytes);
  return message;
}

// @param files  kMostFiles at most
bool send_message(const Socket& socket, const Message& message, std::span<const int> files) {
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> control{};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (!files.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* item = CMSG_FIRSTHDR(&head);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(item), files.data(), files.size_bytes());
  }
  return ::sendmsg(socket.fd(), &head, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

std::optional<Received> receive_message(const Socket& socket, base::Clock::time_point deadline) {
  if (!wire::wait_for(socket.fd(), false, deadline)) return std::nullopt;
  Received received;
  iovec part{received.message.data(), received.message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> control{};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  const auto count = ::recvmsg(socket.fd(), &head, MSG_CMSG_CLOEXEC);
  for (cmsghdr* item = CMSG_FIRSTHDR(&head); item != nullptr; item = CMSG_NXTHDR(&head, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t files = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < files; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
      (i == 0 ? received.memory : received.words) = Socket(fd);
    }
  }
  if (count != static_cast<ssize_t>(kMessageBytes)) return std::nullopt;
  return received;
}

Landings without(std::string why) {
  Landings landings;
  landings.why = std::move(why);
  return landings;
}

// Our landing, whose memory nothing else uses.
Result<std::unique_ptr<Landing>> make_ours(const HandoverOptions& options) {
  auto ours = std::make_unique<Landing>();
  ours->devices = options.devices;
  ours->owner = options.device;
  ours->slots = options.slots;
  ours->slot_bytes = options.slot_bytes;
  ours->arrival_words = kArrivalWords;
  auto memory = options.devices->share(options.device, ours->bytes());
  if (!memory) return fail(memory.error());
  ours->memory = std::move(*memory);
  return ours;
}

// The peer's, if it has one and our device reaches it.
void take_theirs(Landings& landings, Received& received, const HandoverOptions& options) {
  auto theirs = std::make_unique<Landing>();
  theirs->slots = load<std::uint32_t>(&received.message[32]);
  theirs->slot_bytes = load<std::uint64_t>(&received.message[40]);
  theirs->arrival_words = load<std::uint16_t>(&received.message[36]);
  if (received.memory.fd() < 0 || theirs->slots == 0 || theirs->slots > 32 ||
      theirs->slot_bytes < kLeastPartBytes || theirs->slot_bytes > std::uint64_t{1} << 30) {
    landings.why = "the peer has no landing for us";
    return;
  }
  DeviceId id;
  std::copy_n(received.message.begin() + 16, id.size(), id.begin());
  const int owner = find_device(*options.devices, id);
  if (owner < 0) {
    landings.why = "the peer's GPU is not visible to this process; see CUDA_VISIBLE_DEVICES";
    return;
  }
  const Reach reach = options.devices->reach(options.device, owner);
  if (reach == Reach::kNone) {
    landings.why = fmt::format("GPU {} has no peer access to GPU {}", options.device, owner);
    return;
  }
  auto memory =
      options.devices->import(owner, options.device, received.memory.fd(), theirs->bytes());
  if (!memory) {
    landings.why = memory.error().message();
    return;
  }
  theirs->memory = std::move(*memory);
  theirs->devices = options.devices;
  theirs->owner = owner;
  theirs->user = options.device;
  // A device that waited for itself would hold up what it waits for; one that writes a word to an
  // odd address is lost to the process.
  if (reach == Reach::kSame || load<std::uint16_t>(&received.message[38]) != kArrivalLayout ||
      theirs->slot_bytes % sizeof(std::uint64_t) != 0) {
    theirs->arrival_words = 0;
  }
  landings.theirs = std::move(theirs);
  landings.reach = reach;
}

Landings hand_over(const Socket& socket, const Token& token, const HandoverOptions& options,
                   Result<std::unique_ptr<Landing>> ours, base::Clock::time_point deadline,
                   std::optional<Received> received) {
  Landings landings;
  if (ours) {
    landings.ours = std::move(*ours);
  } else {
    landings.why = ours.error().message();
  }
  const Landing* landing = landings.ours.get();
  auto words = Words::make(*options.devices);
  std::vector<int> files;
  if (landing != nullptr) files.push_back(landing->memory->fd());
  if (landing != nullptr && words) files.push_back((*words)->fd());
  if (!send_message(socket, encode(token, landing), files)) {
    return without("the peer left in the middle of the handover");
  }
  if (!received) received = receive_message(socket, deadline);
  if (!received) return without("the peer did not hand over a landing in time");
  take_theirs(landings, *received, options);
  if (landings.theirs && files.size() == kMostFiles) landings.theirs->words = std::move(*words);
  if (auto read = Words::open(received->words); read && landings.ours) {
    landings.ours->words = std::move(*read);
  }
  return landings;
}

Token token_of(std::span<const std::byte> blob) {
  Token token;
  std::copy_n(blob.begin(), token.size(), token.begin());
  return token;
}

// In a time that does not depend on where they differ.
bool same(const Token& token, const Message& message) {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < token.size(); ++i) difference |= token[i] ^ message[i];
  return difference == std::byte{0};
}

}  // namespace

Result<Doorway> Doorway::open() {
  Doorway doorway;
  doorway.socket_ = Socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t bytes = sizeof address.sun_family;  // the kernel chooses a name
  if (::bind(doorway.socket_.fd(), reinterpret_cast<sockaddr*>(&address), bytes) != 0 ||
      ::listen(doorway.socket_.fd(), 8) != 0) {
    return fail(StatusCode::kIoError, "no Unix socket can be had");
  }
  bytes = sizeof address;
  ::getsockname(doorway.socket_.fd(), reinterpret_cast<sockaddr*>(&address), &bytes);
  Token token;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    return fail(StatusCode::kBusy, "the system has no random bytes for a secret");
  }
  doorway.blob_.assign(token.begin(), token.end());
  const auto* name = reinterpret_cast<const std::byte*>(address.sun_path);
  doorway.blob_.insert(doorway.blob_.end(), name, name + (bytes - offsetof(sockaddr_un, sun_path)));
  return doorway;
}

Landings Doorway::exchange(const HandoverOptions& options, base::Clock::time_point deadline) {
  const Token token = token_of(blob_);
  while (wire::wait_for(socket_.fd(), false, deadline)) {
    const Socket socket(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.fd() < 0 || !same_user(socket)) continue;
    // Whoever says nothing is not waited for at length: somebody else may be the one.
    const auto soon = std::min(deadline, base::Clock::now() + std::chrono::milliseconds(250));
    auto received = receive_message(socket, soon);
    if (!received || !same(token, received->message)) continue;
    return hand_over(socket, token, options, make_ours(options), deadline, std::move(received));
  }
  return without("the peer did not come to the handover");
}

Landings visit(std::span<const std::byte> blob, const HandoverOptions& options,
               base::Clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (blob.size() <= sizeof(Token) || blob.size() - sizeof(Token) > sizeof address.sun_path) {
    return without("the peer names no place for the handover");
  }
  // Before we knock: who waits at the door gives a visitor little time to show the secret, and a
  // device's first use takes a second.
  auto ours = make_ours(options);
  const auto name = blob.subspan(sizeof(Token));
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      !same_user(socket)) {
    return without("the peer's place for the handover cannot be reached");
  }
  return hand_over(socket, token_of(blob), options, std::move(ours), deadline, std::nullopt);
}

}  // namespace framewire::transport::peer
