// Memory that nghttp2 takes for one connection: counted, and bounded whatever the client does.
#pragma once

#include <nghttp2/nghttp2.h>
#include <cstddef>

namespace framewire::service::http {

/// Gives all of it back at its end, as a whole: nghttp2_session_del() is never called. Where memory
/// ran out while an answer was queued, nghttp2 1.52 frees it twice there.
///
/// One thread. Outlives the session that uses it.
class Http2Memory {
 public:
  /// What a session may take. An idle one takes some 30 KB.
  static constexpr std::size_t kMaxBytes = 512u << 10;

  Http2Memory() noexcept;
  ~Http2Memory();
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  /// For nghttp2_session_server_new3(). Beyond the bound there is no memory, and nghttp2 gives the
  /// connection up.
  [[nodiscard]] nghttp2_mem* functions() noexcept { return &functions_; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_bytes_; }

 private:
  struct Block;
  void* take(std::size_t bytes) noexcept;
  void give_back(void* memory) noexcept;

  nghttp2_mem functions_;
  std::size_t used_bytes_ = 0;
  Block* first_ = nullptr;  ///< of those that are taken
};

}  // namespace framewire::service::http
