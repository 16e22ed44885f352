#include <sys/socket.h>
#include <base/passed_files.hpp>

namespace framewire::base {
namespace {

#ifdef SO_PASSRIGHTS
constexpr int kPassRights = SO_PASSRIGHTS;
#else
constexpr int kPassRights = 83;  // of asm-generic/socket.h, which libraries before Linux 6.16 lack
#endif

// A kernel that does not know it says ENOPROTOOPT, which changes nothing.
void pass_rights(int socket, int on) noexcept {
  (void)::setsockopt(socket, SOL_SOCKET, kPassRights, &on, sizeof on);
}

}  // namespace

void refuse_files(int socket) noexcept { pass_rights(socket, 0); }
void accept_files(int socket) noexcept { pass_rights(socket, 1); }

}  // namespace framewire::base
