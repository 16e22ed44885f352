#include <fmt/format.h>
#include <array>
#include <jpeg/icc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::size_t kHeaderBytes = kIccId.size() + 2;
constexpr std::size_t kMaxProfilePartBytes = 65533 - kHeaderBytes;

}  // namespace

IccAssembly assemble_icc(std::span<const Segment> segments) {
  IccAssembly assembly;
  std::array<const Segment*, 256> parts{};
  std::size_t total = 0;
  for (const auto& segment : segments) {
    if (segment.marker != marker::kApp2 || !starts_with(segment.payload, kIccId)) continue;
    if (!assembly.present) assembly.offset = segment.offset;
    assembly.present = true;
    if (segment.payload.size() < kHeaderBytes) {
      assembly.problem = "an ICC segment without its number";
      return assembly;
    }
    const std::size_t number = segment.payload[kIccId.size()];
    const std::size_t count = segment.payload[kIccId.size() + 1];
    if (total == 0) total = count;
    if (count != total || number == 0 || number > total) {
      assembly.problem = fmt::format("ICC segment {} of {} among {}", number, count, total);
      return assembly;
    }
    if (parts[number] != nullptr) {
      assembly.problem = fmt::format("ICC segment {} comes twice; the first is used", number);
      continue;
    }
    parts[number] = &segment;
  }
  for (std::size_t number = 1; number <= total; ++number) {
    if (parts[number] == nullptr) {
      assembly.problem = fmt::format("ICC segment {} of {} is missing", number, total);
      assembly.profile.clear();
      return assembly;
    }
    append_bytes(assembly.profile, parts[number]->payload.subspan(kHeaderBytes));
  }
  if (assembly.present && assembly.profile.empty()) assembly.problem = "an empty ICC profile";
  return assembly;
}

bool write_icc(Bytes& out, ByteSpan profile) {
  const std::size_t count = (profile.size() + kMaxProfilePartBytes - 1) / kMaxProfilePartBytes;
  if (count > 255) return false;
  for (std::size_t part = 0; part < count; ++part) {
    const ByteSpan rest = profile.subspan(part * kMaxProfilePartBytes);
    Bytes payload;
    append_text(payload, kIccId);
    payload.push_back(static_cast<std::uint8_t>(part + 1));
    payload.push_back(static_cast<std::uint8_t>(count));
    append_bytes(payload, rest.first(std::min(rest.size(), kMaxProfilePartBytes)));
    write_segment(out, marker::kApp2, payload);
  }
  return true;
}

}  // namespace framewire::jpeg
