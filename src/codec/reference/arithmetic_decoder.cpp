// Arithmetic decoding of scans, T.81 F.2.4 and G.1.3.
#include <codec/reference/qm_decoder.hpp>
#include <codec/reference/scan_decoder.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::reference {
namespace {

constexpr int kSlots = 4;
// Offsets in the statistics areas: tables F.4 (DC) and F.5 (AC).
constexpr std::size_t kDcMagnitude = 20;
constexpr std::size_t kAcMagnitudeLow = 189;
constexpr std::size_t kAcMagnitudeHigh = 217;
constexpr std::size_t kToMagnitudeBits = 14;  ///< from a category's Xn to its Mn
constexpr int kMagnitudeLimit = 0x8000;

using DcStatistics = std::array<QmBin, 64>;
using AcStatistics = std::array<QmBin, 256>;

std::int16_t& coefficient(Block& block, int k) {
  return block[jpeg::kNaturalOrder[static_cast<std::size_t>(k)]];
}

class ArithmeticDecoder final : public ScanDecoder {
 public:
  ArithmeticDecoder(const jpeg::JpegFile& file, const jpeg::Scan& scan, EntropySource& source)
      : scan_(scan), kind_(scan_kind(file.frame, scan)), decoder_(source) {}

  void start_segment() override {
    dc_statistics_ = {};
    ac_statistics_ = {};
    predictors_ = {};
    dc_context_ = {};
    broken_ = false;
    decoder_.start();
  }

  void decode_mcu(std::span<const McuBlock> blocks) override {
    for (const McuBlock& b : blocks) {
      if (broken_) return;
      decode_block(*b.block, static_cast<std::size_t>(b.scan_component));
    }
  }

 private:
  void decode_block(Block& block, std::size_t i) {
    switch (kind_) {
      case ScanKind::kSequential:
        if (!decode_dc(i)) return;
        block[0] = static_cast<std::int16_t>(predictors_[i]);
        decode_ac(block, i, 1, jpeg::kBlockSize - 1, 0);
        break;
      case ScanKind::kDcFirst:
        if (!decode_dc(i)) return;
        block[0] = static_cast<std::int16_t>(predictors_[i] << scan_.approx_low);
        break;
      case ScanKind::kDcRefine:
        if (decoder_.decode_even() != 0) {
          block[0] = static_cast<std::int16_t>(block[0] | 1 << scan_.approx_low);
        }
        break;
      case ScanKind::kAcFirst:
        decode_ac(block, i, scan_.spectral_start, scan_.spectral_end, scan_.approx_low);
        break;
      case ScanKind::kAcRefine:
        refine_ac(block, i);
        break;
    }
  }

  /// Ends the segment: its data is none that an encoder writes. The rest is not decoded.
  bool fail_segment() {
    broken_ = true;
    saw_bad_code_ = true;
    return false;
  }

  /// Figure F.23 from its second decision: doubles `m` up to the value's category.
  bool decode_category(QmBin*& bin, int& m) {
    while (decoder_.decode(*bin) != 0) {
      m <<= 1;
      if (m == kMagnitudeLimit) return fail_segment();
      ++bin;
    }
    return true;
  }

  /// Figure F.24: the bits below the category's leading one.
  int decode_magnitude_bits(QmBin& bin, int m) {
    int value = m;
    while ((m >>= 1) != 0) {
      if (decoder_.decode(bin) != 0) value |= m;
    }
    return value;
  }

