#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <base/wait_for.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <random>
#include <stdexcept>
#include <tests/transport/card_link.hpp>
#include <tests/transport/connections.hpp>
#include <tests/transport/fake_device.hpp>
#include <tests/transport/far_machine.hpp>
#include <transport/loopback/loopback.hpp>
#include <transport/peer/device_link.hpp>
#ifdef FRAMEWIRE_HAS_UCX
#include <transport/ucx/port.hpp>
#endif

extern char** environ;

namespace framewire::transport::testing {
namespace {

// Both ends in this process, stepped by turns on one thread.
class LocalEnds final : public Ends {
 public:
  /// @param kept  for as long as the ends
  LocalEnds(const std::string& name, std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
            std::shared_ptr<void> kept = {})
      : kept_(std::move(kept)),
        servant_(std::move(far), allocate_end(name, false, kFarBytes),
                 [this] { near_->progress(); }) {
    near_ = std::move(near);
  }
  std::string far(const std::string& command) override { return servant_.obey(command); }
  void step() override {
    if (!near_->progress()) near_->idle(0);
    servant_.step();
  }
  void kill_far() override { servant_.obey("drop"); }

 private:
  std::shared_ptr<void> kept_;
  Servant servant_;
};

// The far end is transport_far_end, which takes commands on its standard input.
class ApartEnds final : public Ends {
 public:
  ApartEnds(std::function<void()> kill, int to_child, int from_child, std::unique_ptr<Channel> near)
      : kill_(std::move(kill)), to_child_(to_child), from_child_(from_child) {
    near_ = std::move(near);
  }
  ~ApartEnds() override {
    near_.reset();
    kill_far();
    ::close(to_child_);
    ::close(from_child_);
  }
  std::string far(const std::string& command) override {
    const std::string line = command + "\n";
    if (::write(to_child_, line.data(), line.size()) < 0) return "the far end is gone";
    std::string answer;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < end) {
      char c = 0;
      if (!base::wait_for(from_child_, false, {})) {
        if (!near_->progress()) base::wait_for(from_child_, false, soon());
      } else if (::read(from_child_, &c, 1) != 1) {
        return "the far end is gone";
      } else if (c == '\n') {
        return answer;
      } else {
        answer += c;
      }
    }
    return "no answer";
  }
  void step() override {
    if (!near_->progress()) near_->idle(1);
  }
  void kill_far() override {
    if (kill_) std::exchange(kill_, nullptr)();
  }

 private:
  static base::Clock::time_point soon() {
    return base::Clock::now() + std::chrono::milliseconds(1);
  }
  std::function<void()> kill_;
  int to_child_;
  int from_child_;
};

std::unique_ptr<Channel> make_channel(session::Joined joined, const Wrap& wrap) {
  if (wrap) joined.link = wrap(std::move(joined.link));
  return std::make_unique<Channel>(transport::make_channel(std::move(joined.link), joined.config));
}

using Links = std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>>;

std::unique_ptr<Ends> local(const std::string& name, Links links, const Wrap& wrap,
                            std::shared_ptr<void> kept = {}) {
  auto& [near, far] = links;
  ChannelConfig config;
  config.epoch = std::random_device{}() | 1;
  config.capacity = config.peer_capacity = 64;
  config.peer = "far";
  auto near_channel = make_channel({std::move(near), config}, wrap);
  config.peer = "near";
  return std::make_unique<LocalEnds>(name, std::move(near_channel),
                                     make_channel({std::move(far), config}, {}), std::move(kept));
}

// Whether that end has a card that works with the fake devices: "card_…" both, "card_near_…",
// "card_far_…" one.
bool has_card(const std::string& name, bool near) {
  return name.find(near ? "card_far_" : "card_near_") == std::string::npos;
}

Links cards(const std::string& name) {
  auto [near, far] = make_loopback();
  const bool ours = has_card(name, true);
  const bool theirs = has_card(name, false);
  return {
      peer::make_device_link(std::make_unique<CardLink>(std::move(near), ours, theirs)),
      peer::make_device_link(std::make_unique<CardLink>(std::move(far), theirs, ours)),
  };
}

std::string must(const Status& status) { throw std::runtime_error(status.to_string()); }

#ifdef FRAMEWIRE_HAS_UCX
// Says that the peer is lost once the other end's lifeline is gone, as a control connection does.
class SharedLifeline final : public ucx::Lifeline {
 public:
  explicit SharedLifeline(std::shared_ptr<std::atomic<bool>> alive) : alive_(std::move(alive)) {}
  ~SharedLifeline() override { *alive_ = false; }
  Result<void> check() override {
    if (*alive_) return {};
    return fail(StatusCode::kPeerLost, "the other end has gone");
  }

