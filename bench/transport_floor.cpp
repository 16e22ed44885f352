// What UCX alone takes for a message there and back over shared memory, with the settings that
// framewire uses: with or without a head as long as a small put's, with or without a copy of the
// payload to where the receiver wants it. What `framewire perf latency` takes beyond that is the
// price of its own promises.
//
// usage: transport_floor [ROUNDS]. Client and server are pinned to the first two cores.
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
#include "transport/ucx/context.hpp"

namespace {

using namespace framewire::transport::ucx;

// A put with a grant and an acknowledgement, and its proof.
constexpr std::size_t kPutHead = 73;
constexpr std::size_t kRoom = 16384;

[[noreturn]] void give_up(const char* what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

class End {
 public:
  // `socket` leads to the other end's process.
  explicit End(int socket) {
    const auto& api = Api::get();
    if (!api) give_up(api.error().message().c_str());
    api_ = &*api;
    auto handles = open_context(*api_, Lanes::kShared, "");
    if (!handles) give_up(handles.error().message().c_str());
    handles_ = std::move(*handles);
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = on_message;
    handler.arg = this;
    api_->set_am_recv_handler(handles_->worker, &handler);
    meet(socket);
  }

  void send(std::size_t head, std::size_t bytes) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    const ucs_status_ptr_t request =
        api_->am_send(ep_, 0, head > 0 ? head_.data() : nullptr, head, from_.data(), bytes, &param);
    if (UCS_PTR_IS_ERR(request)) give_up("UCX cannot send");
    if (request == nullptr) return;
    while (api_->request_check_status(request) == UCS_INPROGRESS) step();
    api_->request_free(request);
  }
  void await(std::uint64_t count) {
    while (received_ < count) step();
  }
  void step() { api_->worker_progress(handles_->worker); }
  void copies(bool wanted) { copies_ = wanted; }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  static ucs_status_t on_message(void* self, const void*, std::size_t, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t*) {
    End& end = *static_cast<End*>(self);
    if (end.copies_) std::memcpy(end.to_.data(), data, bytes);
    ++end.received_;
    return UCS_OK;
  }

  void meet(int socket) {
    ucp_address_t* own = nullptr;
    std::size_t bytes = 0;
    if (api_->worker_get_address(handles_->worker, &own, &bytes) != UCS_OK) give_up("no address");
    const bool told = ::write(socket, &bytes, sizeof bytes) == sizeof bytes &&
                      ::write(socket, own, bytes) == static_cast<ssize_t>(bytes);
    std::vector<std::byte> theirs;
    const bool heard = ::read(socket, &bytes, sizeof bytes) == sizeof bytes;
    theirs.resize(heard ? bytes : 0);
    if (!told || ::read(socket, theirs.data(), bytes) != static_cast<ssize_t>(bytes)) {
      give_up("the other end has gone");
    }
    ucp_ep_params_t peer{};
    peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    peer.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    peer.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
    if (api_->ep_create(handles_->worker, &peer, &ep_) != UCS_OK) give_up("no endpoint");
  }

  const Api* api_ = nullptr;
  std::unique_ptr<Handles> handles_;
  ucp_ep_h ep_ = nullptr;
  bool copies_ = false;
  std::uint64_t received_ = 0;
  std::vector<std::byte> from_ = std::vector<std::byte>(kRoom);
  std::vector<std::byte> to_ = std::vector<std::byte>(kRoom);
  std::array<std::byte, kPutHead> head_{};
};

// Median of half a round trip, in microseconds.
double run(End& end, bool client, std::size_t head, std::size_t bytes, int rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times_us;
  const std::uint64_t first = end.received();
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    if (client) end.send(head, bytes);
    end.await(first + static_cast<std::uint64_t>(i) + 1);
    if (!client) end.send(head, bytes);
    times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 2);
  }
  std::nth_element(times_us.begin(), times_us.begin() + rounds / 2, times_us.end());
  return times_us[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(2, std::atoi(arguments[1])) : 20'000;
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) give_up("no socket");
  const pid_t child = ::fork();
  const bool client = child != 0;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(client ? 1 : 0, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
  End end(sockets[client ? 1 : 0]);
  if (client) fmt::print("{:>8}{:>8}{:>8}{:>10}\n", "bytes", "head", "copied", "us");
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1024}, std::size_t{8192}}) {
    for (const std::size_t head : {std::size_t{0}, kPutHead}) {
      for (const bool copied : {false, true}) {
        end.copies(copied);
        const double us = run(end, client, head, bytes, rounds);
        if (client) fmt::print("{:>8}{:>8}{:>8}{:>10.3f}\n", bytes, head, copied, us);
      }
    }
  }
  for (int i = 0; i < 1000; ++i) end.step();  // the other end's last message goes out
  std::fflush(stdout);
  if (client) ::waitpid(child, nullptr, 0);
  ::_exit(0);
}