  /// Decode_DC_DIFF, figure F.19: adds the difference to the predictor and sets the next context
  /// (F.1.4.4.1.2).
  bool decode_dc(std::size_t i) {
    const std::size_t slot = scan_.dc_slot[i];
    DcStatistics& bins = dc_statistics_[slot];
    QmBin* bin = &bins[static_cast<std::size_t>(dc_context_[i])];
    if (decoder_.decode(bin[0]) == 0) {
      dc_context_[i] = 0;
      return true;
    }
    const int sign = decoder_.decode(bin[1]);
    bin += 2 + sign;
    int m = decoder_.decode(*bin);
    if (m != 0) {
      bin = &bins[kDcMagnitude];
      if (!decode_category(bin, m)) return false;
    }
    if (m < (1 << scan_.conditioning.dc_lower[slot]) >> 1) {
      dc_context_[i] = 0;
    } else if (m > (1 << scan_.conditioning.dc_upper[slot]) >> 1) {
      dc_context_[i] = 12 + 4 * sign;
    } else {
      dc_context_[i] = 4 + 4 * sign;
    }
    const int magnitude = decode_magnitude_bits(bin[kToMagnitudeBits], m) + 1;
    predictors_[i] += static_cast<std::uint32_t>(sign != 0 ? -magnitude : magnitude);
    return true;
  }

  /// Decode_AC_coefficients, figure F.20, for a band.
  void decode_ac(Block& block, std::size_t i, int first, int last, int low_bit) {
    const std::size_t slot = scan_.ac_slot[i];
    AcStatistics& bins = ac_statistics_[slot];
    for (int k = first; k <= last; ++k) {
      QmBin* bin = &bins[3 * static_cast<std::size_t>(k - 1)];
      if (decoder_.decode(bin[0]) != 0) return;  // end of block
      while (decoder_.decode(bin[1]) == 0) {
        bin += 3;
        if (++k > last) {
          fail_segment();
          return;
        }
      }
      const int sign = decoder_.decode_even();
      bin += 2;
      int m = decoder_.decode(*bin);
      if (m != 0 && decoder_.decode(*bin) != 0) {
        m = 2;
        bin = &bins[k <= scan_.conditioning.ac_kx[slot] ? kAcMagnitudeLow : kAcMagnitudeHigh];
        if (!decode_category(bin, m)) return;
      }
      const int magnitude = decode_magnitude_bits(bin[kToMagnitudeBits], m) + 1;
      coefficient(block, k) = static_cast<std::int16_t>(
          static_cast<std::uint32_t>(sign != 0 ? -magnitude : magnitude) << low_bit);
    }
  }

  /// Figure G.10. An end of block is coded only beyond the last coefficient of the scan before
  /// (EOBx).
  void refine_ac(Block& block, std::size_t i) {
    const int bit = 1 << scan_.approx_low;
    AcStatistics& bins = ac_statistics_[scan_.ac_slot[i]];
    int previous_end = scan_.spectral_end;
    while (previous_end > 0 && coefficient(block, previous_end) == 0) --previous_end;
    for (int k = scan_.spectral_start; k <= scan_.spectral_end; ++k) {
      QmBin* bin = &bins[3 * static_cast<std::size_t>(k - 1)];
      if (k > previous_end && decoder_.decode(bin[0]) != 0) return;
      while (coefficient(block, k) == 0 && decoder_.decode(bin[1]) == 0) {
        bin += 3;
        if (++k > scan_.spectral_end) {
          fail_segment();
          return;
        }
      }
      std::int16_t& value = coefficient(block, k);
      if (value == 0) {
        value = static_cast<std::int16_t>(decoder_.decode_even() != 0 ? -bit : bit);
      } else if (decoder_.decode(bin[2]) != 0) {
        value = static_cast<std::int16_t>(value < 0 ? value - bit : value + bit);
      }
    }
  }

  const jpeg::Scan& scan_;
  ScanKind kind_;
  QmDecoder decoder_;
  std::array<DcStatistics, kSlots> dc_statistics_{};
  std::array<AcStatistics, kSlots> ac_statistics_{};
  std::array<std::uint32_t, jpeg::kMaxComponents> predictors_{};
  std::array<int, jpeg::kMaxComponents> dc_context_{};
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<ScanDecoder> make_arithmetic_decoder(const jpeg::JpegFile& file,
                                                     const jpeg::Scan& scan,
                                                     EntropySource& source) {
  return std::make_unique<ArithmeticDecoder>(file, scan, source);
}

}  // namespace framewire::codec::reference
