#include <fcntl.h>
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <tests/transport/far_machine.hpp>
#include <transport/wire/socket.hpp>

namespace framewire::transport::testing {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int call(const std::string& order) {
  const auto deadline = base::Clock::now() + std::chrono::seconds(10);
  const auto where = wire::parse_address(far_machine());
  if (!where) throw std::runtime_error(where.error().to_string());
  auto socket = wire::connect_to(*where, deadline);
  if (!socket) throw std::runtime_error(socket.error().to_string());
  const int fd = socket->release();
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  const std::string line = order + "\n";
  if (::write(fd, line.data(), line.size()) < 0) throw std::runtime_error("no far machine");
  return fd;
}

std::string answer(int fd) {
  std::string line;
  for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

std::string far_machine() { return setting("FRAMEWIRE_TEST_FAR"); }

std::string near_host() {
  const std::string host = setting("FRAMEWIRE_TEST_HOST");
  return host.empty() ? "127.0.0.1" : host;
}

std::string rdma_device() { return setting("FRAMEWIRE_TEST_RDMA"); }

std::string tcp_device() {
  const std::string device = setting("FRAMEWIRE_TEST_TCP");
  return device.empty() ? "lo" : device;
}

FarProgram start_far_machine(const std::string& name, const std::string& address) {
  FarProgram program;
  program.in_and_out = call("serve " + name + " " + address);
  const std::string process = answer(program.in_and_out);
  program.kill = [process] { order_far_machine("kill -9 " + process); };
  return program;
}

void order_far_machine(const std::string& line) {
  const int fd = call(line);
  answer(fd);
  ::close(fd);
}

}  // namespace framewire::transport::testing
