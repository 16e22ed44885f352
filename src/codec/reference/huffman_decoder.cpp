// Huffman decoding of scans, T.81 F.2.2 and G.2.
#include <fmt/format.h>
#include <algorithm>
#include <codec/reference/scan_decoder.hpp>
#include <jpeg/huffman.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::reference {
namespace {

constexpr int kLongestCode = 16;
constexpr int kZeroRun = 15;  ///< the run of ZRL, and the largest that a symbol carries

/// A code as the DECODE procedure wants it (T.81 figures C.1, C.2 and F.15).
class HuffmanCode {
 public:
  HuffmanCode() = default;
  explicit HuffmanCode(const jpeg::HuffmanTable& table) : values_(table.values) {
    std::int32_t code = 0;
    std::int32_t index = 0;
    for (int length = 1; length <= kLongestCode; ++length) {
      const int count = table.counts[static_cast<std::size_t>(length - 1)];
      Length& entry = lengths_[static_cast<std::size_t>(length)];
      entry = {count == 0 ? -1 : code + count - 1, index - code};
      code = (code + count) << 1;
      index += count;
    }
  }

  /// @return the symbol, or 0 with `bad` set after 17 bits that begin with no code
  int decode(EntropySource& source, bool& bad) const {
    std::int32_t code = 0;
    for (int length = 1; length <= kLongestCode; ++length) {
      code = code << 1 | source.next_bit();
      const Length& entry = lengths_[static_cast<std::size_t>(length)];
      if (code <= entry.largest) {
        return values_[static_cast<std::size_t>(code + entry.to_index) & 0xFF];
      }
    }
    source.next_bit();
    bad = true;
    return 0;
  }

 private:
  struct Length {
    std::int32_t largest = -1;  ///< code of this length; −1: none
    std::int32_t to_index = 0;  ///< code + to_index is the place among the values
  };
  std::array<Length, kLongestCode + 1> lengths_{};
  std::array<std::uint8_t, 256> values_{};
};

/// The coefficient at zig-zag index k. In damaged data a run may lead beyond the block; that counts
/// as its last coefficient.
std::int16_t& coefficient_within(Block& block, int k) {
  return block[jpeg::kNaturalOrder[static_cast<std::size_t>(std::min(k, jpeg::kBlockSize - 1))]];
}

class HuffmanDecoder final : public ScanDecoder {
 public:
  HuffmanDecoder(const jpeg::JpegFile& file, const jpeg::Scan& scan, EntropySource& source)
      : scan_(scan), kind_(scan_kind(file.frame, scan)), source_(source) {}

  void set_codes(int i, const jpeg::HuffmanTable* dc, const jpeg::HuffmanTable* ac) {
    if (dc != nullptr) dc_codes_[static_cast<std::size_t>(i)] = HuffmanCode(*dc);
    if (ac != nullptr) ac_codes_[static_cast<std::size_t>(i)] = HuffmanCode(*ac);
  }

  void start_segment() override {
    predictors_ = {};
    end_of_band_run_ = 0;
  }

  void decode_mcu(std::span<const McuBlock> blocks) override {
    // The MCU in which data ends is completed from zero bits; those after it are left alone.
    if (source_.is_exhausted()) return;
    for (const McuBlock& b : blocks) {
      const auto i = static_cast<std::size_t>(b.scan_component);
      switch (kind_) {
        case ScanKind::kSequential:
          sequential(*b.block, i);
          break;
        case ScanKind::kDcFirst:
          (*b.block)[0] = shifted(next_dc(i));
          break;
        case ScanKind::kDcRefine:
          if (source_.next_bit() != 0) {
            (*b.block)[0] = static_cast<std::int16_t>((*b.block)[0] | 1 << scan_.approx_low);
          }
          break;
        case ScanKind::kAcFirst:
          ac_first(*b.block, ac_codes_[i]);
          break;
        case ScanKind::kAcRefine:
          ac_refine(*b.block, ac_codes_[i]);
          break;
      }
    }
  }

 private:
  std::int16_t shifted(std::int32_t value) const {
    return static_cast<std::int16_t>(static_cast<std::uint32_t>(value) << scan_.approx_low);
  }

  std::int32_t next_value(int size) {
    return jpeg::extend(static_cast<std::uint32_t>(source_.next_bits(size)), size);
  }

  std::int32_t next_dc(std::size_t i) {
    const int size = dc_codes_[i].decode(source_, saw_bad_code_);
    predictors_[i] += static_cast<std::uint32_t>(next_value(size));  // wraps on damaged data
    return static_cast<std::int32_t>(predictors_[i]);
  }

  void sequential(Block& block, std::size_t i) {
    block[0] = static_cast<std::int16_t>(next_dc(i));
    for (int k = 1; k < jpeg::kBlockSize; ++k) {
      const int symbol = ac_codes_[i].decode(source_, saw_bad_code_);
      const int run = symbol >> 4;
      const int size = symbol & 15;
      if (size == 0 && run != kZeroRun) return;
      k += run;
      if (size != 0) coefficient_within(block, k) = static_cast<std::int16_t>(next_value(size));
    }
  }

