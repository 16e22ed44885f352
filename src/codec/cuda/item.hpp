// One image of a batch, and which images this codec takes.
#pragma once

#include <codec/batch_codec.hpp>
#include <codec/coefficients.hpp>
#include <codec/cuda/picture/filter_shape.hpp>
#include <cstdint>
#include <framewire/device_plane.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <span>

namespace framewire::color {
class Converter;
}

namespace framewire::codec::cuda {

/// One image of a batch. Host pointers are borrowed until the batch has been enqueued, pinned files
/// until it is over.
///
/// Sources: the file's scans; else `coefficients`; else `planes`, the file then being optional.
/// Sinks: a finished stream; with `encode` false the planes it would be made of, in device memory;
/// without a plan the decoded planes. A batch may mix all of them.
struct Item {
  const jpeg::JpegFile* file = nullptr;
  const plan::Plan* plan = nullptr;  ///< null: decode only, at `scales`
  plan::Scales scales = plan::kFullScale;
  /// Without a plan: the pixels of the picture that decoded planes are read at. Samples elsewhere
  /// may be left as they were. No width: all of them.
  plan::Rect needed_pixels;
  /// Everything of the output before its entropy-coded bytes. Items may share one.
  std::span<const std::uint8_t> header;
  /// Coefficients of the whole file, where somebody else has decoded them; the stage uploads those
  /// that the plan needs.
  const Coefficients* coefficients = nullptr;
  /// The converter of plans that convert a profile, and null for others. Its table is borrowed.
  const color::Converter* converter = nullptr;
  /// Decoded planes, one a component, as large as the plan's input. Read on the transcoder's
  /// stream.
  std::span<const DevicePlane> planes;
  /// Row ranges, one for each of the plan's planes: `planes` hold only these rows, and only these
  /// are resampled. Empty: all rows. Needs `encode` false and a plan that does nothing but
  /// resample.
  std::span<const RowPart> parts;
  /// Without a plan: one a component, where decoded planes are written, whole blocks of them; null
  /// samples, or none at all: memory of the batch's. Pitches and addresses are multiples of 16.
  std::span<const DevicePlane> targets;
  bool encode = true;
  bool pinned = false;  ///< as BatchItem::pinned
  bool strict = false;  ///< as BatchItem::strict
  /// The host has read the head of the file alone, whose bytes end with EOI: what lies between the
  /// scan and that EOI is kAfterScan.
  bool head_only = false;
};

/// Most bits that code_block() sends for one block. Each of 64 levels costs a code of up to 16 bits
/// and up to 11 additional bits (T.81 tables F.1 and F.2, for samples of 8 bits). Runs and the end
/// of block take the place of zero levels, with codes of up to 16 bits.
inline constexpr std::uint64_t kMaxBlockBits = 64 * (16 + 11);
inline constexpr std::uint64_t kMaxSegmentPaddingBits = 7;
/// Most blocks of one output: bit positions are sums in 32 bits (entropy_encode.cu), and at worst
/// every block is a segment of its own. That is 52 megapixels of 4:4:4 or 105 of 4:2:0, more than
/// the default limits allow of either.
inline constexpr std::uint64_t kMaxOutputBlocks =
    UINT32_MAX / (kMaxBlockBits + kMaxSegmentPaddingBits);

/// Number of a stream's blocks, those that only fill up MCUs included.
[[nodiscard]] std::uint64_t count_output_blocks(const plan::EncodePlan& encode);

/// Whether this codec can take an item; otherwise the CPU must.
/// @return unsupported, naming what it cannot do
[[nodiscard]] Result<void> check_item(const Item& item);
/// Whether items fit one batch together: blocks, segments and subsequences are counted over all of
/// them in 32 bits.
/// @return unsupported
[[nodiscard]] Result<void> check_batch(std::span<const Item> items);
/// check_item() for everything behind decoding, whatever the source.
[[nodiscard]] Result<void> check_output(const Item& item);

}  // namespace framewire::codec::cuda
