// Waking the other end: a byte over the socket, and only where the other end has said that it
// sleeps.
//
// Two eventfds would be cheaper, but a client that holds one shares its file description: it could
// make the server's write block (by O_NONBLOCK, which belongs to the description, and a full
// counter). Of a socket each end has its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <ipc/greeting.hpp>

namespace framewire::ipc {

/// What a sleeping end says that it waits for; 0 while it is awake.
enum Sleep : std::uint32_t {
  kAwake = 0,
  kForNews = 1,      ///< answers; requests and cancellations
  kForReleases = 2,  ///< also outputs that are released: there is no room for the next
};

/// Wakes who sleeps for this; does not block. Called behind the write that the sleeper waits for.
/// @param sleeps  of whom to wake
/// @param least   what it must sleep for
/// @return whether it slept
bool wake(int socket, std::atomic<std::uint32_t>& sleeps, Sleep least = kForNews) noexcept;

/// What has come over the socket.
struct News {
  bool gone = false;      ///< the other end is
  bool has_word = false;  ///< the other end has said why it ends the connection
  Word word;
};
/// Takes up to 64 messages. Does not block where the socket refuses descriptors, as both ends' do
/// once they have greeted each other: any that come along are closed.
[[nodiscard]] News read_news(int socket) noexcept;

}  // namespace framewire::ipc
