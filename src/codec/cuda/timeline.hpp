// How long each stage of a batch takes on the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <gpu/stream.hpp>
#include <string_view>
#include <vector>

namespace framewire::codec::cuda {

/// Stages as they are timed, in order of execution.
enum class Stage : std::uint8_t {
  kCopyIn,
  kUnstuff,
  kSynchronise,
  kOffsets,
  kWrite,
  kDc,
  kAc,        ///< AC scans of progressive files
  kAssemble,  ///< of progressive files: DC refinements, and levels as other files have them
  kInverse,
  kFilterWeights,
  kResample,
  kPostProcess,  ///< conversion of colours, sharpening, turning and padding
  kForward,
  kEncode,
  kSearch,  ///< all encodings after the first of streams under a bound on their bytes
  kPack,    ///< stuffing of the first encoding, and packing
  kCount,
};
inline constexpr std::size_t kStageCount = static_cast<std::size_t>(Stage::kCount);
[[nodiscard]] std::string_view to_string(Stage stage) noexcept;

/// Events on the stream of a batch. Records nothing unless made with `timed`.
class Timeline {
 public:
  /// @return device_lost
  [[nodiscard]] static Result<Timeline> make(bool timed);

  [[nodiscard]] bool timed() const noexcept { return !marks_.empty(); }

  void begin(const gpu::Stream& stream);
  /// Counts the work enqueued since the last call as this stage's. A stage may end more than once,
  /// or never.
  void end(Stage stage, const gpu::Stream& stream);

  /// Microseconds of each stage of the last batch, once it is over; zeros unless timed.
  [[nodiscard]] Result<std::array<double, kStageCount>> stage_us() const;

 private:
  static constexpr std::size_t kMaxMarks = 2 * kStageCount;
  struct Mark {
    Stage stage;
    gpu::Event event;
  };
  std::vector<Mark> marks_;  ///< the first begins; empty: nothing is timed
  std::size_t used_ = 0;
};

}  // namespace framewire::codec::cuda
