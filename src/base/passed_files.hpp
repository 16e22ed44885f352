// Descriptors that come over a Unix socket.
#pragma once

namespace framewire::base {

/// Has the system refuse to send descriptors to this socket (the sender is told EPERM), and to
/// those that a listening one accepts from here on. Without it whoever reads the socket closes what
/// it makes no room for, and closing another's file may take as long as that other likes: a TCP
/// socket with SO_LINGER and bytes that nobody takes. Linux 6.16 and later; before, nothing
/// happens.
void refuse_files(int socket) noexcept;
/// Undoes that, for one socket.
void accept_files(int socket) noexcept;

}  // namespace framewire::base
