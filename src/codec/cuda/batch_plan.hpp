// Turns a batch of parsed and planned images into what the kernels read: every size and offset.
#pragma once

#include <array>
#include <codec/batch_codec.hpp>
#include <codec/coefficients.hpp>
#include <codec/cuda/coefficient_upload.hpp>
#include <codec/cuda/descriptors.hpp>
#include <codec/cuda/encode_lists.hpp>
#include <codec/cuda/entry.hpp>
#include <codec/cuda/filter_pack.hpp>
#include <codec/cuda/finish_plan.hpp>
#include <codec/device_plane.hpp>
#include <framewire/status.hpp>
#include <gpu/layout.hpp>
#include <jpeg/types.hpp>
#include <map>
#include <memory>
#include <plan/plan.hpp>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

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

/// Offsets of the parts of a batch's device memory; the first `upload_bytes` mirror host memory.
struct BatchOffsets {
  std::uint64_t scans, planes, filters, resamples, encodes;
  std::uint64_t entropy_tiles, sync_tiles, write_tiles, plane_tiles, edge_tiles, resample_tiles,
      long_across_tiles, long_down_tiles;
  std::uint64_t canonical, codes, reciprocals, edge_basis;
  std::uint64_t upload_bytes;
  std::uint64_t fetched;
  std::uint64_t status, edges, own_codes, zeroed_bytes;  ///< one range, zeroed for each batch
  std::uint64_t coefficients, row_pairs, dc, dc_sums, heads, links, tile_blocks;
  std::uint64_t scan_end, columns, lengths, entries, exits, blocks, segment_of;
  std::uint64_t segment_start, segment_first, marker_counts, pairs;
  std::uint64_t levels, masks, bit_counts, segment_bytes, records;
  std::uint64_t total_bytes;
};

/// A copy of host bytes into the staging buffer; of pinned ones, straight into device memory.
struct HostCopy {
  std::uint64_t offset;
  std::span<const std::uint8_t> bytes;
};

/// Where the samples of a plane come from.
enum class PlaneOrigin : std::uint8_t {
  kScan,      ///< a scan of the batch
  kUpload,    ///< coefficients from the host
  kExternal,  ///< device memory of somebody else; PlaneDesc::samples is the address
};

/// Packed filters that a plan keeps between batches. A batch of few sizes uses some 100 KB; every
/// crop has filters of its own.
inline constexpr std::uint64_t kMaxFilterBytes = 4u << 20;

/// What an item leaves behind besides its decoded planes.
struct Sink {
  enum class Kind : std::uint8_t { kNone, kEncoded, kKept } kind = Kind::kNone;
  std::uint32_t index = 0;  ///< into BatchPlan::encodes or ::kept
};

/// What suits these items together.
[[nodiscard]] EntropyLayout layout_for(std::span<const Item> items);

class BatchPlan {
 public:
  BatchPlan();
  /// Forgets the batch; keeps capacity, and of packed filters those used last (kMaxFilterBytes).
  void clear(const EntropyLayout& layout = {});
  /// Adds an item that check_item() accepts. @return its index
  std::uint32_t add(const Item& item);
  /// Places everything; add() must not be called again before clear().
  void finish();
  /// Writes the upload part. @param staging  at least offsets().upload_bytes
  /// @param base  device address of the batch's memory; null where no plane is external
  void write(std::uint8_t* staging, const std::uint8_t* base) const;

  [[nodiscard]] const BatchOffsets& offsets() const noexcept { return offsets_; }
  /// Of all packed filters at hand: after clear() at most kMaxFilterBytes.
  [[nodiscard]] std::uint64_t filter_cache_bytes() const noexcept { return filter_cache_bytes_; }
  /// By how much more these items can take in the company of others, which decide how long
  /// subsequences are and how wide some arrays over them.
  /// @param among_few  whether the batch may be one of kLoneImages or fewer
  [[nodiscard]] std::uint64_t shared_growth_bytes(bool among_few) const;
  /// @param base  device address of the batch's memory
  [[nodiscard]] BatchView view(std::uint8_t* base) const;

  std::uint32_t images = 0;
  std::vector<ScanDesc> scans;
  std::vector<HostCopy> fetches;  ///< of pinned files
  std::vector<PlaneDesc> planes;
  std::vector<std::uint32_t> first_plane;  ///< [images + 1] into planes
  std::vector<PlaneOrigin> origins;        ///< [planes]
  std::vector<Sink> sinks;                 ///< [images]
  std::vector<ResampleDesc> resamples;
  std::vector<EncodeDesc> encodes;
  std::vector<EncodeDesc> kept;     ///< of items whose planes are not encoded
  std::vector<Tile> entropy_tiles;  ///< of kSpanThreads subsequences
  std::vector<Tile> sync_tiles;     ///< of sync_share × kSyncThreads subsequences
  std::array<std::vector<Tile>, 2>
      write_tiles;  ///< of scans with full blocks, with reduced corners
  std::array<std::vector<Tile>, 4> plane_tiles;  ///< for corners 1, 2, 4, 8
  std::vector<Tile> edge_tiles;
  std::vector<Tile> resample_tiles;
  std::vector<Tile> long_across_tiles;  ///< of planes that resample_long takes
  std::vector<Tile> long_down_tiles;
  FinishPlan finish_stages;  ///< between resampling and encoding
  EncodeLists encode_lists;
  std::uint32_t most_pairs = 1;
  std::uint32_t most_rows = 1;
  bool any_restarts = false;
  std::uint32_t most_marker_tiles = 0;   ///< of one scan with restart intervals
  std::uint32_t most_dc_tiles = 0;       ///< of one scan, of kImageThreads MCUs
  std::vector<CanonicalCode> canonical;  ///< [pairs × 2]
  std::uint64_t output_bytes = 0;        ///< bound on all packed output streams
  std::uint32_t most_raw_bytes = 0;      ///< of any stream before stuffing

