#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/encode/encode_stage.hpp>
#include <codec/cuda/encode/finish_streams.hpp>
#include <codec/cuda/encode/forward_dct.hpp>
#include <codec/cuda/encode/optimal_codes.hpp>
#include <codec/cuda/encode/output_header.hpp>
#include <codec/cuda/encode/quality_tables.hpp>
#include <codec/cuda/encode/size_search.hpp>
#include <cstddef>
#include <jpeg/huffman.hpp>
#include <jpeg/writer.hpp>

namespace framewire::codec::cuda {
namespace {

using gpu::Part;

std::uint64_t align(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Bytes of DRI and SOS, with which append_output_header() ends; tables must come before them.
std::uint32_t bytes_behind_tables(const plan::EncodePlan& encode) {
  return static_cast<std::uint32_t>(8 + 2 * encode.component_count +
                                    (encode.restart_interval_mcus > 0 ? 6 : 0));
}

}  // namespace

EncodeDesc StreamPlan::resolve(const gpu::Memory& device) const {
  EncodeDesc stream = desc;
  for (std::size_t c = 0; c < planes.size(); ++c) {
    stream.planes[c].samples = planes[c].resolve(device).samples;
  }
  stream.levels = device.at(levels);
  stream.masks = device.at(masks);
  stream.bit_counts = device.at(bit_counts);
  stream.segment_bytes = device.at(segment_bytes);
  stream.raw = device.at(raw);
  stream.end_marks = device.at(end_marks);
  stream.header = device.at(header);
  stream.stuffed = device.at(stuffed);
  stream.optimal = device.at_or_null(optimal);
  // `optimal` points into device memory: the address is computed here, not read.
  stream.codes = stream.optimal != nullptr ? stream.optimal->codes[0] : device.at(standard_codes);
  return stream;
}

EncodeStage::EncodeStage(const Tuning& tuning) : many_streams_(tuning.many_scans) {
  for (int slot = 0; slot < 2; ++slot) {
    for (const jpeg::TableClass table_class : {jpeg::TableClass::kDc, jpeg::TableClass::kAc}) {
      const jpeg::HuffmanEncodeTable table =
          jpeg::make_encode_table(jpeg::standard_huffman_table(table_class, slot));
      for (std::size_t i = 0; i < 256; ++i) {
        standard_codes_.push_back(static_cast<std::uint32_t>(table.length[i]) << 16 |
                                  table.code[i]);
      }
    }
  }
}

void EncodeStage::clear(gpu::Arena& arena, StagedBytes& bytes) {
  for_each_list(*this, [](auto& list) { list.clear(); });
  quantiser_index_.clear();
  output_bytes_ = 0;
  max_raw_bytes_ = 0;
  codes_ = bytes.add_array<std::uint32_t>(arena, standard_codes_);
}

std::uint32_t EncodeStage::add(const Item& item, std::uint32_t image, const PictureSamples& planes,
                               gpu::Arena& arena, StagedBytes& bytes) {
  const plan::EncodePlan& encode = item.plan->encode;
  StreamPlan made;
  made.planes = planes;
  EncodeDesc& desc = made.desc;
  desc.image = image;
  desc.plane_count = static_cast<std::uint32_t>(encode.component_count);
  const bool alone = desc.plane_count == 1;
  std::uint32_t phase = 0;
  for (std::uint32_t i = 0; i < desc.plane_count; ++i) {
    EncodePlane& plane = desc.planes[i];
    plane.h = alone ? 1 : encode.h[i];
    plane.v = alone ? 1 : encode.v[i];
    plane.phase = phase;
    plane.width_px = planes[i].width_px;
    plane.height_px = planes[i].height_px;
    plane.pitch_bytes = planes[i].pitch_bytes;
    const bool chroma = encode.model == plan::OutputModel::kYcbcr && i != 0;
    plane.code = chroma ? 1 : 0;
    plane.quantiser = quantiser(encode.quality, chroma);
    for (std::uint32_t k = 0; k < plane.h * plane.v; ++k, ++phase) {
      desc.phase_planes |= i << (2 * phase);
    }
  }
  desc.blocks_per_mcu = phase;
  add_segments(encode, desc);
  place_stream(item, made, arena, bytes);
  const std::uint32_t index = streams_.size();
  add_search(encode, desc, arena, bytes);
  add_tiles(all_, index, desc);
  if (desc.search != 0) add_tiles(again_, index, desc);
  streams_.add(made);
  return index;
}

void EncodeStage::add_segments(const plan::EncodePlan& encode, EncodeDesc& desc) {
  const bool alone = desc.plane_count == 1;
  const std::uint32_t h_max = alone ? 1 : *std::max_element(encode.h.begin(), encode.h.end());
  const std::uint32_t v_max = alone ? 1 : *std::max_element(encode.v.begin(), encode.v.end());
  desc.mcu_columns = base::ceil_div(static_cast<std::uint32_t>(encode.width_px), 8 * h_max);
  const std::uint32_t mcus =
      desc.mcu_columns * base::ceil_div(static_cast<std::uint32_t>(encode.height_px), 8 * v_max);
  desc.total_blocks = mcus * desc.blocks_per_mcu;
  const auto interval = static_cast<std::uint32_t>(encode.restart_interval_mcus);
  desc.segment_blocks =
      interval != 0 && interval < mcus ? interval * desc.blocks_per_mcu : desc.total_blocks;
  desc.segment_count = base::ceil_div(desc.total_blocks, desc.segment_blocks);
}

/// Plans a stream's header and the memory that it is encoded in.
void EncodeStage::place_stream(const Item& item, StreamPlan& made, gpu::Arena& arena,
                               StagedBytes& bytes) {
  EncodeDesc& desc = made.desc;
  const std::uint32_t blocks = desc.total_blocks;
  made.levels = arena.add<std::int16_t>(Part::kLate, std::uint64_t{blocks} * 64);
  made.masks = arena.add<std::uint64_t>(Part::kLate, blocks, gpu::kVectorAlignment);
  made.bit_counts =
      arena.add<std::uint32_t>(Part::kLate, std::uint64_t{blocks} + 1, gpu::kVectorAlignment);
  made.segment_bytes =
      arena.add<std::uint32_t>(Part::kLate, desc.segment_count + 1, gpu::kVectorAlignment);
  desc.raw_capacity_bytes = static_cast<std::uint32_t>(
      align(std::uint64_t{blocks} * kRawBytesPerBlock + desc.segment_count + 1024));
  max_raw_bytes_ = std::max(max_raw_bytes_, desc.raw_capacity_bytes);
  made.raw = arena.add<std::uint32_t>(Part::kLate, desc.raw_capacity_bytes / 4);
  made.end_marks = arena.add<std::uint32_t>(Part::kLate, desc.raw_capacity_bytes / 32 + 16);
  desc.header_bytes = static_cast<std::uint32_t>(item.header.size());
  made.header = bytes.add_once(arena, item.header);
  made.standard_codes = codes_;
  std::uint64_t own_bytes = 0;
  if (item.plan->encode.optimize_huffman) {
    desc.tail_bytes = bytes_behind_tables(item.plan->encode);
    made.optimal = arena.add<OptimalCodes>(Part::kZeroed, 1, gpu::kVectorAlignment);
    own_bytes = sizeof(OptimalCodes::segments);
  }
  desc.stuffed_capacity_bytes = static_cast<std::uint32_t>(
      align(desc.header_bytes + own_bytes + desc.raw_capacity_bytes + 2 * desc.segment_count + 64));
  made.stuffed = arena.add<std::uint8_t>(Part::kLate, desc.stuffed_capacity_bytes);
  output_bytes_ += align(desc.header_bytes + own_bytes + std::uint64_t{blocks} * 32 + 4096);
}

void EncodeStage::add_search(const plan::EncodePlan& encode, EncodeDesc& desc, gpu::Arena& arena,
                             StagedBytes& bytes) {
  if (encode.max_bytes == 0) return;
  SizeSearch search;
  search.max_bytes = encode.max_bytes;
  search.stream = streams_.size();
  search.quality = static_cast<std::uint32_t>(std::clamp(encode.quality, 1, 100));
  search.high = search.quality - 1;
  // The search writes this stream's quantisers, so no other stream may share them.
  search.table = reciprocals_.size() / 64;
  const AllQualityTables& all = all_quality_tables();
  for (std::size_t i = 0; i < 128; ++i) {
    reciprocals_.add(all.reciprocals[std::size_t{search.quality} * 128 + i]);
  }
  for (std::uint32_t i = 0; i < desc.plane_count; ++i) {
    desc.planes[i].quantiser = search.table + desc.planes[i].code;
  }
  std::vector<std::uint8_t> body;
  append_output_header(encode, body);
  search.dqt = desc.header_bytes - static_cast<std::uint32_t>(body.size());
  search.dqt_count = encode.model == plan::OutputModel::kYcbcr ? 2 : 1;
  searches_.add(search);
  searched_.add(search.stream);
  desc.search = searches_.size();
  quality_reciprocals_ = bytes.add_array_once<float>(arena, all.reciprocals);
  quality_quantisers_ = bytes.add_array_once<std::uint8_t>(arena, all.quantisers);
}

void EncodeStage::add_tiles(Tiles& tiles, std::uint32_t stream, const EncodeDesc& desc) {
  const std::uint32_t blocks = base::ceil_div(desc.total_blocks, std::uint32_t{kBlocksPerTile});
  tiles.blocks.add_parts(stream, blocks);
  if (desc.tail_bytes == 0) return;
  tiles.own_blocks.add_parts(stream, blocks);
  tiles.tables.add_parts(stream, desc.planes[desc.plane_count - 1].code * 2 + 2);
}

std::uint32_t EncodeStage::quantiser(int quality, bool chrominance) {
  const auto [found, added] =
      quantiser_index_.try_emplace({quality, chrominance}, reciprocals_.size() / 64);
  if (added) {
    const jpeg::QualityTables tables = jpeg::quality_tables(quality);
    for (const std::uint16_t step : (chrominance ? tables.chrominance : tables.luminance).values) {
      reciprocals_.add(1.f / static_cast<float>(step));
    }
  }
  return found->second;
}

std::uint64_t EncodeStage::list_bytes() const {
  std::uint64_t bytes = 0;
  for_each_list(*this, [&](const auto& list) { bytes += list.bytes(); });
  return bytes;
}

void EncodeStage::lay_out(gpu::Arena& arena) {
  for_each_list(*this, [&](auto& list) { list.lay_out(arena); });
  records_ = arena.add<OutputRecord>(Part::kLate, streams_.size());
}

void EncodeStage::write(const gpu::Memory& host, const gpu::Memory& device) const {
  for_each_list(*this, [&](const auto& list) { list.write(host, device); });
}

EncodeView EncodeStage::view(const StageRun& run, const StreamOutput& output) const {
  const gpu::Memory& memory = run.memory;
  EncodeView v;
  v.encodes = streams_.at(memory);
  v.encode_count = streams_.size();
  v.status = run.status;
  v.reciprocals = reciprocals_.at(memory);
  v.searches = searches_.at(memory);
  if (!searches_.empty()) {
    v.quality_reciprocals = memory.at(quality_reciprocals_);
    v.quality_quantisers = memory.at(quality_quantisers_);
  }
  v.records = memory.at(records_);
  v.host_records = output.records;
  v.host_output = output.bytes;
  v.host_capacity_bytes = output.capacity_bytes;
  return v;
}

EncodeWork EncodeStage::work(const StageRun& run, const Tiles& tiles) const {
  EncodeWork work;
  work.tiles = tiles.blocks.at(run.memory);
  work.tile_count = tiles.blocks.size();
  work.optimal_tiles = tiles.own_blocks.at(run.memory);
  work.optimal_tile_count = tiles.own_blocks.size();
  work.tables = tiles.tables.at(run.memory);
  work.table_count = tiles.tables.size();
  work.stream_count = streams_.size();
  work.many_streams = many_streams_;
  work.max_raw_bytes = max_raw_bytes_;
  return work;
}

void EncodeStage::enqueue(const StageRun& run, const StreamOutput& output) const {
  if (streams_.empty()) return;
  const cudaStream_t stream = run.stream.get();
  const EncodeView batch = view(run, output);
  const EncodeWork every = work(run, all_);
  launch_forward_dct(batch, every.tiles, every.tile_count, stream);
  run.timeline.end(Stage::kForward, run.stream);
  launch_optimal_codes(batch, every, stream);
  launch_entropy_encode(batch, every, stream);
  run.timeline.end(Stage::kEncode, run.stream);
  launch_stuff(batch, every, stream);
  if (!searches_.empty()) {
    run.timeline.end(Stage::kPack, run.stream);
    enqueue_searches(batch, run);
    run.timeline.end(Stage::kSearch, run.stream);
  }
  launch_pack(batch, stream);
  run.timeline.end(Stage::kPack, run.stream);
}

void EncodeStage::enqueue_searches(const EncodeView& view, const StageRun& run) const {
  const cudaStream_t stream = run.stream.get();
  EncodeWork again = work(run, again_);
  again.streams = searched_.at(run.memory);
  again.stream_count = searched_.size();
  for (int round = 0; round < kSearchRounds; ++round) {
    launch_size_search(view, again.stream_count, stream);
    launch_forward_dct(view, again.tiles, again.tile_count, stream);
    launch_optimal_codes(view, again, stream);
    launch_entropy_encode(view, again, stream);
    launch_stuff(view, again, stream);
  }
}

}  // namespace framewire::codec::cuda
