#include <codec/cuda/tuning.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/decode/candidate_states.hpp>
#include <codec/cuda/decode/coefficients.hpp>
#include <codec/cuda/decode/dc_sums.hpp>
#include <codec/cuda/decode/decode_stage.hpp>
#include <codec/cuda/decode/inverse_dct.hpp>
#include <codec/cuda/decode/progressive_script.hpp>
#include <codec/cuda/decode/synchronise.hpp>
#include <codec/cuda/decode/unstuff.hpp>
#include <transform/dct.hpp>

namespace framewire::codec::cuda {
namespace {

using gpu::Part;

/// Bytes that a subsequence may find of a block that it did not begin: the largest corner that is
/// kept.
constexpr std::uint64_t kReducedHeadBytes = 32;
constexpr std::uint64_t kFullHeadBytes = 128;
static_assert(kFullHeadBytes >= sizeof(Candidates));
/// Bytes of `lengths`, `entries`, `exits`, `blocks` and `segment_of` for one subsequence.
constexpr std::uint64_t kStateBytes = 5 * sizeof(std::uint32_t);

template <int N>
void append_basis(std::vector<float>& out) {
  for (int valid = 1; valid <= 8; ++valid) {
    const transform::DctBasis<N> basis = transform::make_corner_basis<N>(valid);
    for (std::uint32_t x = 0; x < kEdgeSamples; ++x) {
      for (int u = 0; u < 8; ++u) {
        out.push_back(x < N ? static_cast<float>(basis.at[x % N][u]) : 0.f);
      }
    }
  }
}

}  // namespace

PlaneDesc DecodedPlane::resolve(const gpu::Memory& device) const {
  PlaneDesc plane = desc;
  plane.coefficients = device.at(coefficients);
  plane.block_words = device.at_or_null(block_words);
  plane.dc = device.at_or_null(dc);
  plane.edges = device.at(edges);
  plane.samples = external != nullptr ? external : device.at(samples);
  return plane;
}

DecodeStage::DecodeStage(const Tuning& tuning) : tuning_(tuning), progressive_(tuning) {
  append_basis<1>(edge_bases_);
  append_basis<2>(edge_bases_);
  append_basis<4>(edge_bases_);
  append_basis<5>(edge_bases_);
  append_basis<6>(edge_bases_);
}

void DecodeStage::clear(const EntropyLayout& layout, gpu::Arena& arena, StagedBytes& bytes) {
  layout_ = layout;
  for_each_list(*this, [](auto& list) { list.clear(); });
  progressive_.clear();
  uploads_.clear();
  fetches_.clear();
  fetched_to_ = nullptr;
  tables_.clear();
  subsequences_ = max_marker_tiles_ = max_dc_tiles_ = 0;
  max_pairs_ = 1;
  any_restarts_ = false;
  edge_basis_ = bytes.add_array<float>(arena, edge_bases_);
}

std::uint32_t DecodeStage::add(const Item& item, std::uint32_t image, gpu::Arena& arena,
                               StagedBytes& bytes) {
  const std::uint32_t first = planes_.size();
  std::array<DecodedPlane, 4> planes_of{};
  for (DecodedPlane& plane : planes_of) plane.desc.image = image;
  for (std::size_t c = 0; c < static_cast<std::size_t>(item.file->frame.component_count); ++c) {
    planes_of[c].needed = needed_blocks(item, c);
  }
  if (item.coefficients == nullptr) add_scans(item, arena, bytes, planes_of);
  const int count =
      item.plan != nullptr ? item.plan->plane_count : item.file->frame.component_count;
  for (int i = 0; i < count; ++i) {
    const auto component = static_cast<std::size_t>(
        item.plan != nullptr ? item.plan->planes[static_cast<std::size_t>(i)].component : i);
    add_plane(item, component, arena, planes_of[component]);
  }
  return first;
}

void DecodeStage::add_scans(const Item& item, gpu::Arena& arena, StagedBytes& bytes,
                            std::array<DecodedPlane, 4>& planes_of) {
  if (item.file->frame.process != jpeg::Process::kProgressive) {
    for (const jpeg::Scan& scan : item.file->scans) add_scan(item, scan, arena, bytes, planes_of);
    return;
  }
  scan_data_.clear();
  for (const jpeg::Scan& scan : item.file->scans) {
    if (is_first_dc(scan)) {
      add_scan(item, scan, arena, bytes, planes_of);
      scan_data_.emplace_back();
      for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
        first_low_bits_[scan.component[i]] = scan.approx_low;
      }
    } else {
      scan_data_.push_back(add_data(item, scan, arena, bytes));
    }
  }
  add_progressive(item, arena, planes_of);
}

