#include "transport/shared/bulk_copy.hpp"
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace framewire::transport::shared {

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#ifdef __SSE2__
  constexpr std::size_t kLine = 64;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % kLine;
  if (bytes >= before + kLine) {
    if (before > 0) std::memcpy(to, from, before);
    to += before;
    from += before;
    bytes -= before;
    for (; bytes >= kLine; bytes -= kLine, to += kLine, from += kLine) {
      const auto* const in = reinterpret_cast<const __m128i*>(from);
      auto* const out = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(in);
      const __m128i b = _mm_loadu_si128(in + 1);
      const __m128i c = _mm_loadu_si128(in + 2);
      const __m128i d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    }
    _mm_sfence();
  }
#endif
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace framewire::transport::shared
