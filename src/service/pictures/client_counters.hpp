// What clients that share memory with a server, or send it frames, have done.
#pragma once

#include <atomic>
#include <cstdint>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>

namespace framewire::service {

/// Counts what the clients of one transport do. Written by the threads of their connections, read
/// by whoever scrapes. All but `connections` only grow. Thread safety: all members from any thread.
struct ClientCounters {
  using Count = std::atomic<std::uint64_t>;

  Count connections{0};          ///< that are served now
  Count connected{0};            ///< connections that were greeted
  Count refused_connections{0};  ///< that were not
  Count resized{0};              ///< requests that were answered with a picture
  Count failed{0};               ///< requests that were answered with an error
  Count refused{0};              ///< of requests, those for which there was no room: `busy`
  Count input_bytes{0};          ///< JPEG bytes of requests
  Count output_bytes{0};         ///< JPEG bytes of answers
  Count wakeups{0};              ///< of clients that slept while answers came

  static void add(Count& count, std::uint64_t more = 1) noexcept {
    count.fetch_add(more, std::memory_order_relaxed);
  }

  /// @param kind  of what a server tells its owner: kConnected, kRefused or kEnded
  template <typename Kind>
  void count_event(Kind kind) noexcept {
    switch (kind) {
      case Kind::kConnected:
        add(connected);
        add(connections);
        return;
      case Kind::kRefused:
        return add(refused_connections);
      case Kind::kEnded:
        --connections;
    }
  }

  /// @param bytes  of the picture, where there is one
  void count_answer(const Result<Resized>& result, std::uint64_t bytes) noexcept {
    if (result) {
      add(resized);
      add(output_bytes, bytes);
    } else {
      add(result.error().code() == StatusCode::kBusy ? refused : failed);
    }
  }
};

}  // namespace framewire::service
