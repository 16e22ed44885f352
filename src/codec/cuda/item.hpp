// What a batch is made of, and what this codec takes.
#pragma once

#include <codec/batch_codec.hpp>
#include <codec/coefficients.hpp>
#include <codec/cuda/picture/filter_pack.hpp>
#include <codec/device_plane.hpp>
#include <cstdint>
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
  /// Of the output: everything before its entropy-coded bytes. Items may share one.
  std::span<const std::uint8_t> header;
  /// Of the whole file, decoded by somebody else; those that the plan needs are uploaded.
  const Coefficients* coefficients = nullptr;
  /// Of plans that convert a profile; others need none. Its table is borrowed.
  const color::Converter* converter = nullptr;
  /// One a component, as large as the plan's input. Read on the transcoder's stream.
  std::span<const DevicePlane> planes;
  /// Of `planes`, one for each of the plan's: they hold, and their resampled planes are, these rows
  /// only. Empty: all. Together with `encode` false and a plan that does nothing but resample.
  std::span<const RowPart> parts;
  /// Without a plan: one a component, where decoded planes are written, whole blocks of them; null
  /// samples, or none at all: memory of the batch's. Pitches and addresses are multiples of 16.
  std::span<const DevicePlane> targets;
  bool encode = true;
  bool pinned = false;  ///< as BatchItem::pinned
};

/// Bits that code_block() sends for one block at most, and that fill up a segment. Each of 64
/// levels costs a code of up to 16 bits and up to 11 more (T.81 tables F.1 and F.2, for samples of
/// 8 bits); runs and the end of block stand in the place of levels that are zero, with codes of up
/// to 16.
inline constexpr std::uint64_t kMaxBlockBits = 64 * (16 + 11);
inline constexpr std::uint64_t kMaxSegmentPaddingBits = 7;
/// Blocks of one output: its bit positions are sums of 32 bits (entropy_encode.cu), and at worst
/// every block is a segment of its own. 52 megapixels of 4:4:4, 105 of 4:2:0, and more than the
/// default limits allow of either.
inline constexpr std::uint64_t kMaxOutputBlocks =
    UINT32_MAX / (kMaxBlockBits + kMaxSegmentPaddingBits);

/// Blocks of a stream, those that only fill up MCUs included.
[[nodiscard]] std::uint64_t count_output_blocks(const plan::EncodePlan& encode);

/// Whether this codec can take an item; others are for the CPU.
/// @return unsupported, naming what it cannot do
[[nodiscard]] Result<void> check_item(const Item& item);
/// Whether items fit one batch together: blocks, segments and subsequences are counted over all of
/// them in 32 bits.
/// @return unsupported
[[nodiscard]] Result<void> check_batch(std::span<const Item> items);
/// The same as check_item() of what comes after decoding alone, whatever the source.
[[nodiscard]] Result<void> check_output(const Item& item);

}  // namespace framewire::codec::cuda
