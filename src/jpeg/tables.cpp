#include <fmt/format.h>
#include <algorithm>
#include <jpeg/markers.hpp>
#include <jpeg/tables.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::jpeg {
namespace {

tl::unexpected<Status> bad_segment(const MarkerView& segment, std::string found) {
  return fail(Status(StatusCode::kInvalidInput, std::move(found))
                  .at(segment.offset)
                  .about(std::string(marker_name(segment.code))));
}

std::size_t sum_of(ByteSpan counts) {
  std::size_t sum = 0;
  for (const auto count : counts) sum += count;
  return sum;
}

}  // namespace

Result<void> read_dqt(const MarkerView& segment, TableState& tables) {
  ByteSpan rest = segment.payload;
  while (!rest.empty()) {
    const bool wide = rest[0] >> 4 != 0;
    const std::size_t slot = rest[0] & 15u;
    if (slot >= kTableSlots) {
      return bad_segment(segment, fmt::format("quantisation table slot {}; 0 to 3 exist", slot));
    }
    const std::size_t need = 1 + kBlockSize * (wide ? 2u : 1u);
    if (rest.size() < need) {
      return bad_segment(segment, fmt::format("a quantisation table needs {} bytes; {} are left",
                                              need, rest.size()));
    }
    auto& entry = tables.quant[slot] = {.defined = true, .offset = segment.offset, .table = {}};
    entry.table.sixteen_bit = wide;
    for (std::size_t k = 0; k < kBlockSize; ++k) {
      entry.table.values[kNaturalOrder[k]] = wide ? read_u16(rest, 1 + 2 * k) : rest[1 + k];
    }
    rest = rest.subspan(need);
  }
  return {};
}

Result<void> read_dht(const MarkerView& segment, TableState& tables) {
  ByteSpan rest = segment.payload;
  while (!rest.empty()) {
    if (rest.size() < 17) {
      return bad_segment(
          segment,
          fmt::format("a Huffman table needs at least 17 bytes; {} are left", rest.size()));
    }
    const std::size_t slot = rest[0] & 15u;
    if (rest[0] >> 4 > 1 || slot >= kTableSlots) {
      return bad_segment(segment, fmt::format("Huffman table class {} slot {}; classes 0 and 1, "
                                              "slots 0 to 3 exist",
                                              rest[0] >> 4, slot));
    }
    const std::size_t count = sum_of(rest.subspan(1, 16));
    if (count > 256 || count > rest.size() - 17) {
      return bad_segment(segment,
                         fmt::format("a Huffman table of {} codes; at most 256 may exist, and {} "
                                     "bytes are left",
                                     count, rest.size() - 17));
    }
    auto& slots = rest[0] >> 4 == 0 ? tables.dc : tables.ac;
    auto& entry = slots[slot] = {.defined = true, .offset = segment.offset, .table = {}};
    std::copy_n(rest.begin() + 1, 16, entry.table.counts.begin());
    std::copy_n(rest.begin() + 17, count, entry.table.values.begin());
    entry.table.value_count = static_cast<int>(count);
    rest = rest.subspan(17 + count);
  }
  return {};
}

Result<void> read_dac(const MarkerView& segment, TableState& tables) {
  if (segment.payload.size() % 2 != 0) {
    return bad_segment(segment,
                       fmt::format("{} bytes of arithmetic conditioning; pairs belong here",
                                   segment.payload.size()));
  }
  for (std::size_t i = 0; i < segment.payload.size(); i += 2) {
    const std::size_t slot = segment.payload[i] & 15u;
    const bool ac = segment.payload[i] >> 4 == 1;
    const std::uint8_t value = segment.payload[i + 1];
    if (segment.payload[i] >> 4 > 1) {
      return bad_segment(segment, fmt::format("arithmetic conditioning of class {}; 0 and 1 exist",
                                              segment.payload[i] >> 4));
    }
    if (slot >= kTableSlots) continue;  // libjpeg takes them; no scan accepted here can use them
    if (ac) {
      tables.conditioning.ac_kx[slot] = value;
      continue;
    }
    if ((value & 15) > value >> 4) {
      return bad_segment(segment, fmt::format("arithmetic conditioning L = {} above U = {}",
                                              value & 15, value >> 4));
    }
    tables.conditioning.dc_lower[slot] = value & 15;
    tables.conditioning.dc_upper[slot] = static_cast<std::uint8_t>(value >> 4);
  }
  return {};
}

Result<void> read_dri(const MarkerView& segment, TableState& tables) {
  if (segment.payload.size() != 2) {
    return bad_segment(segment, fmt::format("a restart interval of {} bytes; 2 belong here",
                                            segment.payload.size()));
  }
  tables.restart_interval_mcus = read_u16(segment.payload, 0);
  return {};
}

}  // namespace framewire::jpeg
