// JPEGs to one normalised training batch: each image decoded, cropped, resized and flipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/cuda_stream.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace framewire {

/// Element type of a batch. Those of 16 bits are rounded once, from single precision, to nearest.
enum class TensorType : std::uint8_t { kUint8, kFloat16, kBfloat16, kFloat32 };
/// Index order of a batch: [image][channel][y][x] or [image][y][x][channel].
enum class TensorLayout : std::uint8_t { kNchw, kNhwc };
/// Channels, in their order. Gray is one channel, all others are three.
enum class TensorColor : std::uint8_t { kRgb, kBgr, kGray, kYcbcr };
/// kExact is torchvision's CPU decode, crop and float resize within 1 level, and Pillow's within 2
/// for kBilinear; kernels that overshoot differ by more where Pillow clips between its two passes
/// (tests/conformance/tensor_test.cpp, docs/tensors.md). kFast filters the planes of the file at
/// their own sampling, decodes at 1/2, 1/4 or 1/8 where the crop is shrunk by as much, and converts
/// colours once at the end; see docs/tensors.md.
enum class TensorFidelity : std::uint8_t { kExact, kFast };

/// A part of a picture, in pixels; wholly inside of it, and not empty.
struct CropBox {
  std::int32_t left_px = 0;
  std::int32_t top_px = 0;
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  friend bool operator==(const CropBox&, const CropBox&) = default;
};

/// Everything that shapes a batch. Defaults are visible here and nowhere else.
struct TensorOptions {
  int device = -1;             ///< the CPU, or the CUDA ordinal of the GPU that makes batches
  std::int32_t width_px = 0;   ///< of every image of the batch; must be set
  std::int32_t height_px = 0;  ///< must be set
  TensorType type = TensorType::kFloat32;
  TensorLayout layout = TensorLayout::kNchw;
  TensorColor color = TensorColor::kRgb;
  Kernel kernel = Kernel::kBilinear;  ///< or kBicubic, kLanczos3, kArea
  /// Stretches the kernel where the crop shrinks, as Pillow always does. false: as
  /// torch.nn.functional.interpolate(align_corners=False); kBilinear and kBicubic only.
  bool antialias = true;
  TensorFidelity fidelity = TensorFidelity::kExact;
  /// out = (sample / 255 − mean) / stddev, a value for each channel of the output, in its order; of
  /// gray the first. Must be 0 and 1 for kUint8, whose samples stay from 0 to 255.
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> stddev{1, 1, 1};  ///< not 0
  /// Shows pictures as their EXIF orientation says, and counts crops in the upright picture.
  bool exif = false;
  /// Limits of each image; deadline_ms counts from when its turn comes.
  Limits limits;
  /// Threads that work on a batch, the caller's among them, 1 to 1024; 0: as many as the process
  /// may use; with a device up to 16 of them read headers and gather bytes for it. They start with
  /// the first batch of more than one image.
  unsigned threads = 0;
};

/// One image of a batch.
struct TensorItem {
  /// Host; read during the call, or until TensorBatch::wait() has returned. May change meanwhile:
  /// pixels are then anybody's, nothing else.
  std::span<const std::uint8_t> jpeg;
  /// A part of the picture as stored, or of the upright picture with TensorOptions::exif; none: all
  /// of it. Pixels outside of it do not count, as if the picture had been cut before it was
  /// resized.
  std::optional<CropBox> crop{};
  bool flip = false;  ///< exchange left and right of what is made
};

/// Where a batch goes: host memory of the caller's.
struct HostTensorView {
  /// Rows of elements, contiguous: [N][C][height_px][width_px] or [N][height_px][width_px][C], at
  /// an address that is a multiple of the element's size. May be null where N is 0.
  void* data = nullptr;
  std::uint64_t bytes = 0;  ///< from `data` on; N × image_bytes() are written, none behind them
  /// [N] 1 where the image is there, 0 where its elements are zeros; null: not wanted.
  std::uint8_t* ok = nullptr;
};

/// Where a batch of a decoder with a device goes: memory of that device, of the caller's.
struct DeviceTensorView {
  /// Device; elements as in HostTensorView::data.
  void* data = nullptr;
  std::uint64_t bytes = 0;  ///< from `data` on
  /// A stream of the decoder's device: writing begins when what it holds now is over.
  CudaStream stream;
  /// Host, [N], as in HostTensorView::ok.
  std::uint8_t* ok = nullptr;
};

/// What was decoded.
struct TensorImage {
  std::int32_t width_px = 0;  ///< of the picture, upright with TensorOptions::exif
  std::int32_t height_px = 0;
  CropBox crop;                   ///< what was taken of it
  int orientation = 1;            ///< EXIF, 1 to 8, applied or not
  std::vector<Warning> warnings;  ///< where the file is damaged
};

/// A picture's size as a crop counts it.
struct PictureSize {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
};

/// Reads the size from a file's header.
/// @param jpeg  host, read only; must not change during the call
/// @param exif  as TensorOptions::exif: the size of the upright picture
/// @return invalid_input, unsupported, too_large as decode() says of single images
/// @cost some µs: pixels are not looked at. Thread safety: a pure function.
[[nodiscard]] FRAMEWIRE_API Result<PictureSize> read_picture_size(
    std::span<const std::uint8_t> jpeg, bool exif = false, const Limits& limits = {});

