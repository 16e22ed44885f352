// A client that keeps to no rule: the socket, the shared memory and the ring, to write what one
// likes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <base/clock.hpp>
#include <cstring>
#include <ipc/answer.hpp>
#include <ipc/greeting.hpp>
#include <ipc/shared_pages.hpp>
#include <ipc/wakeup.hpp>
#include <stdexcept>
#include <tests/service/local/local_server_fixture.hpp>
#include <transport/shared/local_peer.hpp>

namespace framewire::service::local::test {

/// Connects, and does not greet.
inline base::FileDescriptor connect_raw(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    socket.reset();
  }
  return socket;
}

/// What the server says before it closes the connection: messages of one byte are passed over.
inline Status last_word(int socket) {
  Status said(StatusCode::kPeerLost, "closed without a word");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    pollfd file{socket, POLLIN, 0};
    if (::poll(&file, 1, 100) <= 0) continue;
    const ipc::News news = ipc::read_news(socket);
    if (news.has_word) {
      if (auto word = ipc::read_word(news.word); !word) said = word.error();
    }
    if (news.gone) return said;
  }
  return {StatusCode::kDeadline, "the server did not close the connection"};
}

class RawClient {
 public:
  explicit RawClient(const std::string& path, std::uint32_t slots = 8,
                     std::uint64_t input_bytes = 1 << 20, std::uint64_t output_bytes = 256 << 10)
      : peer_(connect_raw(path)) {
    ipc::Hello hello;
    hello.slots = slots;
    hello.input_bytes = input_bytes;
    hello.output_bytes = output_bytes;
    ipc::Word word;
    if (!peer_.send(std::as_bytes(std::span(&hello, 1)))) throw std::runtime_error("no server");
    auto message =
        peer_.receive(std::as_writable_bytes(std::span(&word, 1)), base::Clock::now() + kPatience);
    if (!message || word.code != 0) throw std::runtime_error("not greeted");
    pages_ =
        ipc::SharedPages::open(message->files[0], {word.slots, word.input_bytes, word.output_bytes})
            .value();
    writer_.emplace(pages_.submissions());
    reader_.emplace(pages_.completions());
  }

  [[nodiscard]] int socket() const { return peer_.fd(); }
  [[nodiscard]] const ipc::SharedPages& pages() const { return pages_; }
  [[nodiscard]] ipc::ControlBlock& control() const { return pages_.control(); }

  void put_input(std::span<const std::uint8_t> bytes, std::uint64_t offset = 0) const {
    std::memcpy(pages_.input().data() + offset, bytes.data(), bytes.size());
  }
  void put_options(std::uint32_t slot, std::string_view text) const {
    std::memcpy(pages_.options(slot).data(), text.data(), text.size());
  }
  static ipc::Submission request(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes,
                                 std::uint32_t options_bytes = 0) {
    return {static_cast<std::uint32_t>(ipc::RequestCommand::kRequest),
            slot,
            offset,
            bytes,
            options_bytes,
            0};
  }
  static ipc::Submission release(std::uint64_t offset) {
    return {static_cast<std::uint32_t>(ipc::RequestCommand::kRelease), 0, offset, 0, 0, 0};
  }
  static ipc::Submission cancel(std::uint32_t slot) {
    return {static_cast<std::uint32_t>(ipc::RequestCommand::kCancel), slot, 0, 0, 0, 0};
  }
  /// @return whether the ring had room
  bool push(const ipc::Submission& entry) {
    const bool pushed = writer_->push(entry);
    writer_->publish();
    ring_the_bell();
    return pushed;
  }
  /// Whatever the server says of its sleep.
  void ring_the_bell() const { (void)::send(socket(), "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL); }

  /// Waits for an answer. @param receives  whether the server is told that it was received
  std::optional<ipc::CompletionEntry> take(bool receives = true) {
    if (!soon([&] { return reader_->available().value_or(0) != 0; })) return std::nullopt;
    const ipc::CompletionEntry entry = reader_->take();
    if (receives) reader_->give_back();
    return entry;
  }
  /// The error in a slot. Call it before the slot is used again.
  [[nodiscard]] Status error(const ipc::CompletionEntry& entry) const {
    Bytes copy(entry.report_bytes);
    std::memcpy(copy.data(), pages_.report(entry.slot).data(), copy.size());
    return ipc::read_error(std::as_bytes(std::span(copy))).value();
  }
  [[nodiscard]] Status last_word() const { return test::last_word(socket()); }

 private:
  transport::shared::LocalPeer peer_;
  ipc::SharedPages pages_;
  std::optional<ipc::RingWriter<ipc::Submission>> writer_;
  std::optional<ipc::RingReader<ipc::CompletionEntry>> reader_;
};

}  // namespace framewire::service::local::test
