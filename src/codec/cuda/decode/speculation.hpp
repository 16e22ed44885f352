// Speculation about a subsequence's start state: the steps that synchronise.cu and
// candidate_states.cu share.
#pragma once

#include <codec/cuda/decode/columns.hpp>

namespace framewire::codec::cuda {

/// Decodes one subsequence from a packed state.
inline __device__ SkipResult decode(const DecodeView& batch, const SharedTables& tables,
                                    PhasePattern pattern, std::uint32_t subsequence,
                                    std::uint32_t length, std::uint32_t packed) {
  return skip_span(words_of(batch, subsequence), tables, pattern, length, unpack(packed));
}

/// Estimates the state at the start of a subsequence by decoding the last bits of its predecessors
/// (EntropyLayout::warm_bits).
/// @param phase  block of the MCU with which these bits are assumed to begin
inline __device__ std::uint32_t speculate_entry(const DecodeView& batch, const SharedTables& tables,
                                                PhasePattern pattern, std::uint32_t subsequence,
                                                std::uint32_t phase) {
  std::uint32_t wanted = batch.layout.warm_bits;
  std::uint32_t from = subsequence;
  std::uint32_t start = 0;
  while (wanted != 0 && !is_first(batch, from)) {
    const std::uint32_t length = length_of(batch, --from);
    start = length > wanted ? length - wanted : 0;
    wanted -= length - start;
  }
  if (start == 0 && is_first(batch, from)) phase = 0;
  SkipResult result = skip_span(words_of(batch, from), tables, pattern, length_of(batch, from),
                                DecodeState{start, phase, 0});
  while (++from < subsequence) {
    result = decode(batch, tables, pattern, from, length_of(batch, from), result.state);
  }
  return result.state;
}

/// How many of a scan's subsequences begin before its end; with restart markers, all of its slots.
inline __device__ std::uint32_t active_subsequences(const DecodeView& batch, const ScanDesc& scan,
                                                    std::uint32_t index) {
  if (scan.has_restarts != 0) return scan.subsequence_slots;
  const std::uint32_t size = batch.layout.subsequence_bytes;
  const std::uint32_t end = min(batch.scan_end[index], scan.data_bytes);
  return min((end + size - 1) / size, scan.subsequence_slots);
}

}  // namespace framewire::codec::cuda
