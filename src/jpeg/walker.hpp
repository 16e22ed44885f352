// Steps through the markers of a stream, without giving them meaning.
#pragma once

#include <algorithm>
#include <base/clock.hpp>
#include <cstddef>
#include <cstdint>
#include <jpeg/bytes.hpp>
#include <limits>
#include <optional>

namespace framewire::jpeg {

/// A marker and, where it has one, its payload.
struct MarkerView {
  std::uint8_t code = 0;
  std::size_t offset = 0;   ///< of the last 0xFF before the code
  std::size_t skipped = 0;  ///< extraneous bytes before it, fill bytes not counted
  ByteSpan payload;         ///< without the length field
};

enum class SegmentState : std::uint8_t {
  kWhole,
  kShortLength,  ///< a length below 2: the payload is taken as empty
  kCut,          ///< the input ends inside it: the payload is what there is
};

/// Every loop over a file's markers advances through this, so that this is where such loops look at
/// the time, and at how much work they may do: once either is used up, the input ends here.
class Walker {
 public:
  explicit Walker(ByteSpan bytes, base::Deadline deadline = {})
      : bytes_(bytes), deadline_(deadline) {}

  /// Bounds the work, whatever the time: the same file always ends at the same place.
  /// @param steps  markers, fill that is skipped, pieces of 16 bytes of payload; looked at every
  /// 4096
  void bound_work(std::size_t steps) noexcept { steps_left_ = steps; }
  /// Whether the deadline has passed, or the work is used up, as of the last look.
  [[nodiscard]] bool out_of_time() const noexcept { return late_; }

  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  void seek(std::size_t position) noexcept { at_ = std::min(position, bytes_.size()); }

  /// The next marker; skips what is none. Nothing at the end of input.
  [[nodiscard]] std::optional<MarkerView> next_marker() noexcept;

  /// Reads the length and payload that follow a marker, and moves past them.
  [[nodiscard]] SegmentState read_segment(MarkerView& marker) noexcept;

  /// Moves to the marker that ends the entropy-coded bytes here, or to the end of input. RSTn and
  /// codes below SOF0, which only damage can bring there, do not end them, as in libjpeg's resync.
  /// @param damage  set to the offset of the first such code, if any
  void skip_entropy(std::optional<std::size_t>& damage) noexcept;

 private:
  void spend(std::size_t work) noexcept;

  ByteSpan bytes_;
  base::Deadline deadline_;
  std::size_t at_ = 0;
  std::size_t work_ = 0;  ///< since the last look
  std::size_t steps_left_ = std::numeric_limits<std::size_t>::max();
  bool late_ = false;
};

}  // namespace framewire::jpeg
