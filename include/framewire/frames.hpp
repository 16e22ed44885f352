// Pictures from process to process: what they are, in which order, and what became of each. See
// docs/frames.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <memory>
#include <optional>

namespace framewire::frames {

enum class FrameFormat : std::uint8_t {
  kJpeg = 1,    ///< one JPEG stream
  kPlanes = 2,  ///< planes of 8-bit samples, one behind the other
};

/// One plane of a payload. Its samples begin where those of the plane before it end.
struct PlaneShape {
  std::int32_t width_px = 0;      ///< 1 to 65,535
  std::int32_t height_px = 0;     ///< 1 to 65,535
  std::uint32_t pitch_bytes = 0;  ///< from row to row; width_px to 65,536
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return std::uint64_t{pitch_bytes} * static_cast<std::uint64_t>(height_px);
  }
  friend bool operator==(const PlaneShape&, const PlaneShape&) = default;
};

/// What goes ahead of each frame. The wire format is in docs/frames.md.
struct PictureHeader {
  FrameFormat format = FrameFormat::kJpeg;
  std::int32_t width_px = 0;            ///< of the picture as stored, 1 to 65,535
  std::int32_t height_px = 0;           ///< likewise
  int orientation = 1;                  ///< EXIF, 1 to 8; of kPlanes, which hold stored rows
  int plane_count = 0;                  ///< kPlanes: 1 gray, 3 YCbCr (full range, BT.601)
  std::array<PlaneShape, 4> planes;     ///< kPlanes: their sizes tell the sampling
  std::uint64_t payload_bytes = 0;      ///< kPlanes: the sum of the planes
  std::int64_t timestamp_ns = 0;        ///< since 1970, by the sender's clock; 0: when sent
  std::uint64_t sequence = 0;           ///< from 1 on each connection; set by FrameSender
  std::uint64_t previous_sequence = 0;  ///< of the frame that was sent before; likewise
  bool last = false;                    ///< the sender has finished: no payload; likewise
  friend bool operator==(const PictureHeader&, const PictureHeader&) = default;
};

struct SenderOptions {
  std::size_t queue = 4;               ///< frames that may wait for a credit, 1 or more
  bool drop_oldest = false;            ///< a full queue loses its oldest frame; else send() waits
  std::uint32_t deadline_ms = 30'000;  ///< of each frame, from send() to its confirmation
  bool checksum = false;               ///< of each payload, compared where it arrives
};

struct SenderStats {
  std::uint64_t accepted = 0;   ///< by send(); the sum of the next three, and of what is under way
  std::uint64_t delivered = 0;  ///< confirmed to be in the receiver's memory
  std::uint64_t dropped = 0;    ///< made way for newer ones
  std::uint64_t failed = 0;     ///< too large, too late, or the peer was lost
  std::uint64_t bytes = 0;      ///< of payloads delivered
  std::uint64_t repeated = 0;   ///< sent again after damage, or after a lease had expired
};

/// One frame to send. Its payload is not copied: it must stay as it is until `done`, and where that
/// says deadline or peer_lost until memory.in_use() is false: the peer may be reading it.
struct OutgoingFrame {
  PictureHeader header;
  transport::Region memory;
  std::uint64_t offset_bytes = 0;  ///< of header.payload_bytes in the region
  /// Called once, inside one of the sender's calls or its destructor: nothing where the frame is in
  /// the receiver's memory; else busy (dropped), too_large, deadline, peer_lost. It may send other
  /// frames, and must neither destroy the sender nor wait for the end of other frames: no `done` is
  /// called before this one has returned. What it throws is ignored. May be empty.
  std::function<void(const Result<void>&)> done;
};

/// Sends frames into the slots that a FrameReceiver offers. Never more wait than the queue holds.
/// One thread at a time; nothing happens between calls.
class FRAMEWIRE_API FrameSender {
 public:
  /// @return invalid_input for options out of range
  [[nodiscard]] static Result<FrameSender> make(transport::Channel channel,
                                                const SenderOptions& options = {});
  ~FrameSender();
  FrameSender(FrameSender&&) noexcept;
  FrameSender& operator=(FrameSender&&) noexcept;

