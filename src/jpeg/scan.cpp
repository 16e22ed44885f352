#include <fmt/format.h>
#include <algorithm>
#include <jpeg/scan.hpp>
#include <jpeg/warnings.hpp>

namespace framewire::jpeg {
namespace {

constexpr int kMaxBlocksInMcu = 10;          // T.81 B.2.3
constexpr int kMaxPointTransform = 13;       // T.81 table B.3
constexpr std::uint8_t kMaxDcCategory = 15;  // as libjpeg; T.81 table F.1 has 11 for 8 bits

tl::unexpected<Status> bad_scan(std::size_t offset, std::string found) {
  return fail(Status(StatusCode::kInvalidInput, std::move(found)).at(offset).about("SOS"));
}

/// The component meant by the scan's `position`-th id; −1: none. Searched for as libjpeg does: from
/// that position on, which tells apart components of equal id, and each at most once.
int find_component(const FrameHeader& frame, std::uint8_t id, const Scan& scan, int position) {
  for (int i = position; i < frame.component_count; ++i) {
    if (frame.components[static_cast<std::size_t>(i)].id != id) continue;
    const auto used = scan.component.begin() + position;
    return std::find(scan.component.begin(), used, i) == used ? i : -1;
  }
  return -1;
}

Result<Scan> read_fields(const MarkerView& segment, const FrameHeader& frame) {
  const ByteSpan fields = segment.payload;
  const std::size_t count = fields.empty() ? 0 : fields[0];
  if (count < 1 || count > kMaxComponents || fields.size() != 4 + 2 * count) {
    return bad_scan(segment.offset, fmt::format("{} components in {} bytes; 1 to 4 components take "
                                                "4 bytes and 2 each",
                                                count, fields.size()));
  }
  Scan scan;
  scan.offset = segment.offset;
  scan.component_count = static_cast<int>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t id = fields[1 + 2 * i];
    const int component = find_component(frame, id, scan, static_cast<int>(i));
    if (component < 0) {
      return bad_scan(segment.offset,
                      fmt::format("component id {}, unknown or out of the frame's order", id));
    }
    scan.component[i] = static_cast<std::uint8_t>(component);
    scan.dc_slot[i] = static_cast<std::uint8_t>(fields[2 + 2 * i] >> 4);
    scan.ac_slot[i] = fields[2 + 2 * i] & 15;
  }
  const ByteSpan parameters = fields.subspan(1 + 2 * count);
  scan.spectral_start = parameters[0];
  scan.spectral_end = parameters[1];
  scan.approx_high = static_cast<std::uint8_t>(parameters[2] >> 4);
  scan.approx_low = parameters[2] & 15;
  return scan;
}

Result<void> check_mcu(const Scan& scan, const FrameHeader& frame) {
  if (scan.component_count == 1) return {};
  int blocks = 0;
  for (int i = 0; i < scan.component_count; ++i) {
    const auto& component = frame.components[scan.component[static_cast<std::size_t>(i)]];
    blocks += component.h * component.v;
  }
  if (blocks > kMaxBlocksInMcu) {
    return bad_scan(scan.offset, fmt::format("{} blocks in an MCU; up to {} may be interleaved",
                                             blocks, kMaxBlocksInMcu));
  }
  return {};
}

Result<void> latch_quantisers(const Scan& scan, TableState& tables, JpegFile& file) {
  for (int i = 0; i < scan.component_count; ++i) {
    const std::size_t component = scan.component[static_cast<std::size_t>(i)];
    if (file.component_quant[component] >= 0) continue;
    auto& slot = tables.quant[file.frame.components[component].quant_index];
    if (!slot.defined) {
      return bad_scan(scan.offset,
                      fmt::format("component {} needs quantisation table {}, which no DQT defined",
                                  component, file.frame.components[component].quant_index));
    }
    if (slot.index < 0) {
      slot.index = static_cast<int>(file.quant_tables.size());
      file.quant_tables.push_back(slot.table);
    }
    file.component_quant[component] = slot.index;
  }
  return {};
}

/// Index of the table in one slot, checked and moved into `file` at its first use; −1 where motion
/// JPEG's standard table stands in, which libjpeg does for slots 0 and 1 of sequential frames.
Result<int> use_huffman(const Scan& scan, std::array<TableSlot<HuffmanTable>, kTableSlots>& slots,
                        int number, TableClass table_class, JpegFile& file) {
  const char* class_name = table_class == TableClass::kDc ? "DC" : "AC";
  const bool standard_allowed = number <= 1 && file.frame.process != Process::kProgressive;
  if (number >= static_cast<int>(kTableSlots) ||
      (!slots[static_cast<std::size_t>(number)].defined && !standard_allowed)) {
    return bad_scan(scan.offset, fmt::format("{} Huffman table {} is used, which no DHT defined",
                                             class_name, number));
  }
  auto& slot = slots[static_cast<std::size_t>(number)];
  if (!slot.defined || slot.index >= 0) return slot.index;
  const auto values =
      ByteSpan(slot.table.values).first(static_cast<std::size_t>(slot.table.value_count));
  const bool dc_values_fit =
      std::all_of(values.begin(), values.end(), [](std::uint8_t v) { return v <= kMaxDcCategory; });
  if (!is_valid(slot.table) || (table_class == TableClass::kDc && !dc_values_fit)) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("{} Huffman table {} is no code: {}", class_name, number,
                                   is_valid(slot.table) ? "a DC category above 15"
                                                        : "more codes than their lengths allow"))
                    .at(slot.offset)
                    .about("DHT"));
  }
  slot.index = static_cast<int>(file.huffman_tables.size());
  file.huffman_tables.push_back(slot.table);
  return slot.index;
}

