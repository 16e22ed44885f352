#include <codec/cuda/encode/quality_tables.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::cuda {
namespace {

void add_tables(AllQualityTables& all, const jpeg::QuantTable& table) {
  for (const std::uint16_t step : table.values) {
    all.reciprocals.push_back(1.f / static_cast<float>(step));
  }
  for (const std::uint8_t natural : jpeg::kNaturalOrder) {
    all.quantisers.push_back(static_cast<std::uint8_t>(table.values[natural]));
  }
}

}  // namespace

const AllQualityTables& all_quality_tables() {
  static const AllQualityTables tables = [] {
    AllQualityTables all;
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
