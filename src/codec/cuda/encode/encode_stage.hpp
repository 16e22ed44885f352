// The last stage of a batch: planes to finished streams in host memory.
#pragma once

#include <array>
#include <codec/cuda/encode/descriptors.hpp>
#include <codec/cuda/encode/entropy_encode.hpp>
#include <codec/cuda/item.hpp>
#include <codec/cuda/picture/picture_stage.hpp>
#include <codec/cuda/samples.hpp>
#include <codec/cuda/stage_run.hpp>
#include <codec/cuda/staged_bytes.hpp>
#include <codec/cuda/tile_list.hpp>
#include <codec/cuda/tuning.hpp>
#include <cstdint>
#include <gpu/arena.hpp>
#include <gpu/upload_list.hpp>
#include <map>
#include <utility>
#include <vector>

namespace framewire::codec::cuda {

/// A stream as it is planned.
struct StreamPlan {
  EncodeDesc desc;  ///< without addresses
  PictureSamples planes;
  gpu::Slice<std::int16_t> levels;
  gpu::Slice<std::uint64_t> masks;
  gpu::Slice<std::uint32_t> bit_counts, segment_bytes, raw, end_marks;
  gpu::Slice<std::uint8_t> header, stuffed;
  gpu::Slice<const std::uint32_t> standard_codes;
  gpu::Slice<OptimalCodes> optimal;

  [[nodiscard]] EncodeDesc resolve(const gpu::Memory& device) const;
};

/// Mapped host memory to which the device writes streams and their records.
struct StreamOutput {
  OutputRecord* records = nullptr;  ///< [streams]
  std::uint8_t* bytes = nullptr;
  std::uint64_t capacity_bytes = 0;
};

class EncodeStage {
 public:
  explicit EncodeStage(const Tuning& tuning);

  // Planning: clear(), add() for each image that becomes a stream, lay_out(), write().
  void clear(gpu::Arena& arena, StagedBytes& bytes);
  /// @param image   its index
  /// @param planes  one a component of the output
  /// @return the stream's index
  std::uint32_t add(const Item& item, std::uint32_t image, const PictureSamples& planes,
                    gpu::Arena& arena, StagedBytes& bytes);
  void lay_out(gpu::Arena& arena);
  void write(const gpu::Memory& host, const gpu::Memory& device) const;

  /// Bound on the bytes that lay_out() will add to an arena, besides the records of the streams.
  [[nodiscard]] std::uint64_t list_bytes() const;
  [[nodiscard]] std::uint32_t stream_count() const noexcept { return streams_.size(); }
  /// Bound on the bytes of all finished streams, packed.
  [[nodiscard]] std::uint64_t output_bytes() const noexcept { return output_bytes_; }

  void enqueue(const StageRun& run, const StreamOutput& output) const;

 private:
  /// Tiles of some of the streams, for EncodeWork.
  struct Tiles {
    TileList blocks;      ///< of kBlocksPerTile output blocks
    TileList own_blocks;  ///< those whose streams have codes of their own
    TileList tables;      ///< of these streams, part = 0 to 3
  };

  void add_segments(const plan::EncodePlan& encode, EncodeDesc& desc);
  void place_stream(const Item& item, StreamPlan& made, gpu::Arena& arena, StagedBytes& bytes);
  void add_search(const plan::EncodePlan& encode, EncodeDesc& desc, gpu::Arena& arena,
                  StagedBytes& bytes);
  static void add_tiles(Tiles& tiles, std::uint32_t stream, const EncodeDesc& desc);
  std::uint32_t quantiser(int quality, bool chrominance);
  [[nodiscard]] EncodeView view(const StageRun& run, const StreamOutput& output) const;
  [[nodiscard]] EncodeWork work(const StageRun& run, const Tiles& tiles) const;
  void enqueue_searches(const EncodeView& view, const StageRun& run) const;

  /// Calls `call` with every list, so that none is forgotten.
  template <typename Self, typename Call>
  static void for_each_list(Self& self, Call call) {
    const auto each = [&](auto&... list) { (call(list), ...); };
    each(self.streams_, self.reciprocals_, self.searches_, self.searched_);
    for (auto* tiles : {&self.all_, &self.again_}) {
      each(tiles->blocks, tiles->own_blocks, tiles->tables);
    }
  }

  std::uint32_t many_streams_;
  std::vector<std::uint32_t> standard_codes_;  ///< EncodeDesc::codes, made once
  gpu::Slice<const std::uint32_t> codes_;
  gpu::UploadList<StreamPlan> streams_;
  gpu::UploadList<float> reciprocals_;                             ///< EncodeView::reciprocals
  std::map<std::pair<int, bool>, std::uint32_t> quantiser_index_;  ///< by quality and chrominance
  gpu::UploadList<SizeSearch> searches_;
  gpu::UploadList<std::uint32_t> searched_;  ///< [searches] the streams
  gpu::Slice<const float> quality_reciprocals_;
  gpu::Slice<const std::uint8_t> quality_quantisers_;
  Tiles all_;
  Tiles again_;  ///< of streams under a bound on their bytes
  gpu::Slice<OutputRecord> records_;
  std::uint64_t output_bytes_ = 0;
  std::uint32_t max_raw_bytes_ = 0;  ///< of any stream before stuffing
};

}  // namespace framewire::codec::cuda