Result<void> assign_entropy_tables(Scan& scan, TableState& tables, JpegFile& file) {
  const bool progressive = file.frame.process == Process::kProgressive;
  const bool needs_dc = !progressive || (scan.spectral_start == 0 && scan.approx_high == 0);
  const bool needs_ac = !progressive || scan.spectral_start != 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
    if (file.frame.arithmetic) {
      const int highest = std::max(needs_dc ? scan.dc_slot[i] : 0, needs_ac ? scan.ac_slot[i] : 0);
      if (highest < static_cast<int>(kTableSlots)) continue;
      return bad_scan(scan.offset, fmt::format("arithmetic coding slot {}; 0 to 3 exist", highest));
    }
    if (needs_dc) {
      auto index = use_huffman(scan, tables.dc, scan.dc_slot[i], TableClass::kDc, file);
      if (!index) return fail(index.error());
      scan.dc_table[i] = *index;
    }
    if (needs_ac) {
      auto index = use_huffman(scan, tables.ac, scan.ac_slot[i], TableClass::kAc, file);
      if (!index) return fail(index.error());
      scan.ac_table[i] = *index;
    }
  }
  return {};
}

Result<void> check_progression(const Scan& scan) {
  const bool dc = scan.spectral_start == 0;
  const bool band_ok = dc ? scan.spectral_end == 0
                          : scan.spectral_start <= scan.spectral_end &&
                                scan.spectral_end < kBlockSize && scan.component_count == 1;
  const bool bits_ok = (scan.approx_high == 0 || scan.approx_low == scan.approx_high - 1) &&
                       scan.approx_low <= kMaxPointTransform;
  if (band_ok && bits_ok) return {};
  return bad_scan(scan.offset,
                  fmt::format("progressive parameters Ss={} Se={} Ah={} Al={} with {} components",
                              scan.spectral_start, scan.spectral_end, scan.approx_high,
                              scan.approx_low, scan.component_count));
}

/// Notes what this scan sends; warns where the order of scans makes no sense.
void track_progress(const Scan& scan, ScanProgress& progress, JpegFile& file) {
  bool in_order = true;
  for (int i = 0; i < scan.component_count; ++i) {
    auto& low_bit = progress.low_bit[scan.component[static_cast<std::size_t>(i)]];
    if (scan.spectral_start != 0 && low_bit[0] < 0) in_order = false;
    for (std::size_t k = scan.spectral_start; k <= scan.spectral_end; ++k) {
      if (scan.approx_high != std::max<int>(low_bit[k], 0)) in_order = false;
      low_bit[k] = static_cast<std::int8_t>(scan.approx_low);
    }
  }
  if (!in_order) {
    warn(file, WarningKind::kCorruptData,
         fmt::format("progressive scan out of order: Ss={} Se={} Ah={} Al={}", scan.spectral_start,
                     scan.spectral_end, scan.approx_high, scan.approx_low),
         scan.offset);
  }
}

void warn_if_not_sequential(const Scan& scan, JpegFile& file) {
  if (scan.spectral_start == 0 && scan.spectral_end == 63 && scan.approx_high == 0 &&
      scan.approx_low == 0) {
    return;
  }
  warn(file, WarningKind::kCorruptData,
       fmt::format("sequential scan with Ss={} Se={} Ah={} Al={}; 0 63 0 0 belong here",
                   scan.spectral_start, scan.spectral_end, scan.approx_high, scan.approx_low),
       scan.offset);
}

}  // namespace

Result<Scan> read_scan(const MarkerView& segment, TableState& tables, ScanProgress& progress,
                       JpegFile& file) {
  auto scan = read_fields(segment, file.frame);
  if (!scan) return scan;
  scan->conditioning = tables.conditioning;
  scan->restart_interval_mcus = tables.restart_interval_mcus;
  // What the other processes ask of tables is not checked, since no codec here decodes them.
  if (file.frame.process == Process::kLossless || file.frame.hierarchical) return scan;
  if (auto ok = check_mcu(*scan, file.frame); !ok) return fail(ok.error());
  if (auto ok = latch_quantisers(*scan, tables, file); !ok) return fail(ok.error());
  if (file.frame.process == Process::kProgressive) {
    if (auto ok = check_progression(*scan); !ok) return fail(ok.error());
    track_progress(*scan, progress, file);
  } else {
    warn_if_not_sequential(*scan, file);
  }
  if (auto ok = assign_entropy_tables(*scan, tables, file); !ok) return fail(ok.error());
  return scan;
}

}  // namespace framewire::jpeg
