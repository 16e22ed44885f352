// JPEG bytes in, JPEG bytes out, on the calling thread.
#pragma once

#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <vector>

namespace framewire {

/// The result of one resize: a complete JPEG stream and what was done to make it.
struct Resized {
  std::vector<std::uint8_t> bytes;  ///< empty where the request brought a sink
  Report report;
  std::span<std::uint8_t> written{};  ///< with a sink: the stream, in the sink's memory
};

/// Resizes JPEGs on the CPU, with the codec that ResizeOptions::codec names at each call; kAuto is
/// kTurbo. For GPUs see engine.hpp.
///
/// Thread safety: const member functions may be called from any number of threads at once; each
/// call works on the calling thread and keeps a workspace, reused by later calls, in the object.
class FRAMEWIRE_API Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(Resizer&&) noexcept;
  Resizer& operator=(Resizer&&) noexcept;

  /// Decodes, crops, resizes, converts and encodes one JPEG.
  ///
  /// @param jpeg  host, one JPEG stream; read only, not kept
  /// @return invalid_input for bytes that are no JPEG or, with strict, only decode with warnings;
  ///         unsupported for 12-bit, lossless and hierarchical files, and for codecs
  ///         that need a GPU; too_large for a limit;
  ///         deadline when limits.deadline_ms has passed; busy when memory ran out
  [[nodiscard]] Result<Resized> resize(std::span<const std::uint8_t> jpeg,
                                       const ResizeOptions& options) const;

 private:
  struct FRAMEWIRE_LOCAL State;
  std::unique_ptr<State> state_;
};

}  // namespace framewire
