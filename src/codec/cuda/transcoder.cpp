#include <codec/cuda/tuning.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <codec/cuda/coefficients.hpp>
#include <codec/cuda/entropy_encode.hpp>
#include <codec/cuda/finish.hpp>
#include <codec/cuda/forward_dct.hpp>
#include <codec/cuda/inverse_dct.hpp>
#include <codec/cuda/optimal_codes.hpp>
#include <codec/cuda/resample.hpp>
#include <codec/cuda/resample_long.hpp>
#include <codec/cuda/size_search.hpp>
#include <codec/cuda/synchronise.hpp>
#include <codec/cuda/trace.hpp>
#include <codec/cuda/transcoder.hpp>
#include <codec/cuda/unstuff.hpp>
#include <gpu/early_launches.hpp>
#include <gpu/error.hpp>
#include <utility>

namespace framewire::codec::cuda {
namespace {

using gpu::MemoryKind;

/// Grown buffers get a quarter more, so that batches of similar size do not grow them again.
Result<void> grow(gpu::Buffer& buffer, MemoryKind kind, std::uint64_t bytes,
                  std::uint64_t most_bytes = UINT64_MAX) {
  if (bytes <= buffer.bytes()) return {};
  return buffer.reserve(kind, std::max(bytes, std::min(bytes + bytes / 4, most_bytes)));
}

template <typename T>
T* at(std::uint8_t* base, std::uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

std::uint32_t size_of(const std::vector<Tile>& tiles) {
  return static_cast<std::uint32_t>(tiles.size());
}

EncodeWork encode_work(const BatchView& view, const EncodeTiles& tiles) {
  EncodeWork work;
  work.tiles = at<const Tile>(view.base, tiles.blocks_at);
  work.tile_count = size_of(tiles.blocks);
  work.optimal_tiles = at<const Tile>(view.base, tiles.own_blocks_at);
  work.optimal_tile_count = size_of(tiles.own_blocks);
  work.tables = at<const Tile>(view.base, tiles.tables_at);
  work.table_count = size_of(tiles.tables);
  return work;
}

}  // namespace

std::string_view to_string(Stage stage) noexcept {
  constexpr std::array<std::string_view, kStageCount> kNames{
      "copy in", "unstuff",  "synchronise", "offsets", "write", "dc",
      "inverse", "resample", "forward",     "encode",  "finish"};
  return kNames[static_cast<std::size_t>(stage)];
}

Result<Transcoder> Transcoder::make(bool timed) {
  auto stream = gpu::Stream::make();
  if (!stream) return fail(stream.error());
  auto order = gpu::Event::make_untimed();
  if (!order) return fail(order.error());
  auto over = gpu::Event::make_restful();
  if (!over) return fail(over.error());
  Transcoder transcoder(std::move(*stream), std::move(*order), std::move(*over));
  for (std::size_t i = 0; timed && i <= kStageCount; ++i) {
    auto event = gpu::Event::make();
    if (!event) return fail(event.error());
    transcoder.events_.push_back(std::move(*event));
  }
  return transcoder;
}

Result<void> Transcoder::enqueue(std::span<const Item> items) {
  if (items.empty()) return fail(StatusCode::kInternal, "a batch without images was enqueued");
  if (auto ok = check_batch(items); !ok) return ok;
  if (in_flight_)
    if (auto ok = wait(); !ok) return ok;
  plan_.clear(layout_for(items));
  for (const Item& item : items) plan_.add(item);
  plan_.finish();
  if (auto ok = reserve(); !ok) return ok;
  in_flight_ = true;
  begin();
  plan_.write(staging_.data(), device_.data());
  return launch();
}

// While the host still fills its own buffer.
void Transcoder::begin() {
  const BatchOffsets& o = plan_.offsets();
  std::uint8_t* base = device_.data();
  if (!plan_.fetches.empty()) mark(0);
  fetches_.clear();
  for (const HostCopy& copy : plan_.fetches)
    fetches_.add(base + copy.offset, copy.bytes.data(), copy.bytes.size());
  fetches_.enqueue(stream_.get());
  (void)cudaMemsetAsync(base + o.status, 0, o.zeroed_bytes, stream_.get());
  (void)cudaMemsetAsync(base + o.scan_end, 0xFF, plan_.scans.size() * 4, stream_.get());
}

Result<void> Transcoder::reserve() {
  const BatchOffsets& o = plan_.offsets();
  records_bytes_ = (plan_.encodes.size() * sizeof(OutputRecord) + 255) / 256 * 256;
  if (auto ok = grow(staging_, MemoryKind::kPinned, o.upload_bytes); !ok) return ok;
  if (auto ok = grow(device_, MemoryKind::kDevice, o.total_bytes, most_device_bytes_); !ok)
    return ok;
  if (auto ok = grow(host_status_, MemoryKind::kPinned, plan_.images * sizeof(std::uint32_t)); !ok)
    return ok;
  return grow(output_, MemoryKind::kPinnedMapped, records_bytes_ + plan_.output_bytes);
}

void Transcoder::mark(std::size_t event) {
  if (event < events_.size()) (void)events_[event].record(stream_);
}

Result<void> Transcoder::launch() {
  const BatchOffsets& o = plan_.offsets();
  cudaStream_t stream = stream_.get();
  std::uint8_t* base = device_.data();
  BatchView view = plan_.view(base);
  view.host_records = at<OutputRecord>(output_.data(), 0);
  view.host_output = output_.data() + records_bytes_;
  view.host_capacity_bytes = output_.bytes() - records_bytes_;
  // A small batch waits for launches, a large one would only keep room from other streams.
  const gpu::EarlyLaunches early(view.layout.traced != 0);
  if (plan_.fetches.empty()) mark(0);
  (void)cudaMemcpyAsync(base, staging_.data(), o.upload_bytes, cudaMemcpyHostToDevice, stream);
  mark(1);
  if (!plan_.scans.empty()) launch_decode(view);
  for (std::size_t event = plan_.scans.empty() ? 2 : 7; event <= 6; ++event) mark(event);
  launch_inverse(view);
  mark(7);
  launch_output(view);
  (void)cudaMemcpyAsync(host_status_.data(), base + o.status, plan_.images * 4,
                        cudaMemcpyDeviceToHost, stream);
  if (auto ok = gpu::check(cudaGetLastError(), "launching a batch"); !ok) return ok;
  // A large batch takes a millisecond or more, in which others can use the core; of a small one's
  // time, being woken would be a tenth.
  if (view.layout.traced != 0) return {};
  auto recorded = over_.record(stream_);
  asleep_ = recorded.has_value();
  return recorded;
}

void Transcoder::launch_decode(const BatchView& view) {
  const BatchOffsets& o = plan_.offsets();
  cudaStream_t stream = stream_.get();
  auto* tiles = at<const Tile>(view.base, o.entropy_tiles);
  auto* pairs = at<TablePair>(view.base, o.pairs);
  const std::uint32_t count = size_of(plan_.entropy_tiles);
  const std::uint32_t most_pairs = plan_.most_pairs;
  if (plan_.any_restarts) launch_find_markers(view, plan_.most_marker_tiles, stream);
  launch_unstuff(view, tiles, count, stream);
  mark(2);
  launch_build_tables(at<const CanonicalCode>(view.base, o.canonical), pairs,
                      static_cast<std::uint32_t>(plan_.canonical.size() / 2), stream);
  if (view.layout.traced != 0) launch_trace(view, tiles, count, pairs, most_pairs, stream);
  launch_synchronise(view, at<const Tile>(view.base, o.sync_tiles), size_of(plan_.sync_tiles),
                     pairs, most_pairs, stream);
  launch_repair_chains(view, pairs, most_pairs, stream);
  mark(3);
  launch_offsets(view, tiles, count, stream);
  mark(4);
  const Tile* writes = at<const Tile>(view.base, o.write_tiles);
  for (const bool reduced : {false, true}) {
    const std::vector<Tile>& list = plan_.write_tiles[reduced ? 1 : 0];
    launch_write_coefficients(view, writes, size_of(list), reduced, pairs, most_pairs, stream);
    writes += list.size();
  }
  mark(5);
  launch_sum_dc(view, plan_.most_dc_tiles, stream);
  mark(6);
}

void Transcoder::launch_inverse(const BatchView& view) {
  const Tile* tiles = at<const Tile>(view.base, plan_.offsets().plane_tiles);
  std::uint32_t corner = 1;
  for (const std::vector<Tile>& list : plan_.plane_tiles) {
    if (!list.empty()) launch_inverse_dct(view, tiles, size_of(list), corner, stream_.get());
    tiles += list.size();
    corner *= 2;
  }
  launch_inverse_edges(view, at<const Tile>(view.base, plan_.offsets().edge_tiles),
                       size_of(plan_.edge_tiles), stream_.get());
}

void Transcoder::launch_picture(const BatchView& view) {
  const BatchOffsets& o = plan_.offsets();
  const FinishPlan& finish = plan_.finish_stages;
  cudaStream_t stream = stream_.get();
  const auto tiles_at = [&](std::uint64_t offset) { return at<const Tile>(view.base, offset); };
  launch_resample(view, tiles_at(o.resample_tiles), size_of(plan_.resample_tiles), plan_.most_rows,
                  stream);
  launch_resample_long(view, tiles_at(o.long_across_tiles), size_of(plan_.long_across_tiles),
                       tiles_at(o.long_down_tiles), size_of(plan_.long_down_tiles), stream);
  launch_convert(view, tiles_at(finish.offsets.convert_tiles), size_of(finish.convert_tiles),
                 stream);
  launch_sharpen(view, tiles_at(finish.offsets.sharpen_tiles), size_of(finish.sharpen_tiles),
                 finish.most_radius, stream);
  launch_place(view, tiles_at(finish.offsets.place_tiles), size_of(finish.place_tiles), stream);
}

void Transcoder::launch_output(const BatchView& view) {
  cudaStream_t stream = stream_.get();
  launch_picture(view);
  mark(8);
  if (plan_.encodes.empty()) {
    for (std::size_t event = 9; event <= kStageCount; ++event) mark(event);
    return;
  }
  EncodeWork work = encode_work(view, plan_.encode_lists.all);
  work.stream_count = view.encode_count;
  work.most_raw_bytes = plan_.most_raw_bytes;
  launch_forward_dct(view, work.tiles, work.tile_count, stream);
  mark(9);
  launch_optimal_codes(view, work, stream);
  launch_entropy_encode(view, work, stream);
  mark(10);
  launch_stuff(view, work, stream);
  launch_searches(view);
  launch_pack(view, stream);
  mark(11);
}

void Transcoder::launch_searches(const BatchView& view) {
  const EncodeLists& lists = plan_.encode_lists;
  if (lists.searches.empty()) return;
  cudaStream_t stream = stream_.get();
  EncodeWork work = encode_work(view, lists.again);
  work.streams = at<const std::uint32_t>(view.base, lists.streams_at);
  work.stream_count = static_cast<std::uint32_t>(lists.streams.size());
  work.most_raw_bytes = plan_.most_raw_bytes;
  for (int round = 0; round < kSearchRounds; ++round) {
    launch_size_search(view, work.stream_count, stream);
    launch_forward_dct(view, work.tiles, work.tile_count, stream);
    launch_optimal_codes(view, work, stream);
    launch_entropy_encode(view, work, stream);
    launch_stuff(view, work, stream);
  }
}

Result<void> Transcoder::wait() {
  in_flight_ = false;
  return std::exchange(asleep_, false) ? over_.synchronise() : stream_.synchronise();
}

Result<void> Transcoder::wait_for(cudaStream_t stream) {
  if (auto ok = order_.record(stream); !ok) return ok;
  return stream_.wait_for(order_.get());
}

Result<void> Transcoder::make_wait(cudaStream_t stream) {
  if (auto ok = order_.record(stream_); !ok) return ok;
  return gpu::check(cudaStreamWaitEvent(stream, order_.get(), 0), "ordering streams");
}

ImageResult Transcoder::result(std::size_t image) const {
  ImageResult result;
  result.status = at<const std::uint32_t>(host_status_.data(), 0)[image];
  const Sink sink = plan_.sinks[image];
  if (sink.kind != Sink::Kind::kEncoded) return result;
  const OutputRecord& record = at<const OutputRecord>(output_.data(), 0)[sink.index];
  result.status |= record.status;
  result.quality = static_cast<int>(record.quality);
  result.missed_max_bytes = record.missed != 0;
  if (result.status == 0)
    result.bytes = {output_.data() + records_bytes_ + record.offset, record.bytes};
  return result;
}

DevicePlane Transcoder::plane(std::size_t image, std::size_t component) const {
  const std::size_t index = plan_.first_plane[image] + component;
  const PlaneDesc& desc = plan_.planes[index];
  std::uint8_t* samples = plan_.origins[index] == PlaneOrigin::kExternal
                              ? reinterpret_cast<std::uint8_t*>(desc.samples)
                              : device_.data() + desc.samples;
  return {samples, desc.width_px, desc.height_px, desc.pitch_bytes};
}

DevicePlane Transcoder::output_plane(std::size_t image, std::size_t component) const {
  const Sink sink = plan_.sinks[image];
  const auto& list = sink.kind == Sink::Kind::kEncoded ? plan_.encodes : plan_.kept;
  const EncodePlane& plane = list[sink.index].planes[component];
  return {device_.data() + plane.samples, plane.width_px, plane.height_px, plane.pitch_bytes};
}

Result<std::array<double, kStageCount>> Transcoder::stage_us() const {
  std::array<double, kStageCount> times{};
  for (std::size_t i = 0; i < kStageCount && !events_.empty(); ++i) {
    auto time = gpu::Event::elapsed_us(events_[i], events_[i + 1]);
    if (!time) return fail(time.error());
    times[i] = *time;
  }
  return times;
}

}  // namespace framewire::codec::cuda
