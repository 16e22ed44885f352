// The far end of a connection on another machine, where tests/rdma/far.sh waits for orders.
#pragma once

#include <functional>
#include <string>

namespace framewire::transport::testing {

/// Where tests may find another machine, and what it dials to reach this one; empty without one.
///   FRAMEWIRE_TEST_FAR   its address and port
///   FRAMEWIRE_TEST_HOST  ours, without port
///   FRAMEWIRE_TEST_RDMA  RDMA device and port, the same on both
///   FRAMEWIRE_TEST_TCP   network device of both; lo if not given
[[nodiscard]] std::string far_machine();
[[nodiscard]] std::string near_host();
[[nodiscard]] std::string rdma_device();
[[nodiscard]] std::string tcp_device();

/// A program that runs there: its standard input and output, and its end by SIGKILL.
struct FarProgram {
  int in_and_out = -1;
  std::function<void()> kill;
};

/// Runs transport_far_end there. Throws where it cannot.
[[nodiscard]] FarProgram start_far_machine(const std::string& name, const std::string& address);

/// Has a shell there run a line in the background.
void order_far_machine(const std::string& line);

}  // namespace framewire::transport::testing