  /// EOBn: this band and the next 2^n − 1 + (n more bits) have nothing more.
  void start_end_of_band_run(int exponent) {
    end_of_band_run_ = (1 << exponent) + source_.next_bits(exponent);
  }

  void ac_first(Block& block, const HuffmanCode& code) {
    if (end_of_band_run_ > 0) {
      --end_of_band_run_;
      return;
    }
    for (int k = scan_.spectral_start; k <= scan_.spectral_end; ++k) {
      const int symbol = code.decode(source_, saw_bad_code_);
      const int run = symbol >> 4;
      const int size = symbol & 15;
      if (size == 0 && run != kZeroRun) {
        start_end_of_band_run(run);
        --end_of_band_run_;
        return;
      }
      k += run;
      if (size != 0) coefficient_within(block, k) = shifted(next_value(size));
    }
  }

  void refine(std::int16_t& value) {
    const int bit = 1 << scan_.approx_low;
    if (source_.next_bit() == 0 || (value & bit) != 0) return;
    value = static_cast<std::int16_t>(value >= 0 ? value + bit : value - bit);
  }

  void ac_refine(Block& block, const HuffmanCode& code) {
    int k = scan_.spectral_start;
    for (; end_of_band_run_ == 0 && k <= scan_.spectral_end; ++k) {
      const int symbol = code.decode(source_, saw_bad_code_);
      int run = symbol >> 4;
      int added = 0;
      if ((symbol & 15) != 0) {
        if ((symbol & 15) != 1) saw_bad_code_ = true;  // a new coefficient is ±1 here
        added = source_.next_bit() != 0 ? 1 << scan_.approx_low : -(1 << scan_.approx_low);
      } else if (run != kZeroRun) {
        start_end_of_band_run(run);
        break;
      }
      for (; k <= scan_.spectral_end; ++k) {  // passes `run` zeros, refining what lies between
        std::int16_t& value = coefficient_within(block, k);
        if (value != 0) {
          refine(value);
        } else if (--run < 0) {
          break;
        }
      }
      if (added != 0) coefficient_within(block, k) = static_cast<std::int16_t>(added);
    }
    if (end_of_band_run_ == 0) return;
    for (; k <= scan_.spectral_end; ++k) {
      if (std::int16_t& value = coefficient_within(block, k); value != 0) refine(value);
    }
    --end_of_band_run_;
  }

  const jpeg::Scan& scan_;
  ScanKind kind_;
  EntropySource& source_;
  std::array<HuffmanCode, jpeg::kMaxComponents> dc_codes_{};
  std::array<HuffmanCode, jpeg::kMaxComponents> ac_codes_{};
  std::array<std::uint32_t, jpeg::kMaxComponents> predictors_{};
  std::int32_t end_of_band_run_ = 0;
};

/// The table of one component, or the standard one where the file leaves it out.
Result<const jpeg::HuffmanTable*> find_table(const jpeg::JpegFile& file, const jpeg::Scan& scan,
                                             jpeg::TableClass table_class, int index, int slot) {
  const char* name = table_class == jpeg::TableClass::kDc ? "DC" : "AC";
  if (index < 0) {
    const bool progressive = file.frame.process == jpeg::Process::kProgressive;
    if (slot <= 1 && !progressive) return &jpeg::standard_huffman_table(table_class, slot);
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("scan uses {} Huffman table {}, which is not defined; only "
                                   "tables 0 and 1 of a sequential frame may be left out",
                                   name, slot))
                    .at(scan.offset));
  }
  const jpeg::HuffmanTable& table = file.huffman_tables[static_cast<std::size_t>(index)];
  const auto values = table.values.begin();
  if (table_class == jpeg::TableClass::kDc &&
      std::any_of(values, values + table.value_count, [](std::uint8_t v) { return v > 15; })) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("DC Huffman table {} has a category above 15", slot))
                    .at(scan.offset));
  }
  return &table;
}

}  // namespace

Result<std::unique_ptr<ScanDecoder>> make_huffman_decoder(const jpeg::JpegFile& file,
                                                          const jpeg::Scan& scan,
                                                          EntropySource& source) {
  auto decoder = std::make_unique<HuffmanDecoder>(file, scan, source);
  const ScanKind kind = scan_kind(file.frame, scan);
  for (int i = 0; i < scan.component_count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    const jpeg::HuffmanTable* dc = nullptr;
    const jpeg::HuffmanTable* ac = nullptr;
    if (needs_dc_table(kind)) {
      auto found = find_table(file, scan, jpeg::TableClass::kDc, scan.dc_table[n], scan.dc_slot[n]);
      if (!found) return fail(std::move(found.error()));
      dc = *found;
    }
    if (needs_ac_table(kind)) {
      auto found = find_table(file, scan, jpeg::TableClass::kAc, scan.ac_table[n], scan.ac_slot[n]);
      if (!found) return fail(std::move(found.error()));
      ac = *found;
    }
    decoder->set_codes(i, dc, ac);
  }
  return decoder;
}

}  // namespace framewire::codec::reference
