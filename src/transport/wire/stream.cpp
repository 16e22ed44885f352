#include <fmt/format.h>
#include <sys/socket.h>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <cerrno>
#include <cstring>
#include <transport/wire/stream.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

using base::Clock;

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(base::FileDescriptor socket) : socket_(std::move(socket)) {}

  Result<std::size_t> read(std::span<std::byte> to) override {
    const auto count = ::recv(socket_.get(), to.data(), to.size(), 0);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0 && !to.empty()) return fail(StatusCode::kPeerLost, "the peer hung up");
    return nothing();
  }
  Result<std::size_t> write(std::span<const std::byte> from) override {
    const auto count = ::send(socket_.get(), from.data(), from.size(), MSG_NOSIGNAL);
    if (count >= 0) return static_cast<std::size_t>(count);
    return nothing();
  }
  bool buffered() const override { return false; }
  int fd() const override { return socket_.get(); }
  std::string kind() const override { return "tcp"; }
  std::string peer() const override { return "an unproven peer"; }

 private:
  static Result<std::size_t> nothing() {
    if (errno == EAGAIN || errno == EINTR) return 0;
    return fail(StatusCode::kPeerLost,
                fmt::format("the connection broke: {}", std::strerror(errno)));
  }
  base::FileDescriptor socket_;
};

Status late() { return {StatusCode::kDeadline, "the peer took too long"}; }

}  // namespace

std::unique_ptr<ByteStream> make_plain_stream(base::FileDescriptor socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

Result<void> read_all(ByteStream& stream, std::span<std::byte> to, Clock::time_point deadline) {
  while (!to.empty()) {
    const auto count = stream.read(to);
    if (!count) return fail(count.error());
    to = to.subspan(*count);
    // The clock also runs for a peer that sends a byte at a time.
    if (Clock::now() >= deadline) return fail(late());
    if (*count == 0 && !base::wait_for(stream.fd(), false, deadline)) return fail(late());
  }
  return {};
}

Result<void> write_all(ByteStream& stream, std::span<const std::byte> from,
                       Clock::time_point deadline) {
  while (!from.empty()) {
    const auto count = stream.write(from);
    if (!count) return fail(count.error());
    from = from.subspan(*count);
    if (*count == 0 && !base::wait_for(stream.fd(), true, deadline)) return fail(late());
  }
  return {};
}

}  // namespace framewire::transport::wire
