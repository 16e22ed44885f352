// Huffman coding of one sequential scan, T.81 F.1.2.
#include <algorithm>
#include <array>
#include <base/checked.hpp>
#include <codec/reference/encoder.hpp>
#include <jpeg/bit_writer.hpp>
#include <jpeg/huffman.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::reference {
namespace {

using jpeg::TableClass;

constexpr int kZeroRunLength = 16;
constexpr std::uint8_t kZeroRunSymbol = 0xF0;
constexpr std::uint8_t kEndOfBlock = 0x00;

int slot_of(const plan::EncodePlan& plan, std::size_t component) {
  return plan.model == plan::OutputModel::kYcbcr && component > 0 ? 1 : 0;
}
int slot_count(const plan::EncodePlan& plan) {
  return plan.model == plan::OutputModel::kYcbcr ? 2 : 1;
}

/// Tables by slot, luminance first.
struct Tables {
  std::array<jpeg::HuffmanTable, 2> dc;
  std::array<jpeg::HuffmanTable, 2> ac;
};

/// Counts symbols, for tables made to measure.
struct Histogram {
  std::array<std::array<std::uint64_t, 256>, 2> dc{};
  std::array<std::array<std::uint64_t, 256>, 2> ac{};

  void put(TableClass table_class, int slot, std::uint8_t symbol, std::int32_t, int) {
    auto& counts = table_class == TableClass::kDc ? dc : ac;
    ++counts[static_cast<std::size_t>(slot)][symbol];
  }
  void restart(int) {}
};

/// Writes symbols and their additional bits.
class SymbolWriter {
 public:
  SymbolWriter(const Tables& tables, std::vector<std::uint8_t>& out) : bits_(out) {
    for (std::size_t i = 0; i < 2; ++i) {
      dc_[i] = jpeg::make_encode_table(tables.dc[i]);
      ac_[i] = jpeg::make_encode_table(tables.ac[i]);
    }
  }
  void put(TableClass table_class, int slot, std::uint8_t symbol, std::int32_t value, int size) {
    const auto& tables = table_class == TableClass::kDc ? dc_ : ac_;
    bits_.put_symbol(tables[static_cast<std::size_t>(slot)], symbol);
    bits_.put(jpeg::additional_bits(value, size), size);
  }
  void restart(int index) { bits_.put_restart(index); }
  void flush() { bits_.flush(); }

 private:
  jpeg::BitWriter bits_;
  std::array<jpeg::HuffmanEncodeTable, 2> dc_{};
  std::array<jpeg::HuffmanEncodeTable, 2> ac_{};
};

template <typename Sink>
void code_block(const Block& block, std::int32_t predictor, int slot, Sink& sink) {
  const std::int32_t difference = block[0] - predictor;
  const int dc_size = jpeg::category(difference);
  sink.put(TableClass::kDc, slot, static_cast<std::uint8_t>(dc_size), difference, dc_size);
  int run = 0;
  for (std::size_t k = 1; k < jpeg::kBlockSize; ++k) {
    const std::int32_t value = block[jpeg::kNaturalOrder[k]];
    if (value == 0) {
      ++run;
      continue;
    }
    for (; run >= kZeroRunLength; run -= kZeroRunLength) {
      sink.put(TableClass::kAc, slot, kZeroRunSymbol, 0, 0);
    }
    const int size = jpeg::category(value);
    sink.put(TableClass::kAc, slot, static_cast<std::uint8_t>(run << 4 | size), value, size);
    run = 0;
  }
  if (run > 0) sink.put(TableClass::kAc, slot, kEndOfBlock, 0, 0);
}

/// All MCUs in order, with their restarts.
template <typename Sink>
void code_scan(const PaddedCoefficients& coefficients, const plan::EncodePlan& plan, Sink& sink) {
  const std::size_t count = coefficients.components.size();
  const auto h = [&](std::size_t i) { return count > 1 ? plan.h[i] : 1; };
  const auto v = [&](std::size_t i) { return count > 1 ? plan.v[i] : 1; };
  const std::int32_t columns = coefficients.components[0].width_blocks / h(0);
  const std::int32_t rows = coefficients.components[0].height_blocks / v(0);
  std::array<std::int32_t, jpeg::kMaxComponents> predictors{};
  std::int32_t mcu = 0;
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t column = 0; column < columns; ++column, ++mcu) {
      if (plan.restart_interval_mcus > 0 && mcu > 0 && mcu % plan.restart_interval_mcus == 0) {
        sink.restart(mcu / plan.restart_interval_mcus - 1);
        predictors = {};
      }
      for (std::size_t i = 0; i < count; ++i) {
        for (int y = 0; y < v(i); ++y) {
          for (int x = 0; x < h(i); ++x) {
            const Block& block = coefficients.components[i].at(column * h(i) + x, row * v(i) + y);
            code_block(block, predictors[i], slot_of(plan, i), sink);
            predictors[i] = block[0];
          }
        }
      }
    }
  }
}

