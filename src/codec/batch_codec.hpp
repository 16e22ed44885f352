// The interface of codecs that take whole batches: one launch, one synchronisation, many images.
#pragma once

#include <base/cache_use.hpp>
#include <codec/coefficients.hpp>
#include <cstdint>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::color {
class Converter;
}

namespace framewire::codec {

/// Bytes behind a pinned file that can be read: they belong to the same allocation.
inline constexpr std::size_t kPinnedGuardBytes = 16 << 10;

/// One image of a batch. Everything is borrowed until wait() has returned.
struct BatchItem {
  const jpeg::JpegFile* file = nullptr;
  const plan::Plan* plan = nullptr;
  std::span<const std::uint8_t> head;           ///< of the output: SOI and APPn
  const color::Converter* converter = nullptr;  ///< null on the planar path
  const Coefficients* coefficients = nullptr;   ///< null: the codec decodes the file's scans itself
  /// Whether the file's bytes lie in pinned memory, from which devices copy by themselves.
  bool pinned = false;
  /// Whether damage counts wherever in the file it is, also where the output needs nothing.
  bool strict = false;
};

/// What became of one image.
struct BatchOutcome {
  bool done = false;                    ///< otherwise the image is for the CPU
  std::string reason;                   ///< why it is for the CPU
  int quality = 0;                      ///< as written; lower than asked under max_bytes
  std::span<const std::uint8_t> bytes;  ///< host, the whole output; valid until the next enqueue()
};

struct BatchMemory {
  std::uint64_t device_bytes = 0;
  std::uint64_t pinned_bytes = 0;
  /// Of pinned_bytes those that lie in pinned memory already: files that the device copies itself.
  std::uint64_t in_place_bytes = 0;
};

/// When a codec decodes the scans of progressive files itself: in batches of many, since the scans
/// of one component follow one another and a device is slow at a single one.
struct ProgressiveBatches {
  /// How many images must wait. While fewer do, host threads answer them sooner. 0: host threads
  /// decode all of them.
  std::size_t min_images = 0;
  std::size_t good_images = 0;  ///< of like size: where there are so many, no others join a batch
  std::uint64_t max_bytes = 0;  ///< of compressed input in one batch
};

/// One batch in flight at a time. Not thread-safe; each object belongs to one thread.
class BatchCodec {
 public:
  BatchCodec() = default;
  BatchCodec(const BatchCodec&) = delete;
  BatchCodec& operator=(const BatchCodec&) = delete;
  virtual ~BatchCodec() = default;

  [[nodiscard]] virtual CodecKind kind() const noexcept = 0;
  [[nodiscard]] virtual plan::Capabilities capabilities() const noexcept = 0;

  /// @param item  without a plan: only its file is judged, where progressive() takes any
  /// @return unsupported, with the reason, for an image that the CPU must take from the start
  [[nodiscard]] virtual Result<void> check(const BatchItem& item) = 0;
  [[nodiscard]] virtual ProgressiveBatches progressive() const noexcept { return {}; }
  /// Bound on the memory that an item adds to a batch. @param position  index in the batch
  [[nodiscard]] virtual BatchMemory need(const BatchItem& item, std::size_t position) = 0;

  /// @param items  at least one, each accepted by check()
  /// @return busy where memory ran out, device_lost; then no outcome is valid
  [[nodiscard]] virtual Result<void> enqueue(std::span<const BatchItem> items) = 0;
  /// Waits for the batch. @return device_lost
  [[nodiscard]] virtual Result<void> wait() = 0;
  [[nodiscard]] virtual BatchOutcome outcome(std::size_t index) const = 0;

  /// Memory that the codec holds now.
  [[nodiscard]] virtual BatchMemory memory() const = 0;
  /// The codec's cache of headers of outputs.
  [[nodiscard]] virtual base::CacheUse headers() const = 0;
  /// Times of the last batch by stage; empty where they were not measured.
  [[nodiscard]] virtual std::vector<StageTotal> stages() const = 0;
};

}  // namespace framewire::codec