void DecodeStage::add_plane(const Item& item, std::size_t component, gpu::Arena& arena,
                            DecodedPlane plane) {
  const jpeg::JpegFile& file = *item.file;
  const jpeg::Component& geometry = file.frame.components[component];
  PlaneDesc& desc = plane.desc;
  desc.width_blocks = static_cast<std::uint32_t>(geometry.width_blocks);
  desc.height_blocks = static_cast<std::uint32_t>(geometry.height_blocks);
  if (item.coefficients != nullptr) add_upload(item, component, arena, plane);
  const auto scaled = [&](std::int32_t size) {
    return base::ceil_div(static_cast<std::uint32_t>(size) * desc.corner, 8u);
  };
  desc.width_px = scaled(geometry.width_px);
  desc.height_px = scaled(geometry.height_px);
  if (component < item.targets.size() && item.targets[component].samples != nullptr) {
    plane.external = item.targets[component].samples;
    desc.pitch_bytes = item.targets[component].pitch_bytes;
  } else {
    const Samples samples =
        make_plane(arena, desc.width_blocks * desc.corner, desc.height_blocks * desc.corner);
    plane.samples = samples.slice;
    desc.pitch_bytes = samples.pitch_bytes;
  }
  // A component without a table had no scan either, and all its coefficients are zero.
  const int quant = file.component_quant[component];
  if (quant >= 0) {
    std::copy_n(file.quant_tables[static_cast<std::size_t>(quant)].values.begin(), 64,
                desc.quantiser);
  }
  desc.first_column = plane.needed.first_column;
  desc.first_row = plane.needed.first_row;
  desc.columns = plane.needed.columns();
  desc.rows = plane.needed.rows();
  const std::uint32_t blocks = desc.columns * desc.rows;
  plane_tiles_[corner_index(desc.corner)].add_parts(
      planes_.size(), base::ceil_div(blocks, std::uint32_t{kBlocksPerTile}));
  desc.valid_x = static_cast<std::uint32_t>((geometry.width_px - 1) % 8 + 1);
  desc.valid_y = static_cast<std::uint32_t>((geometry.height_px - 1) % 8 + 1);
  const std::uint32_t edges =
      (desc.valid_x != 8 ? desc.height_blocks : 0) + (desc.valid_y != 8 ? desc.width_blocks : 0);
  if (desc.corner != 8) {
    const bool wide = desc.corner > 4;
    const std::uint32_t most = wide ? kEdgesPerTile<kEdgeSamples> : kEdgesPerTile<4>;
    edge_tiles_[wide ? 1 : 0].add_parts(planes_.size(), base::ceil_div(edges, most));
  }
  planes_.add(plane);
}

void DecodeStage::add_upload(const Item& item, std::size_t component, gpu::Arena& arena,
                             DecodedPlane& plane) {
  const jpeg::Component& geometry = item.file->frame.components[component];
  const plan::Scales& scales = item.plan != nullptr ? item.plan->scales : item.scales;
  CoefficientUpload upload;
  upload.plane = &item.coefficients->components[component];
  const auto corner = static_cast<std::uint32_t>(scales[component]);
  upload.corner = stored_side(corner);
  upload.right_edge = upload.corner != 8 && geometry.width_px % 8 != 0;
  upload.bottom_edge = upload.corner != 8 && geometry.height_px % 8 != 0;
  place_upload(arena, upload);
  // Uploaded coefficients lie like a scan of this component alone.
  PlaneDesc& desc = plane.desc;
  desc.corner = corner;
  desc.stored_corner = upload.corner;
  desc.mcu_bytes = corner_bytes(upload.corner);
  desc.mcu_columns = desc.width_blocks;
  desc.mcu_rows = desc.height_blocks;
  desc.right_edge = upload.right_edge ? 1 : 0;
  desc.bottom_edge = upload.bottom_edge ? 1 : 0;
  plane.coefficients = upload.corners;
  plane.dc = upload.dc;
  plane.edges = upload.edges;
  uploads_.push_back(upload);
}