Tables make_tables(const PaddedCoefficients& coefficients, const plan::EncodePlan& plan) {
  Tables tables;
  Histogram histogram;
  if (plan.optimize_huffman) code_scan(coefficients, plan, histogram);
  for (std::size_t i = 0; i < 2; ++i) {
    if (plan.optimize_huffman) {
      tables.dc[i] = jpeg::optimal_huffman_table(histogram.dc[i]);
      tables.ac[i] = jpeg::optimal_huffman_table(histogram.ac[i]);
    } else {
      tables.dc[i] = jpeg::standard_huffman_table(TableClass::kDc, static_cast<int>(i));
      tables.ac[i] = jpeg::standard_huffman_table(TableClass::kAc, static_cast<int>(i));
    }
  }
  return tables;
}

void write_headers(const plan::EncodePlan& plan, int quality, const Tables& tables,
                   std::vector<std::uint8_t>& out) {
  const jpeg::QualityTables quantisers = jpeg::quality_tables(quality);
  jpeg::FrameSpec frame;
  frame.width_px = plan.width_px;
  frame.height_px = plan.height_px;
  frame.component_count = plan.component_count;
  jpeg::ScanSpec scan;
  scan.component_count = plan.component_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.component_count); ++i) {
    const auto slot = static_cast<std::uint8_t>(slot_of(plan, i));
    frame.h[i] = plan.h[i];
    frame.v[i] = plan.v[i];
    frame.quant_index[i] = slot;
    scan.id[i] = frame.id[i];
    scan.dc_slot[i] = slot;
    scan.ac_slot[i] = slot;
  }
  jpeg::write_dqt(out, 0, quantisers.luminance);
  if (slot_count(plan) > 1) jpeg::write_dqt(out, 1, quantisers.chrominance);
  jpeg::write_sof(out, frame);
  for (int slot = 0; slot < slot_count(plan); ++slot) {
    jpeg::write_dht(out, TableClass::kDc, slot, tables.dc[static_cast<std::size_t>(slot)]);
    jpeg::write_dht(out, TableClass::kAc, slot, tables.ac[static_cast<std::size_t>(slot)]);
  }
  if (plan.restart_interval_mcus > 0) jpeg::write_dri(out, plan.restart_interval_mcus);
  jpeg::write_sos(out, scan);
}

}  // namespace

void write_stream(const PaddedCoefficients& coefficients, const plan::EncodePlan& plan, int quality,
                  std::vector<std::uint8_t>& out) {
  const Tables tables = make_tables(coefficients, plan);
  write_headers(plan, quality, tables, out);
  SymbolWriter writer(tables, out);
  code_scan(coefficients, plan, writer);
  writer.flush();
  jpeg::write_eoi(out);
}

}  // namespace framewire::codec::reference
