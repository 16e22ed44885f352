// How a test's two ends get joined, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tests/transport/servant.hpp>
#include <transport/channel.hpp>
#include <transport/session/listener.hpp>
#include <transport/session/session.hpp>
#include <vector>

namespace framewire::transport::testing {

/// Puts something between a channel and its link, on the near end.
using Wrap = std::function<std::unique_ptr<Link>(std::unique_ptr<Link>)>;

/// Both ends of one connection; the far one obeys commands.
class Ends {
 public:
  virtual ~Ends() = default;
  [[nodiscard]] Channel& near() { return *near_; }
  /// Has the far end do something, and waits for the answer while the near end goes on.
  virtual std::string far(const std::string& command) = 0;
  /// One step of both ends.
  virtual void step() = 0;
  /// The far end ends without a word: its process is killed, or its channel destroyed.
  virtual void kill_far() = 0;

 protected:
  std::unique_ptr<Channel> near_;
};

/// How the ends of a connection called so are to be opened; not for "loopback".
struct Opening {
  SessionOptions options;
  bool apart = false;  ///< the far end in a process of its own
};
[[nodiscard]] Opening opening_of(const std::string& name, bool near);

/// Memory as the name says that this end has: "_gpus" both ends on a fake device, "_near_gpu",
/// "_far_gpu" one of them; else host memory.
[[nodiscard]] Region allocate_end(const std::string& name, bool near, std::size_t bytes);

/// Names of the connections that this build and machine can make.
[[nodiscard]] std::vector<std::string> connection_names();
[[nodiscard]] std::unique_ptr<Ends> connect_ends(const std::string& name, const Wrap& wrap = {});

}  // namespace framewire::transport::testing