Samples DecodeStage::samples(std::size_t index) const {
  const DecodedPlane& plane = planes_[index];
  return {plane.samples, plane.external, plane.desc.width_px, plane.desc.height_px,
          plane.desc.pitch_bytes};
}

std::uint64_t DecodeStage::head_bytes() const noexcept {
  const std::uint64_t heads = write_tiles_[0].empty() ? kReducedHeadBytes : kFullHeadBytes;
  // Candidates use the memory of heads, which are written later.
  return layout_.enumerates != 0 ? std::max<std::uint64_t>(heads, sizeof(Candidates)) : heads;
}

std::uint64_t DecodeStage::shared_growth_bytes(bool among_few) const {
  std::uint64_t growth = 0;
  const std::uint64_t own = column_words(layout_.subsequence_bytes) * 4 + kStateBytes +
                            head_bytes() - (any_restarts_ ? 0 : sizeof(std::uint32_t));
  for (const ScanPlan& scan : scans_.entries()) {
    std::uint64_t most = 0;
    bool lone = true;  // subsequence_sizes() begins with the size for lone images
    for (const auto [size, below_bytes] : subsequence_sizes(tuning_)) {
      const bool possible = scan.desc.data_bytes < below_bytes && (!lone || among_few);
      lone = false;
      if (!possible) continue;
      most = std::max(most, reserved_subsequences(scan.desc, size) *
                                (column_words(size) * 4 + kStateBytes + kFullHeadBytes));
    }
    growth += most - own * reserved_subsequences(scan.desc, layout_.subsequence_bytes);
  }
  return growth;
}

std::uint64_t DecodeStage::list_bytes() const {
  std::uint64_t bytes = 0;
  for_each_list(*this, [&](const auto& list) { bytes += list.bytes(); });
  return bytes + progressive_.list_bytes();
}

std::uint64_t DecodeStage::array_bytes() const {
  constexpr std::uint64_t kArrays = 12;  // at least as many as lay_out() aligns
  const std::uint64_t each =
      head_bytes() + column_words(layout_.subsequence_bytes) * 4 + kStateBytes;
  const std::uint64_t candidate_tiles = layout_.enumerates != 0 ? subsequences_ / kSpanThreads : 0;
  return kArrays * gpu::kAlignment + subsequences_ * each + scans_.size() * sizeof(std::uint32_t) +
         candidate_tiles * (sizeof(CandidateMap) + sizeof(SegmentSum)) +
         canonical_.size() / 2 * sizeof(TablePair);
}

void DecodeStage::lay_out(gpu::Arena& arena) {
  for_each_list(*this, [&](auto& list) { list.lay_out(arena); });
  progressive_.lay_out(arena);
  const auto words = [&](std::uint64_t count) {
    return arena.add<std::uint32_t>(Part::kEarly, count);
  };
  heads_ = arena.add<std::uint8_t>(Part::kEarly, subsequences_ * head_bytes());
  columns_ = words(std::uint64_t{subsequences_} * column_words(layout_.subsequence_bytes));
  lengths_ = words(subsequences_);
  entries_ = words(subsequences_);
  exits_ = words(subsequences_);
  blocks_ = words(subsequences_);
  segment_of_ = words(any_restarts_ ? subsequences_ : 0);
  scan_end_ = words(scans_.size());
  const std::uint64_t candidate_tiles = layout_.enumerates != 0 ? subsequences_ / kSpanThreads : 0;
  candidate_maps_ = arena.add<CandidateMap>(Part::kEarly, candidate_tiles);
  tile_blocks_ = arena.add<SegmentSum>(Part::kEarly, candidate_tiles);
  pairs_ = arena.add<TablePair>(Part::kEarly, canonical_.size() / 2);
}

void DecodeStage::write(const gpu::Memory& host, const gpu::Memory& device) const {
  for_each_list(*this, [&](const auto& list) { list.write(host, device); });
  progressive_.write(host, device);
  for (const CoefficientUpload& upload : uploads_) write_upload(upload, host);
}

