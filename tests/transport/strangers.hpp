// Strangers at a port, who speak as far as they like.
#pragma once

#include <atomic>
#include <base/file_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <framewire/transport.hpp>
#include <span>
#include <thread>
#include <vector>

namespace framewire::transport::testing {

/// A connection on which nothing has been said.
[[nodiscard]] base::FileDescriptor call(std::uint16_t port);
void send_to(const base::FileDescriptor& socket, std::span<const std::byte> bytes);
[[nodiscard]] bool hung_up(const base::FileDescriptor& socket);
/// What a client with these options says first.
[[nodiscard]] std::vector<std::byte> first_words(const SessionOptions& options);

/// What each of a crowd does.
enum class Manner { kSilent, kByteAtATime, kStopsAtTheLastByte, kStopsAfterTheFirstWords };

/// Strangers who come and go, a thousand a second, 250 at a time, until the object ends. The first
/// and every hundredth after it stays, as long as it is let.
class Strangers {
 public:
  Strangers(std::uint16_t port, Manner manner, std::vector<std::byte> words);
  ~Strangers();
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;
  [[nodiscard]] int come() const { return come_; }

 private:
  struct Stranger {
    base::FileDescriptor socket;
    std::size_t said = 0;
  };
  void run();
  void speak(Stranger& stranger) const;

  std::uint16_t port_;
  Manner manner_;
  std::vector<std::byte> words_;
  std::deque<Stranger> there_;
  std::deque<Stranger> stay_;
  std::atomic<int> come_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace framewire::transport::testing
