#include <codec/cuda/encode/output_header.hpp>
#include <jpeg/writer.hpp>

namespace framewire::codec::cuda {

void append_output_header(const plan::EncodePlan& encode, std::vector<std::uint8_t>& out) {
  const bool alone = encode.component_count == 1;
  const jpeg::QualityTables tables = jpeg::quality_tables(encode.quality);
  const bool color = encode.model == plan::OutputModel::kYcbcr;
  jpeg::write_dqt(out, 0, tables.luminance);
  if (color) jpeg::write_dqt(out, 1, tables.chrominance);
  jpeg::FrameSpec frame;
  frame.width_px = encode.width_px;
  frame.height_px = encode.height_px;
  frame.component_count = encode.component_count;
  jpeg::ScanSpec scan;
  scan.component_count = encode.component_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(encode.component_count); ++i) {
    const std::uint8_t slot = color && i != 0 ? 1 : 0;
    frame.h[i] = alone ? 1 : encode.h[i];
    frame.v[i] = alone ? 1 : encode.v[i];
    frame.quant_index[i] = slot;
    scan.id[i] = frame.id[i];
    scan.dc_slot[i] = slot;
    scan.ac_slot[i] = slot;
  }
  jpeg::write_sof(out, frame);
  for (int slot = 0; !encode.optimize_huffman && slot < (color ? 2 : 1); ++slot) {
    for (const jpeg::TableClass table_class : {jpeg::TableClass::kDc, jpeg::TableClass::kAc}) {
      jpeg::write_dht(out, table_class, slot, jpeg::standard_huffman_table(table_class, slot));
    }
  }
  if (encode.restart_interval_mcus > 0) jpeg::write_dri(out, encode.restart_interval_mcus);
  jpeg::write_sos(out, scan);
}

}  // namespace framewire::codec::cuda
