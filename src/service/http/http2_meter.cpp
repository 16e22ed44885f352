#include <nghttp2/nghttp2.h>
#include <algorithm>
#include <service/http/http2_meter.hpp>

namespace framewire::service::http {

bool FrameMeter::feed(std::string_view bytes, Clock::time_point now) noexcept {
  while (!bytes.empty()) {
    if (to_skip_ != 0) {
      const std::size_t skip = std::min(to_skip_, bytes.size());
      to_skip_ -= skip;
      bytes.remove_prefix(skip);
      if (to_skip_ == 0) end_frame();
      continue;
    }
    header_[header_bytes_++] = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (header_bytes_ < header_.size()) continue;
    header_bytes_ = 0;
    if (!begin_frame(now)) return false;
    if (to_skip_ == 0) end_frame();
  }
  return true;
}

bool FrameMeter::begin_frame(Clock::time_point now) noexcept {
  length_ = static_cast<std::uint32_t>(header_[0] << 16 | header_[1] << 8 | header_[2]);
  to_skip_ = length_;
  const std::uint8_t type = header_[3];
  const std::uint8_t flags = header_[4];
  const bool has_fields = type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION;
  if (has_fields) {
    in_head_ = true;
    head_ends_ = (flags & NGHTTP2_FLAG_END_HEADERS) != 0;
  }
  if (is_free(type, (flags & NGHTTP2_FLAG_END_STREAM) != 0)) return true;
  const bool is_extra = has_fields && head_is_extra_;
  return spend(now, 1 + (is_extra ? static_cast<double>(length_ / kFieldBytesOfAFrame) : 0));
}

bool FrameMeter::is_free(std::uint8_t type, bool ends) noexcept {
  switch (type) {
    case NGHTTP2_HEADERS: {
      const std::uint32_t stream = (std::uint32_t{header_[5]} & 0x7F) << 24 |
                                   std::uint32_t{header_[6]} << 16 |
                                   std::uint32_t{header_[7]} << 8 | header_[8];
      const bool is_new = stream > newest_stream_;
      if (is_new) {
        newest_stream_ = stream;
        if (!ends) ++unended_;
      }
      head_is_extra_ = !is_new && !(ends && take_end());
      return !head_is_extra_;
    }
    case NGHTTP2_GOAWAY:
      return true;
    case NGHTTP2_DATA:
      return (ends && take_end()) || length_ >= kMinDataBytes;
    case NGHTTP2_WINDOW_UPDATE:
      if (free_updates_ == 0) return false;
      --free_updates_;
      return true;
    default:
      return false;
  }
}

// A stream is ended once. Which one it is does not matter: there are no more ends than streams.
bool FrameMeter::take_end() noexcept {
  if (unended_ == 0) return false;
  --unended_;
  return true;
}

void FrameMeter::end_frame() noexcept {
  if (!head_ends_) return;
  ++heads_;
  in_head_ = false;
  head_ends_ = false;
}

bool FrameMeter::spend(Clock::time_point now, double frames) noexcept {
  const std::chrono::duration<double> passed = now - filled_at_;
  filled_at_ = now;
  store_ = std::min(kBurst, store_ + passed.count() * kPerSecond) - frames;
  return store_ >= 0;
}

}  // namespace framewire::service::http
