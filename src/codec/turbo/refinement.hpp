// Refinement of AC coefficients: the scans that take most of a progressive file's time.
//
// Source: ITU-T T.81 G.1.2.3 and figure G.7. How many correction bits follow a symbol depends on
// which coefficients of its block are non-zero already. With that history as a mask, the end of a
// run of r zeros is a select in the mask's complement, and the correction bits passed are read at
// once and deposited into the mask. Values change after the block's last symbol. Measured in
// docs/decisions/0032-a-lone-progressive-file-on-several-threads.md.
#pragma once

#include <codec/turbo/block_decoding.hpp>

namespace framewire::codec::turbo {

/// Reads one more bit of a band of AC coefficients, by whichever way below suits this CPU.
/// @return false on anything that a clean file does not have
[[nodiscard]] bool decode_ac_refinement(EntropyBits& stream, AcScan& scan, const AcRun& run);

/// The same on any CPU, by loops over a mask's bits.
[[nodiscard]] bool decode_ac_refinement_portable(EntropyBits& stream, AcScan& scan,
                                                 const AcRun& run);

#if defined(__x86_64__)
/// The same by the instruction PDEP. For CPUs of which has_fast_deposit() is true.
[[nodiscard]] bool decode_ac_refinement_bmi2(EntropyBits& stream, AcScan& scan, const AcRun& run);

/// Whether this CPU has PDEP, and not as the microcode of AMD's Zen 1 and 2, which takes up to 300
/// cycles.
[[nodiscard]] bool has_fast_deposit();
#endif

}  // namespace framewire::codec::turbo
