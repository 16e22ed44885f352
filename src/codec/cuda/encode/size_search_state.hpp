// Lowering a stream's quality until it fits: what is tried, and what next.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Search of one stream under a bound. Filled on the host, kept on the device.
struct SizeSearch {
  std::uint64_t max_bytes = 0;
  std::uint32_t stream = 0;
  std::uint32_t quality = 0;  ///< being tried; in the end that of the stream
  std::uint32_t low = 1;      ///< bisection between these
  std::uint32_t high = 0;
  std::uint32_t best = 0;  ///< the highest that is known to fit
  std::uint32_t tried = 0;
  std::uint32_t last = 0;    ///< nothing is left to find out
  std::uint32_t done = 0;    ///< the stream is what it shall be
  std::uint32_t missed = 0;  ///< even quality 1 does not fit
  std::uint32_t table = 0;   ///< of two in EncodeView::reciprocals: the stream's own
  std::uint32_t dqt = 0;     ///< of the DQT segments in the stream's header; one or two
  std::uint32_t dqt_count = 0;
};

/// Encodings that a search over at most 99 lower qualities takes beyond the first: 7 of bisection,
/// and one more of what it found.
inline constexpr int kSearchRounds = 8;

/// Records how the last attempt went. Searches like codec/turbo: among qualities 1 to `high` the
/// highest that fits, or else 1.
/// @return whether the stream is to be encoded again, with s.quality
FW_HD inline bool advance(SizeSearch& s, bool fits) {
  if (s.last != 0 || (s.tried == 0 && fits)) {
    s.done = 1;
    return false;
  }
  if (s.tried++ > 0) {
    if (fits) {
      s.best = s.quality;
      s.low = s.quality + 1;
    } else {
      s.high = s.quality - 1;
    }
  }
  if (s.low <= s.high) {
    s.quality = (s.low + s.high) / 2;
    return true;
  }
  s.missed = s.best == 0 ? 1 : 0;
  s.last = 1;
  const std::uint32_t wanted = s.best == 0 ? 1 : s.best;
  if (s.quality == wanted) s.done = 1;
  s.quality = wanted;
  return s.done == 0;
}

}  // namespace framewire::codec::cuda