 private:
  using RowKey = std::array<std::int32_t, 4>;  ///< of a RowPart
  using FilterKey = std::tuple<bool, Kernel, std::int32_t, std::int32_t, double, double, RowKey>;
  struct PackedFilter {
    AcrossFilter across;
    DownFilter down;
    FilterDesc desc;
    std::uint64_t bytes = 0;
    std::uint32_t index = 0;
    std::uint32_t batch = 0;  ///< the last batch that used it
  };

  void add_scan(const Item& item, const jpeg::Scan& scan, std::array<PlaneDesc, 4>& planes_of);
  void add_edges(const Item& item, const jpeg::Scan& scan, ScanDesc& desc);
  void add_entropy_tiles(ScanDesc& desc);
  void add_marker_tiles(ScanDesc& desc);
  std::uint32_t table_pair(const jpeg::JpegFile& file, const jpeg::Scan& scan, int position);
  void add_upload(const Item& item, std::size_t component, PlaneDesc& plane);
  void add_external_planes(const Item& item);
  void add_planes(const Item& item, const std::array<PlaneDesc, 4>& planes_of);
  void keep_planes(EncodeDesc& desc);
  void add_own_codes(const plan::EncodePlan& encode, EncodeDesc& desc);
  void add_search(const plan::EncodePlan& encode, EncodeDesc& desc);
  void relocate_streams(std::uint64_t data, std::uint64_t raw, std::uint64_t stuffed);
  void add_output(const Item& item);
  SampleView new_plane(std::uint32_t width_px, std::uint32_t height_px);
  void make_picture(const Item& item, EncodeDesc& desc);
  SampleView add_resample(const Item& item, std::uint32_t index);
  void add_resample_tiles(ResampleDesc& desc, const DownFilter& down);
  void add_convert(const Item& item, std::array<SampleView, 4>& planes_now);
  void add_sharpen(const plan::Plan& plan, SampleView& luma);
  SampleView add_place(const plan::Plan& plan, std::size_t component, const SampleView& source,
                       const EncodePlane& target);
  PackedFilter& filter(bool across, Kernel kernel, const plan::AxisMap& axis,
                       const RowPart& part = {});
  void trim_filters();
  std::uint32_t quantiser(int quality, bool chrominance);
  std::uint64_t stage(std::span<const std::uint8_t> bytes, std::uint64_t guard_bytes);
  std::uint64_t stage_once(std::span<const std::uint8_t> bytes);
  std::uint64_t fetch(std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::uint64_t head_bytes() const noexcept;
  [[nodiscard]] static std::uint32_t reserved_subsequences(const ScanDesc& scan,
                                                           std::uint32_t size);
  void place_upload(gpu::Layout& layout);
  void place_scratch(gpu::Layout& layout);

  BatchOffsets offsets_{};
  EntropyLayout layout_;
  std::vector<FilterDesc> filters_;
  std::vector<const PackedFilter*> packed_;  ///< those of this batch
  std::map<FilterKey, std::unique_ptr<PackedFilter>> filter_cache_;
  std::uint64_t filter_cache_bytes_ = 0;
  std::uint32_t batch_ = 0;
  std::unordered_map<std::string, std::uint32_t> pair_index_;
  std::vector<float> reciprocals_;
  std::map<std::pair<int, bool>, std::uint32_t> quantiser_index_;
  std::array<std::uint32_t, 1024> codes_{};
  std::vector<HostCopy> copies_;              ///< offsets within the data part until finish()
  std::vector<bool> fetched_;                 ///< [scans] whether the data is fetched
  const std::uint8_t* fetched_to_ = nullptr;  ///< where the last scan ends that is
  std::vector<CoefficientUpload> uploads_;
  std::vector<bool> external_;  ///< [resamples] whether the source lies outside the batch's memory
  std::map<const std::uint8_t*, std::uint64_t> staged_;  ///< by stage_once()
  std::map<double, std::vector<float>> gaussians_;       ///< by sigma
  std::uint64_t data_bytes_ = 0;
  std::uint64_t fetched_bytes_ = 0;
  std::uint64_t coefficient_bytes_ = 0;
  std::uint64_t row_pair_bytes_ = 0;
  std::uint64_t edge_bytes_ = 0;
  std::vector<float> edge_basis_;  ///< BatchView::edge_basis, made once
  std::uint64_t sample_bytes_ = 0;
  std::uint64_t own_code_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t stuffed_bytes_ = 0;
  std::uint32_t subsequences_ = 0;
  std::uint32_t dc_blocks_ = 0;
  std::uint32_t dc_tiles_ = 0;
  std::uint32_t marker_tiles_ = 0;
  std::uint32_t segments_ = 0;
  std::uint32_t output_blocks_ = 0;
  std::uint32_t output_segments_ = 0;
};

}  // namespace framewire::codec::cuda
