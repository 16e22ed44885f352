#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::jpeg {
namespace {

/// Writes a marker and a length to fill in when the segment's scope ends.
class SegmentScope {
 public:
  SegmentScope(Bytes& out, std::uint8_t code) : out_(out) {
    write_marker(out, code);
    start_ = out.size();
    append_u16(out, 0);
  }
  SegmentScope(const SegmentScope&) = delete;
  SegmentScope& operator=(const SegmentScope&) = delete;
  ~SegmentScope() {
    const std::size_t length = out_.size() - start_;
    out_[start_] = static_cast<std::uint8_t>(length >> 8);
    out_[start_ + 1] = static_cast<std::uint8_t>(length);
  }

 private:
  Bytes& out_;
  std::size_t start_ = 0;
};

std::uint8_t nibbles(int high, int low) { return static_cast<std::uint8_t>(high << 4 | low); }

}  // namespace

void write_marker(Bytes& out, std::uint8_t code) {
  out.push_back(0xFF);
  out.push_back(code);
}

void write_segment(Bytes& out, std::uint8_t code, ByteSpan payload) {
  const SegmentScope segment(out, code);
  append_bytes(out, payload);
}

void write_dqt(Bytes& out, int slot, const QuantTable& table) {
  const bool wide = table.sixteen_bit || std::any_of(table.values.begin(), table.values.end(),
                                                     [](std::uint16_t v) { return v > 255; });
  const SegmentScope segment(out, marker::kDqt);
  out.push_back(nibbles(wide ? 1 : 0, slot));
  for (const auto position : kNaturalOrder) {
    const std::uint16_t value = table.values[position];
    if (wide) {
      append_u16(out, value);
    } else {
      out.push_back(static_cast<std::uint8_t>(value));
    }
  }
}

void write_sof(Bytes& out, const FrameSpec& frame) {
  const SegmentScope segment(out, frame.marker);
  out.push_back(frame.precision_bits);
  append_u16(out, static_cast<std::uint32_t>(frame.height_px));
  append_u16(out, static_cast<std::uint32_t>(frame.width_px));
  out.push_back(static_cast<std::uint8_t>(frame.component_count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    out.push_back(frame.id[i]);
    out.push_back(nibbles(frame.h[i], frame.v[i]));
    out.push_back(frame.quant_index[i]);
  }
}

void write_dht(Bytes& out, TableClass table_class, int slot, const HuffmanTable& table) {
  const SegmentScope segment(out, marker::kDht);
  out.push_back(nibbles(static_cast<int>(table_class), slot));
  append_bytes(out, table.counts);
  append_bytes(out, ByteSpan(table.values).first(static_cast<std::size_t>(table.value_count)));
}

void write_dri(Bytes& out, std::int32_t interval_mcus) {
  const SegmentScope segment(out, marker::kDri);
  append_u16(out, static_cast<std::uint32_t>(interval_mcus));
}

void write_sos(Bytes& out, const ScanSpec& scan) {
  const SegmentScope segment(out, marker::kSos);
  out.push_back(static_cast<std::uint8_t>(scan.component_count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
    out.push_back(scan.id[i]);
    out.push_back(nibbles(scan.dc_slot[i], scan.ac_slot[i]));
  }
  out.push_back(scan.spectral_start);
  out.push_back(scan.spectral_end);
  out.push_back(nibbles(scan.approx_high, scan.approx_low));
}

void write_eoi(Bytes& out) { write_marker(out, marker::kEoi); }

}  // namespace framewire::jpeg