/// A batch that a device makes, begun by TensorDecoder::begin_to_device(). Ending it, or assigning
/// to it, waits for the device, which still writes to the batch's memory; images that the host
/// makes are not made then. Move-only; may outlive its decoder.
///
/// Thread safety: calls on it, its end among them, count as calls on its decoder. In a process that
/// was forked meanwhile it must neither be waited for nor end.
class FRAMEWIRE_API TensorBatch {
 public:
  ~TensorBatch();
  TensorBatch(TensorBatch&&) noexcept;
  TensorBatch& operator=(TensorBatch&&) noexcept;

  /// Returns when the batch is there, for every stream and thread, what the host makes included.
  /// Behind the first call it returns the same at once.
  /// @return as TensorDecoder::decode_to_device(): busy, device_lost
  [[nodiscard]] Result<void> wait();

  /// As TensorDecoder::image(), of this batch. Errors: also invalid_input before wait().
  [[nodiscard]] const Result<TensorImage>& image(std::size_t index) const;

 private:
  friend class TensorDecoder;
  class FRAMEWIRE_LOCAL Impl;
  explicit TensorBatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Decodes batches of JPEGs into tensors.
///
/// What is decoded, and how: baseline, extended and progressive files, Huffman or arithmetic, of 8
/// bits; gray is repeated to three channels; CMYK and YCCK become RGB as in Pillow; ICC profiles
/// are left alone, since tensors want the file's own numbers. Of damaged files what can be decoded
/// is, with warnings; what is missing is mid-grey.
///
/// Thread safety: one call at a time on one object; several objects overlap. A process forked after
/// the first batch of several images must make an object of its own.
class FRAMEWIRE_API TensorDecoder {
 public:
  /// @return invalid_input for sizes, numbers or combinations that TensorOptions does not allow,
  ///         naming the option; too_large for limits.max_output_side_px and max_output_pixels;
  ///         unsupported for a device that is not there, or where this build has no CUDA; busy
  ///         where memory ran out
  [[nodiscard]] static Result<TensorDecoder> make(const TensorOptions& options);
  ~TensorDecoder();
  TensorDecoder(TensorDecoder&&) noexcept;
  TensorDecoder& operator=(TensorDecoder&&) noexcept;

  /// As given, with the number of threads in place of 0.
  [[nodiscard]] const TensorOptions& options() const noexcept;
  /// What one image takes of a batch: channels × height_px × width_px × bytes of an element.
  [[nodiscard]] std::uint64_t image_bytes() const noexcept;
  /// 1 for gray, otherwise 3.
  [[nodiscard]] int channels() const noexcept;

  /// Decodes a batch, spread over the threads, and returns when it is done. Images that fail become
  /// zeros, and do not concern others: image() tells why.
  /// @param items  any number, also none
  /// @return invalid_input for data that is null or not aligned to its elements; too_large for
  /// fewer
  ///         bytes than N × image_bytes(), saying how many; busy where threads or memory ran out.
  ///         Then nothing was written, and image() knows of no image
  /// @cost per image a copy of the file, entropy decoding down to the crop's last row, and work in
  ///       proportion to the crop; docs/benchmarks/tensors.md
  [[nodiscard]] Result<void> decode(std::span<const TensorItem> items, const HostTensorView& out);

  /// decode() on the decoder's device, into its memory. When this returns the batch is there, for
  /// every stream and thread. Entropy decoding, upsampling, colours and resizing are the GPU's;
  /// damaged files and those that it does not take (arithmetic coding, CMYK of odd sampling,
  /// kernels of more than 256 samples) are made on the host and copied. Samples are
  /// within 3 levels of 255 of the CPU's: the inverse transforms round differently.
  /// @return also invalid_input for a null stream, and for memory that is not the device's;
  ///         device_lost. Then the batch holds anything, and image() knows of no image
  /// @cost device memory that is kept: decoded planes and coefficients of the images under way, up
  ///       to some 0.5 GB for each of up to 16 groups, or as much as one image needs; of up to 24
  ///       where CUDA_DEVICE_MAX_CONNECTIONS is 16 or more, as the first Engine that looks for GPUs
  ///       makes it
  [[nodiscard]] Result<void> decode_to_device(std::span<const TensorItem> items,
                                              const DeviceTensorView& out);

  /// decode_to_device() in two steps: returns when all files have been copied and the device has
  /// all its work, and TensorBatch::wait() when the batch is there. Files of the next batch are
  /// then copied while the device makes this one, so two or three under way keep it at work. Waits
  /// for the oldest groups where as many are under way as may be, and so for what their streams
  /// held. image() knows of none.
  /// @param items  stay until wait() has returned, with their bytes: those of files that the host
  ///               makes are read once more then
  /// @param out    memory that no other batch under way has; stays, `ok` too, until wait() has
  ///               returned or the batch has ended
  /// @return as decode_to_device(). Then nothing is under way, and the batch holds anything
  /// @cost as decode_to_device(), for as many groups as are under way
  [[nodiscard]] Result<TensorBatch> begin_to_device(std::span<const TensorItem> items,
                                                    const DeviceTensorView& out);

  /// What was decoded of an image of the last batch, or why it was not. Valid until the next
  /// decode().
  /// Errors: invalid_input for no JPEG, for a crop that is not inside of the picture, and for an
  /// index beyond the batch; unsupported for 12-bit, lossless and hierarchical files; too_large for
  /// a limit; deadline; busy where memory ran out.
  [[nodiscard]] const Result<TensorImage>& image(std::size_t index) const;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit TensorDecoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire
