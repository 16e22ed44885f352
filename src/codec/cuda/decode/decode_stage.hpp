// The first stage of a batch: files, or the host's coefficients, to planes of samples.
#pragma once

#include <array>
#include <codec/cuda/decode/choose_layout.hpp>
#include <codec/cuda/decode/coefficient_upload.hpp>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>
#include <codec/cuda/decode/needed_blocks.hpp>
#include <codec/cuda/decode/progressive_plan.hpp>
#include <codec/cuda/decode/table_pairs.hpp>
#include <codec/cuda/item.hpp>
#include <codec/cuda/samples.hpp>
#include <codec/cuda/stage_run.hpp>
#include <codec/cuda/staged_bytes.hpp>
#include <codec/cuda/tile_list.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/copy_list.hpp>
#include <gpu/upload_list.hpp>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// Entropy bytes of all scans that the device will decode.
[[nodiscard]] std::uint64_t entropy_bytes(std::span<const Item> items);

/// A copy of pinned bytes straight into device memory.
struct Fetch {
  gpu::Slice<std::uint8_t> to;
  const std::uint8_t* from = nullptr;
};

/// A scan as it is planned: its descriptor, and slices for what the descriptor will point to.
struct ScanPlan {
  ScanDesc desc;  ///< without addresses
  gpu::Slice<std::uint8_t> data;
  gpu::Slice<std::int16_t> coefficients, edges;
  gpu::Slice<std::uint32_t> block_words;
  gpu::Slice<DcSum> dc_sums;
  gpu::Slice<std::uint32_t> segment_start, segment_first, marker_counts;

  [[nodiscard]] ScanDesc resolve(const gpu::Memory& device) const;
};

/// Number of subsequences of `size` bytes that are reserved for a scan.
[[nodiscard]] std::uint32_t reserved_subsequences(const ScanDesc& scan, std::uint32_t size);

/// A decoded plane as it is planned.
struct DecodedPlane {
  PlaneDesc desc;  ///< without addresses
  BlockRect needed;
  gpu::Slice<std::uint8_t> samples;
  std::uint8_t* external = nullptr;  ///< Item::targets; not null: instead of `samples`
  gpu::Slice<std::int16_t> coefficients, dc, edges;
  gpu::Slice<std::uint32_t> block_words;

  [[nodiscard]] PlaneDesc resolve(const gpu::Memory& device) const;
};

class DecodeStage {
 public:
  explicit DecodeStage(const Tuning& tuning);

  // Planning: clear(), add() for each image, lay_out(), write().
  void clear(const EntropyLayout& layout, gpu::Arena& arena, StagedBytes& bytes);
  /// @param item   with a file, and without planes of its own
  /// @param image  its index
  /// @return index of the first of its planes. They follow the plan's order; without a plan, the
  ///         frame's
  std::uint32_t add(const Item& item, std::uint32_t image, gpu::Arena& arena, StagedBytes& bytes);
  void lay_out(gpu::Arena& arena);
  void write(const gpu::Memory& host, const gpu::Memory& device) const;

  /// Bounds on the bytes that lay_out() will add to an arena: to Part::kUploaded, to Part::kEarly.
  [[nodiscard]] std::uint64_t list_bytes() const;
  [[nodiscard]] std::uint64_t array_bytes() const;
  /// How many more bytes these items can take in a batch with other items, since those decide how
  /// long subsequences are, and how wide some arrays over subsequences.
  /// @param among_few  whether the batch may be one of Tuning::lone_images or fewer
  [[nodiscard]] std::uint64_t shared_growth_bytes(bool among_few) const;
  [[nodiscard]] const DecodedPlane& plane(std::size_t index) const { return planes_[index]; }
  [[nodiscard]] std::size_t plane_count() const { return planes_.size(); }
  [[nodiscard]] Samples samples(std::size_t index) const;
  [[nodiscard]] const std::vector<Fetch>& fetches() const { return fetches_; }
  [[nodiscard]] bool is_small() const { return layout_.enumerates != 0; }

  // Enqueueing.
  /// The copies of inputs that lie in pinned memory, to be enqueued by the caller.
  [[nodiscard]] gpu::CopyList& copies(const gpu::Memory& memory);
  /// Enqueues what can run while the host still writes the uploaded part.
  void begin(const StageRun& run) const;
  /// How many parts enqueue() has: one, or with progressive files those of ProgressivePlan.
  [[nodiscard]] unsigned parts() const {
    return progressive_.empty() ? 1 : ProgressivePlan::kParts;
  }
  void enqueue(const StageRun& run, unsigned part) const;

 private:
  void add_scan(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena, StagedBytes& bytes,
                std::array<DecodedPlane, 4>& planes_of);
  static void choose_part(const Item& item, const jpeg::Scan& scan,
                          const std::array<DecodedPlane, 4>& planes_of, ScanDesc& desc);
  void place_scan(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena, StagedBytes& bytes,
                  ScanPlan& made);
  [[nodiscard]] gpu::Slice<std::uint8_t> add_data(const Item& item, const jpeg::Scan& scan,
                                                  gpu::Arena& arena, StagedBytes& bytes);
  void add_scans(const Item& item, gpu::Arena& arena, StagedBytes& bytes,
                 std::array<DecodedPlane, 4>& planes_of);
  void add_progressive(const Item& item, gpu::Arena& arena, std::array<DecodedPlane, 4>& planes_of);
  void add_edges(const Item& item, const jpeg::Scan& scan, gpu::Arena& arena, ScanPlan& made);
  void add_subsequences(ScanPlan& made);
  std::uint32_t table_pair(const jpeg::JpegFile& file, const jpeg::Scan& scan, int position);
  void add_upload(const Item& item, std::size_t component, gpu::Arena& arena, DecodedPlane& plane);
  void add_plane(const Item& item, std::size_t component, gpu::Arena& arena, DecodedPlane plane);
  gpu::Slice<std::uint8_t> fetch(gpu::Arena& arena, std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::uint64_t head_bytes() const noexcept;
  [[nodiscard]] DecodeView view(const StageRun& run) const;
  void enqueue_entropy(const DecodeView& view, const StageRun& run) const;
  void enqueue_inverse(const DecodeView& view, const StageRun& run) const;

  /// Calls `call` with every list, so that none is forgotten.
  template <typename Self, typename Call>
  static void for_each_list(Self& self, Call call) {
    const auto each = [&](auto&... list) { (call(list), ...); };
    each(self.scans_, self.planes_, self.canonical_, self.span_tiles_, self.sync_tiles_);
    for (auto& list : self.write_tiles_) call(list);
    for (auto& list : self.plane_tiles_) call(list);
    for (auto& list : self.edge_tiles_) call(list);
  }

  Tuning tuning_;
  EntropyLayout layout_;
  gpu::UploadList<ScanPlan> scans_;
  gpu::UploadList<DecodedPlane> planes_;
  gpu::UploadList<CanonicalCode> canonical_;  ///< [pairs × 2]
  TileList span_tiles_;                       ///< of kSpanThreads subsequences
  TileList sync_tiles_;                       ///< of sync_share × kSyncThreads subsequences
  std::array<TileList, 2> write_tiles_;       ///< of scans with full blocks, with reduced corners
  std::array<TileList, kCornerCount> plane_tiles_;  ///< by corner_index()
  std::array<TileList, 2> edge_tiles_;              ///< of corners up to 4, of 5 and 6
  ProgressivePlan progressive_;
  // What add() knows of the progressive file that it is at.
  std::vector<gpu::Slice<std::uint8_t>> scan_data_;  ///< [scans], of all but the first DC scans
  std::array<std::uint32_t, 4> first_low_bits_{};    ///< Al of each component's first DC scan
  std::vector<CoefficientUpload> uploads_;
  std::vector<Fetch> fetches_;
  const std::uint8_t* fetched_to_ = nullptr;  ///< where the last file ends that is fetched
  gpu::CopyList copies_;
  TablePairs tables_;
  std::vector<float> edge_bases_;  ///< made once: DecodeView::edge_basis
  gpu::Slice<const float> edge_basis_;

  std::uint32_t subsequences_ = 0;
  std::uint32_t max_pairs_ = 1;
  std::uint32_t max_marker_tiles_ = 0;  ///< of one scan with restart markers
  std::uint32_t max_dc_tiles_ = 0;      ///< of one scan
  bool any_restarts_ = false;

  // Arrays over all subsequences, and over all scans.
  gpu::Slice<std::uint8_t> heads_;
  gpu::Slice<std::uint32_t> columns_, lengths_, entries_, exits_, blocks_, segment_of_, scan_end_;
  gpu::Slice<CandidateMap> candidate_maps_;
  gpu::Slice<SegmentSum> tile_blocks_;
  gpu::Slice<TablePair> pairs_;
};

}  // namespace framewire::codec::cuda