 private:
  std::shared_ptr<std::atomic<bool>> alive_;
};

std::unique_ptr<Link> join(ucx::Port& port, const std::vector<std::byte>& blob,
                           const std::shared_ptr<std::atomic<bool>>& alive) {
  const auto deadline = base::Clock::now() + std::chrono::seconds(30);
  auto link = port.join(blob, std::make_unique<SharedLifeline>(alive), deadline);
  if (!link) must(link.error());
  return peer::make_device_link(std::move(*link));
}

// UCX, over TCP or RDMA, that takes the fake devices' memory for what it is, host memory,
// and else treats it as a device's.
Links ucx_cards(const std::string& name) {
  const auto port = [&](bool near) {
    ucx::DirectWish wish{&FakeDevices::get(), near ? 0 : 1, ucx::DirectWish::Proof::kHost};
    if (!has_card(name, near)) wish = {};
    const bool rdma = name.starts_with("ucx_rdma");
    auto made = ucx::make_port(rdma ? ucx::Lanes::kVerbs : ucx::Lanes::kTcp,
                               rdma ? rdma_device() : tcp_device(),
                               near ? ucx::PortSide::kListens : ucx::PortSide::kDials, wish);
    if (!made) must(made.error());
    return std::move(*made);
  };
  const auto near = port(true);
  const auto far = port(false);
  const auto there = far->blob();
  const auto here = near->blob();
  const auto alive = std::make_shared<std::atomic<bool>>(true);
  // Each waits for the other.
  auto away = std::async(std::launch::async, [&] { return join(*far, here, alive); });
  auto link = join(*near, there, alive);
  return {std::move(link), away.get()};
}
#endif

pid_t start_far_end(const std::string& name, std::uint16_t port, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  std::string program = FRAMEWIRE_FAR_END;
  std::string link = name;
  std::string address = fmt::format("127.0.0.1:{}", port);
  char* words[] = {program.data(), link.data(), address.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
  return child;
}

std::unique_ptr<Ends> apart(const std::string& name, session::Listener& listener,
                            const Wrap& wrap) {
  int commands[2];
  int answers[2];
  if (::pipe2(commands, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  const pid_t child = start_far_end(name, listener.port(), commands[0], answers[1]);
  ::close(commands[0]);
  ::close(answers[1]);
  auto near = listener.accept(10'000);
  if (!near) must(near.error());
  const auto kill = [child] {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  };
  return std::make_unique<ApartEnds>(kill, commands[1], answers[0],
                                     make_channel(std::move(*near), wrap));
}

std::unique_ptr<Ends> on_far_machine(const std::string& name, session::Listener& listener,
                                     const Wrap& wrap) {
  auto far = start_far_machine(name, fmt::format("{}:{}", near_host(), listener.port()));
  auto near = listener.accept(30'000);
  if (!near) must(near.error());
  return std::make_unique<ApartEnds>(std::move(far.kill), far.in_and_out, ::dup(far.in_and_out),
                                     make_channel(std::move(*near), wrap));
}

std::unique_ptr<Ends> together(const std::string& name, session::Listener& listener,
                               const Wrap& wrap) {
  const std::string address = fmt::format("{}:{}", near_host(), listener.port());
  // Each side waits for the other's greeting.
  auto connecting = std::async(std::launch::async, [&] {
    return session::connect(address, opening_of(name, false).options);
  });
  auto near = listener.accept(10'000);
  auto far = connecting.get();
  if (!near) must(near.error());
  if (!far) must(far.error());
  return std::make_unique<LocalEnds>(name, make_channel(std::move(*near), wrap),
                                     make_channel(std::move(*far), {}));
}

// A key file that both processes find: the first writes it, the other gets its name.
std::string key_file() {
  if (const char* given = std::getenv("FRAMEWIRE_TEST_PSK")) return given;
  static const std::string path = [] {
    char name[] = "/tmp/framewire-psk-XXXXXX";
    const int fd = ::mkstemp(name);  // readable by its owner only
    ::close(fd);
    std::ofstream(name) << "# for a test\nnear-and-far 00112233445566778899aabbccddeeff\n";
    ::setenv("FRAMEWIRE_TEST_PSK", name, 1);
    std::atexit([] { std::remove(std::getenv("FRAMEWIRE_TEST_PSK")); });
    return std::string(name);
  }();
  return path;
}

}  // namespace

Region allocate_end(const std::string& name, bool near, std::size_t bytes) {
  const bool device = name.ends_with("_gpus") || name.ends_with(near ? "_near_gpu" : "_far_gpu");
  auto region = device ? Region::allocate_device(FakeDevices::get(), near ? 0 : 1, bytes)
                       : Region::allocate_host(bytes);
  if (!region) must(region.error());
  return std::move(*region);
}

Opening opening_of(const std::string& whole, bool near) {
  std::string name = whole;
  for (const std::string_view end : {"_gpus", "_near_gpu", "_far_gpu"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  Opening opening;
  opening.apart = name.ends_with("_apart");
  opening.options.capacity = 64;
  const std::string link = opening.apart ? name.substr(0, name.size() - 6) : name;
  if (link == "ucx_tcp" || link == "tcp") {
    opening.options.security.insecure = true;
  } else {
    opening.options.security.psk_file = key_file();
  }
  // Emulated machines take their time.
  if (link == "ucx_rdma") opening.options.timeout_ms = 30'000;
  opening.options.ucx_device = link == "ucx_rdma" ? rdma_device() : tcp_device();
  if (link.starts_with("peer")) {
    opening.options.devices = &FakeDevices::get();
    opening.options.device = near ? 0 : 1;
    // So that messages have parts; no multiple of what slots are made of.
    opening.options.receive_buffer_bytes = (std::uint64_t{4} << 20) + 100;
  }
  opening.options.links = {link == "peer"          ? kPeerLink
                           : link == "peer_stream" ? kPeerStreamLink
                           : link == "shared"      ? kSharedLink
                           : link == "ucx_tcp"     ? kUcxTcpLink
                           : link == "ucx_rdma"    ? kUcxRdmaLink
                                                   : kStreamLink};
  return opening;
}

std::vector<std::string> connection_names() {
  std::vector<std::string> names = {"loopback", "tcp", "tls", "tcp_apart", "tls_apart"};
  names.insert(names.end(), {"loopback_gpus", "loopback_near_gpu", "loopback_far_gpu"});
  names.insert(names.end(), {"tls_gpus", "tls_near_gpu", "tls_far_gpu", "tls_apart_gpus"});
  names.insert(names.end(), {"peer_stream_gpus", "peer_stream_apart_gpus"});
  names.insert(names.end(), {"card_gpus", "card_near_gpus", "card_far_gpus", "card_far_gpu"});
  names.insert(names.end(), {"shared", "shared_apart", "shared_gpus", "shared_apart_near_gpu",
                             "shared_apart_far_gpu", "peer_gpus", "peer_near_gpu",
                             "peer_apart_gpus", "peer_apart_near_gpu", "peer_apart_far_gpu"});
#ifdef FRAMEWIRE_HAS_UCX
  names.insert(names.end(), {"ucx_tcp", "ucx_tcp_apart", "ucx_card_gpus", "ucx_card_near_gpus",
                             "ucx_card_far_gpus", "ucx_card_far_gpu"});
  if (!rdma_device().empty()) names.insert(names.end(), {"ucx_rdma", "ucx_rdma_apart"});
#endif
  return names;
}

std::unique_ptr<Ends> connect_ends(const std::string& name, const Wrap& wrap) {
  if (name.starts_with("loopback")) return local(name, make_loopback(), wrap);
  if (name.starts_with("card")) return local(name, cards(name), wrap);
#ifdef FRAMEWIRE_HAS_UCX
  if (name.starts_with("ucx_card") || name.starts_with("ucx_rdma_card")) {
    auto open = std::make_shared<OpenDevices>();
    return local(name, ucx_cards(name), wrap, std::move(open));
  }
#endif
  const Opening opening = opening_of(name, true);
  auto listener = session::Listener::listen(near_host() + ":0", opening.options);
  if (!listener) must(listener.error());
  if (opening.apart && !far_machine().empty()) return on_far_machine(name, *listener, wrap);
  return opening.apart ? apart(name, *listener, wrap) : together(name, *listener, wrap);
}

}  // namespace framewire::transport::testing
