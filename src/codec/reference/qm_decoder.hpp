// The QM-coder's decoder.
//
// Source: ITU-T T.81 D.2; probability table D.3.
#pragma once

#include <codec/reference/entropy_source.hpp>
#include <cstdint>

namespace framewire::codec::reference {

/// One adaptive binary decision: its estimate's state and its more probable value.
struct QmBin {
  std::uint8_t state = 0;
  std::uint8_t more_probable = 0;
};

class QmDecoder {
 public:
  /// @param source  must outlive this
  explicit QmDecoder(EntropySource& source) : source_(source) {}

  /// Initdec, figure D.22: at the start of every segment.
  void start();
  /// Decode, figure D.18.
  int decode(QmBin& bin);
  /// A decision whose probability stays at ½ (T.81 F.1.4.4.1: Qe = 0x5A1D, MPS = 0).
  int decode_even();

 private:
  int decode_interval(std::uint32_t less_probable, bool& exchanged);
  void renormalise();

  EntropySource& source_;
  std::uint32_t code_ = 0;  ///< the register C: Cx above, C-low below
  std::uint32_t interval_ = 0;
  int bits_left_ = 0;
};

}  // namespace framewire::codec::reference
