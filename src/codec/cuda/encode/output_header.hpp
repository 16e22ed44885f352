// The segments of an output stream between its head and its entropy-coded bytes.
#pragma once

#include <cstdint>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::codec::cuda {

/// Appends DQT, SOF0, DHT, DRI and SOS for a baseline stream with the standard Huffman tables.
/// Under optimize_huffman without DHT: the device inserts the stream's own before DRI and SOS.
void append_output_header(const plan::EncodePlan& encode, std::vector<std::uint8_t>& out);

}  // namespace framewire::codec::cuda