  /// Takes a frame. Where the queue is full: with drop_oldest the oldest frame in it is dropped,
  /// else waits for room, unless a `done` sends.
  /// @return nothing where the frame was taken: `done` tells its end. Otherwise `done` is not
  ///         called: invalid_input for a header that makes no sense or memory outside the region;
  ///         deadline where no room came in time; busy where a `done` sends and the queue is full;
  ///         peer_lost, also once close() has begun
  [[nodiscard]] Result<void> send(OutgoingFrame frame);
  /// Sends what can be sent and takes in what has come. @return whether anything moved
  bool progress();
  /// Sleeps until something may have come, at most that long.
  void idle(int timeout_ms);
  /// Takes no more frames, waits until every frame has ended, tells the receiver that no more will
  /// come, and closes.
  /// @return deadline, peer_lost; single frames that failed are no failure of this
  [[nodiscard]] Result<void> close();

  /// Frames whose `done` has not been called.
  [[nodiscard]] std::size_t under_way() const noexcept;
  [[nodiscard]] const SenderStats& stats() const noexcept;
  [[nodiscard]] const transport::Channel& channel() const noexcept;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit FrameSender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ReceiverOptions {
  std::uint32_t slots = 8;                ///< frames in memory at a time; the sender's credits
  std::uint64_t slot_bytes = 0;           ///< largest payload
  std::uint32_t work_ms = 30'000;         ///< a frame that has begun to arrive must be there within
  std::uint32_t reorder_wait_ms = 1'000;  ///< how long a frame waits for one before it
};

struct ReceiverStats {
  std::uint64_t frames = 0;   ///< handed out by next()
  std::uint64_t dropped = 0;  ///< sequence numbers passed over: dropped by the sender, or lost
  std::uint64_t damaged = 0;  ///< arrived with a wrong checksum; the sender repeats them
  std::uint64_t late = 0;     ///< came after a later one had been handed out; not delivered
  std::uint64_t bytes = 0;    ///< of payloads handed out
};

/// A frame in one of the receiver's slots, until release().
struct ReceivedFrame {
  PictureHeader header;
  std::uint32_t slot = 0;
  std::uint64_t offset_bytes = 0;  ///< in FrameReceiver::memory()
};

/// Owns slots and lends them to the peer's FrameSender. Frames are handed out once and in order; a
/// slot is lent again only after its frame has been released. One thread at a time; nothing happens
/// between calls.
class FRAMEWIRE_API FrameReceiver {
 public:
  /// @param memory  host or device; at least slots × slot_pitch(slot_bytes)
  /// @return invalid_input for memory that is too small, or more slots than the channel's capacity;
  ///         unsupported for memory that the link does not take; peer_lost
  [[nodiscard]] static Result<FrameReceiver> make(transport::Channel channel,
                                                  transport::Region memory,
                                                  const ReceiverOptions& options);
  ~FrameReceiver();
  FrameReceiver(FrameReceiver&&) noexcept;
  FrameReceiver& operator=(FrameReceiver&&) noexcept;

  /// Bytes from slot to slot: slots begin at multiples of 256.
  [[nodiscard]] static std::uint64_t slot_pitch(std::uint64_t slot_bytes) noexcept;

  /// The next frame; nothing once the sender has said that it has finished.
  /// @return deadline where none came in time; peer_lost once all that arrived has been handed out;
  ///         invalid_input where the peer sends what is no frame, unsupported where it sends a
  ///         header of another version; both end the connection
  [[nodiscard]] Result<std::optional<ReceivedFrame>> next(std::uint32_t wait_ms);
  /// Gives a frame's slot back. @return invalid_input for a slot that holds no frame
  [[nodiscard]] Result<void> release(const ReceivedFrame& frame);
  /// Lets the channel work while frames are held. @return whether anything moved
  bool progress();

  [[nodiscard]] const transport::Region& memory() const noexcept;
  [[nodiscard]] const ReceiverStats& stats() const noexcept;
  [[nodiscard]] const transport::Channel& channel() const noexcept;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit FrameReceiver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::frames
