#include <codec/cuda/tuning.h>
#include <codec/cuda/encode_lists.hpp>
#include <cstring>
#include <jpeg/writer.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::cuda {
namespace {

template <typename T>
void copy_list(std::uint8_t* to, const std::vector<T>& list) {
  if (!list.empty()) std::memcpy(to, list.data(), list.size() * sizeof(T));
}

void add_tables(QualityTables& all, const jpeg::QuantTable& table) {
  for (const std::uint16_t step : table.values)
    all.reciprocals.push_back(1.f / static_cast<float>(step));
  for (const std::uint8_t natural : jpeg::kNaturalOrder)
    all.quantisers.push_back(static_cast<std::uint8_t>(table.values[natural]));
}

}  // namespace

void EncodeTiles::clear() { blocks.clear(), own_blocks.clear(), tables.clear(); }

void EncodeTiles::place(gpu::Layout& layout) {
  blocks_at = layout.add_array<Tile>(blocks.size());
  own_blocks_at = layout.add_array<Tile>(own_blocks.size());
  tables_at = layout.add_array<Tile>(tables.size());
}

void EncodeTiles::write(std::uint8_t* staging) const {
  copy_list(staging + blocks_at, blocks);
  copy_list(staging + own_blocks_at, own_blocks);
  copy_list(staging + tables_at, tables);
}

void EncodeLists::clear() {
  all.clear(), again.clear();
  searches.clear(), streams.clear();
}

void EncodeLists::place(gpu::Layout& layout) {
  all.place(layout), again.place(layout);
  searches_at = layout.add_array<SizeSearch>(searches.size());
  streams_at = layout.add_array<std::uint32_t>(streams.size());
}

void EncodeLists::write(std::uint8_t* staging) const {
  all.write(staging), again.write(staging);
  copy_list(staging + searches_at, searches);
  copy_list(staging + streams_at, streams);
}

void EncodeLists::add(std::uint32_t index, const EncodeDesc& desc, bool own_codes) {
  for (EncodeTiles* list : {&all, &again}) {
    if (list == &again && desc.search == 0) break;
    for (std::uint32_t k = 0; k * kBlocksPerTile < desc.total_blocks; ++k) {
      list->blocks.push_back({index, k});
      if (own_codes) list->own_blocks.push_back({index, k});
    }
    const std::uint32_t tables = desc.planes[desc.plane_count - 1].code * 2 + 2;
    for (std::uint32_t k = 0; own_codes && k < tables; ++k) list->tables.push_back({index, k});
  }
}

const QualityTables& all_quality_tables() {
  static const QualityTables tables = [] {
    QualityTables all;
    for (int quality = 0; quality <= 100; ++quality) {
      const jpeg::QualityTables of = jpeg::quality_tables(quality);
      add_tables(all, of.luminance);
      add_tables(all, of.chrominance);
    }
    return all;
  }();
  return tables;
}

}  // namespace framewire::codec::cuda