DecodeView DecodeStage::view(const StageRun& run) const {
  const gpu::Memory& memory = run.memory;
  DecodeView v;
  v.scans = scans_.at(memory);
  v.planes = planes_.at(memory);
  v.scan_count = scans_.size();
  v.layout = layout_;
  v.status = run.status;
  v.scan_end = memory.at(scan_end_);
  v.columns = memory.at(gpu::cast<uint2>(columns_));
  v.lengths = memory.at(lengths_);
  v.entries = memory.at(entries_);
  v.exits = memory.at(exits_);
  v.blocks = memory.at(blocks_);
  v.candidates = memory.at(gpu::cast<Candidates>(heads_));
  v.candidate_maps = memory.at(candidate_maps_);
  v.tile_blocks = memory.at(tile_blocks_);
  v.segment_of = memory.at(segment_of_);
  v.heads = memory.at(gpu::cast<uint4>(heads_));
  v.edge_basis = memory.at(edge_basis_);
  return v;
}

gpu::CopyList& DecodeStage::copies(const gpu::Memory& memory) {
  copies_.clear();
  for (const Fetch& fetch : fetches_) {
    copies_.add(memory.at(fetch.to), fetch.from, fetch.to.bytes());
  }
  return copies_;
}

void DecodeStage::begin(const StageRun& run) const {
  (void)cudaMemsetAsync(run.memory.at(scan_end_), 0xFF, scan_end_.bytes(), run.stream.get());
}

void DecodeStage::enqueue(const StageRun& run, unsigned part) const {
  const DecodeView batch = view(run);
  if (part == 0 && !scans_.empty()) enqueue_entropy(batch, run);
  if (!progressive_.empty()) progressive_.enqueue(run, part);
  if (part + 1 == parts()) enqueue_inverse(batch, run);
}

void DecodeStage::enqueue_entropy(const DecodeView& view, const StageRun& run) const {
  const gpu::Memory& memory = run.memory;
  const cudaStream_t stream = run.stream.get();
  const Tile* spans = span_tiles_.at(memory);
  TablePair* pairs = memory.at(pairs_);
  if (any_restarts_) launch_find_markers(view, max_marker_tiles_, stream);
  launch_unstuff(view, spans, span_tiles_.size(), stream);
  run.timeline.end(Stage::kUnstuff, run.stream);
  launch_build_tables(canonical_.at(memory), pairs, canonical_.size() / 2, stream);
  if (layout_.enumerates != 0) {
    launch_candidate_states(view, spans, span_tiles_.size(), pairs, max_pairs_, stream);
  }
  launch_synchronise(view, sync_tiles_.at(memory), sync_tiles_.size(), pairs, max_pairs_, stream);
  launch_repair_chains(view, pairs, max_pairs_, stream);
  run.timeline.end(Stage::kSynchronise, run.stream);
  launch_offsets(view, spans, span_tiles_.size(), stream);
  run.timeline.end(Stage::kOffsets, run.stream);
  for (const bool reduced : {false, true}) {
    const TileList& tiles = write_tiles_[reduced ? 1 : 0];
    launch_write_coefficients(view, tiles.at(memory), tiles.size(), reduced, pairs, max_pairs_,
                              stream);
  }
  run.timeline.end(Stage::kWrite, run.stream);
  launch_sum_dc(view, max_dc_tiles_, stream);
  run.timeline.end(Stage::kDc, run.stream);
}

void DecodeStage::enqueue_inverse(const DecodeView& view, const StageRun& run) const {
  for (const std::uint32_t corner : {1u, 2u, 4u, 5u, 6u, 8u}) {
    const TileList& tiles = plane_tiles_[corner_index(corner)];
    if (tiles.empty()) continue;
    launch_inverse_dct(view, tiles.at(run.memory), tiles.size(), corner, run.stream.get());
  }
  for (const bool wide : {false, true}) {
    const TileList& tiles = edge_tiles_[wide ? 1 : 0];
    launch_inverse_edges(view, tiles.at(run.memory), tiles.size(), wide, run.stream.get());
  }
  run.timeline.end(Stage::kInverse, run.stream);
}

}  // namespace framewire::codec::cuda
