// Streams the decoded rows of one JPEG, every component at its own sampling and scale.
#pragma once

#include <codec/codec.hpp>
#include <codec/turbo/attempt.hpp>
#include <codec/turbo/entropy_source.hpp>
#include <codec/turbo/libjpeg.hpp>
#include <codec/turbo/memory_source.hpp>
#include <codec/turbo/scaled_idct.hpp>
#include <limits>
#include <memory>
#include <span>

namespace framewire::codec::turbo {

/// A band of rows of one component, as decoded: valid until the next read.
struct RowBand {
  std::int32_t first_row = 0;
  std::int32_t row_count = 0;
  std::span<std::uint8_t* const> rows;  ///< [row_count] of [plane width + padding] uint8
};

/// Blocks of a component that are transformed: columns and rows of dct_blocks, ends excluded.
struct BlockRegion {
  std::int32_t first_column = 0;
  std::int32_t end_column = std::numeric_limits<std::int32_t>::max();
  std::int32_t first_row = 0;
  std::int32_t end_row = std::numeric_limits<std::int32_t>::max();
};

/// One pass over one JPEG, in bands of one MCU row. Our own entropy decoder, and libjpeg for files
/// with one scan, hold no more than a band in memory. For several scans libjpeg holds all
/// coefficients (two bytes each).
class Decoder final : private BlockSink {
 public:
  /// Reads the headers and prepares every component at its scale.
  /// @param file     must outlive the decoder
  /// @param wanted   components to transform; the others are only entropy-decoded
  /// @param attempt  which entropy decoder reads, and what an earlier attempt has found. Must
  ///                 outlive the decoder: after an error of read() or check_rest(), `damaged` says
  ///                 whether the file must be decoded from its start by libjpeg
  [[nodiscard]] static Result<std::unique_ptr<Decoder>> open(const jpeg::JpegFile& file,
                                                             const plan::Scales& scales,
                                                             std::span<const int> wanted,
                                                             const Context& context,
                                                             Attempt& attempt);
  ~Decoder() override;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Call it before the first read(): samples of blocks outside of the region are not written.
  void restrict_to(int component, const BlockRegion& region);

  /// Decodes the next band of all wanted components.
  /// @return false after the last band
  [[nodiscard]] Result<bool> read();

  /// Call it where no more rows are wanted: looks at the data that libjpeg would have looked at by
  /// now, so that damage below those rows counts, or does not, whichever decoder reads. Where all
  /// rows have been read, that is what follows the last MCU of each scan, too.
  /// @return all warnings; with strict, invalid_input where there is one
  [[nodiscard]] Result<std::vector<Warning>> check_rest();

  /// What the last read() made of one component.
  [[nodiscard]] RowBand band(int component) const;

 private:
  struct ComponentState {
    int scale = 8;
    bool wanted = false;
    std::int32_t width_px = 0;  ///< of the scaled plane
    std::int32_t height_px = 0;
    std::int32_t rows_per_band = 0;
    std::int32_t last_block_column = 0;  ///< index of the block where the component ends, and
    std::int32_t last_block_row = 0;
    int last_block_columns = 8;  ///< how much of it is valid
    int last_block_rows = 8;
    ScaledDequantiser dequantiser;
    bool has_quantiser = false;
    BlockRegion region;
    inverse_DCT_method_ptr full_transform = nullptr;  ///< libjpeg's own, for scale 8
    std::vector<std::uint8_t> storage;
    std::vector<std::uint8_t*> rows;
  };

  Decoder(const jpeg::JpegFile& file, const Context& context, Attempt& attempt);
  [[nodiscard]] bool start(const plan::Scales& scales, std::span<const int> wanted);
  void read_header(std::span<const std::uint8_t> bytes);
  void prepare_component(int index, int scale, bool wanted);
  void install_transforms();
  static void on_block(j_decompress_ptr cinfo, jpeg_component_info* component, JCOEFPTR block,
                       JSAMPARRAY rows, JDIMENSION column);
  static void on_progress(j_common_ptr cinfo);
  void check_deadline();  ///< inside errors_.guarded()
  [[nodiscard]] Result<void> read_own(BlockSink* sink);
  [[nodiscard]] bool reads_all_first() const;
  [[nodiscard]] int count_whole(const ComponentState& c, int row, std::int32_t column,
                                int count) const;
  void blocks(int component, int row, std::int32_t column, const CoefficientBlock* blocks,
              int count) override;

  const jpeg::JpegFile& file_;
  const Context& context_;
  Attempt& attempt_;
  ErrorHandler errors_;
  jpeg_decompress_struct cinfo_{};
  MemorySource source_;
  jpeg_progress_mgr progress_{};
  std::array<ComponentState, jpeg::kMaxComponents> components_;
  std::array<JSAMPARRAY, jpeg::kMaxComponents> row_arrays_{};
  std::unique_ptr<OwnEntropySource> own_;  ///< null: libjpeg decodes
  std::vector<std::uint8_t> header_;       ///< stands in for the file's own, see start()
  std::int32_t band_ = -1;
  std::int32_t band_count_ = 0;
};

}  // namespace framewire::codec::turbo
