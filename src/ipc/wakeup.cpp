#include <sys/socket.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <ipc/wakeup.hpp>

namespace framewire::ipc {

bool wake(int socket, std::atomic<std::uint32_t>& sleeps, Sleep least) noexcept {
  if (sleeps.load(std::memory_order_seq_cst) < least ||
      sleeps.exchange(kAwake, std::memory_order_seq_cst) == kAwake) {
    return false;
  }
  // Where the socket takes no more, bytes enough to wake are there already.
  (void)::send(socket, "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

News read_news(int socket) noexcept {
  constexpr int kMaxMessages = 64;
  News news;
  std::array<char, sizeof(Word)> message;
  for (int i = 0; i < kMaxMessages; ++i) {
    // No descriptors come along (base::refuse_files()). A system that is too old to refuse them
    // closes them here, which may take long.
    const auto count = ::recv(socket, message.data(), message.size(), MSG_DONTWAIT);
    // ECONNRESET comes once, where the other end left bytes of ours unread, and before what it
    // sent.
    if (count < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return news;
    if (count <= 0) {
      news.gone = true;
      return news;
    }
    if (static_cast<std::size_t>(count) == message.size()) {
      news.has_word = true;
      std::memcpy(&news.word, message.data(), message.size());
    }
  }
  return news;
}

}  // namespace framewire::ipc
