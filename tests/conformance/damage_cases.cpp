#include <algorithm>
#include <functional>
#include <jpeg/markers.hpp>
#include <random>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/damage_cases.hpp>
#include <tests/conformance/libjpeg.hpp>

namespace framewire::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct SoundFile {
  std::string name;
  Bytes bytes;
  std::vector<jpeg::Scan> scans;
  bool has_restarts = false;
};

std::vector<SoundFile> sound_files() {
  std::vector<SoundFile> files;
  const auto add = [&](const char* of_layout, const char* of_coding, int restart, int width,
                       int height) {
    const Case c{layout(of_layout), coding(of_coding), width, height, 90, restart, 1};
    Bytes bytes = make_jpeg(c);
    auto scans = parse_or_die(bytes).scans;
    files.push_back({c.name(), std::move(bytes), std::move(scans), restart != 0});
  };
  for (const char* of_coding : {"baseline", "optimized", "separate_scans", "progressive"}) {
    for (const int restart : {0, 3}) add("420", of_coding, restart, 131, 77);
  }
  add("gray", "baseline", 0, 61, 40);
  add("444", "separate_scans", 2, 61, 40);
  add("gray", "progressive", 5, 61, 40);
  add("422", "progressive", 0, 500, 400);  // large enough for several threads
  return files;
}

std::size_t end_of(const jpeg::Scan& scan) { return scan.entropy_offset + scan.entropy_bytes; }

void insert(Bytes& into, std::size_t at, const Bytes& inserted) {
  into.insert(into.begin() + static_cast<std::ptrdiff_t>(at), inserted.begin(), inserted.end());
}

/// Whether to insert before a pair of bytes FF and `code`.
using IsWanted = std::function<bool(std::uint8_t code)>;

/// Inserts before every such pair of bytes in the data of scans.
Bytes insert_before(const SoundFile& file, const IsWanted& wanted, const Bytes& inserted) {
  Bytes bytes = file.bytes;
  for (auto scan = file.scans.rbegin(); scan != file.scans.rend(); ++scan) {
    for (std::size_t at = end_of(*scan) - 1; at-- > scan->entropy_offset;) {
      if (bytes[at] == 0xFF && wanted(bytes[at + 1])) insert(bytes, at, inserted);
    }
  }
  return bytes;
}

Bytes insert_behind_scans(const SoundFile& file, const Bytes& inserted) {
  Bytes bytes = file.bytes;
  for (auto scan = file.scans.rbegin(); scan != file.scans.rend(); ++scan) {
    insert(bytes, end_of(*scan), inserted);
  }
  return bytes;
}

/// Clears the bits that fill the last byte of the file's data.
/// @return nothing where no bits do
std::optional<Bytes> with_zero_bits(const SoundFile& file) {
  const auto same = [&](const Bytes& bytes) {
    const auto before = libjpeg_coefficients(file.bytes);
    const auto now = libjpeg_coefficients(bytes);
    return std::equal(now->components.begin(), now->components.end(), before->components.begin(),
                      [](const auto& a, const auto& b) { return a.blocks == b.blocks; });
  };
  const std::size_t last = end_of(file.scans.back()) - 1;
  for (unsigned bits = 7; bits > 0; --bits) {
    Bytes bytes = file.bytes;
    bytes[last] = static_cast<std::uint8_t>(bytes[last] >> bits << bits);
    if (bytes[last] != 0xFF && same(bytes)) return bytes;
  }
  return std::nullopt;
}

void add_legal(const SoundFile& file, std::vector<DamageCase>& cases) {
  const auto add = [&](const char* name, Bytes bytes) {
    cases.push_back({file.name + ": " + name, std::move(bytes), std::nullopt});
  };
  add("whole", file.bytes);
  for (const std::size_t count : {1u, 2u, 9u}) {
    add("fill behind scans", insert_behind_scans(file, Bytes(count, 0xFF)));
    if (file.has_restarts) {
      add("fill before restart markers", insert_before(file, jpeg::is_restart, Bytes(count, 0xFF)));
    }
  }
  for (const Bytes& padding : {Bytes{0xFF, 0x00}, Bytes(1), Bytes(7), Bytes{0xFF, 0, 0xFF, 0}}) {
    add("whole bytes of padding behind scans", insert_behind_scans(file, padding));
    if (file.has_restarts) {
      add("whole bytes of padding before restart markers",
          insert_before(file, jpeg::is_restart, padding));
    }
  }
  add("a restart marker behind scans", insert_behind_scans(file, {0xFF, 0xD2}));
  if (auto bytes = with_zero_bits(file)) add("zero bits of padding", std::move(*bytes));
}

void add_leftover(const SoundFile& file, std::vector<DamageCase>& cases) {
  const auto add = [&](const char* name, const Bytes& inserted) {
    // Behind the first scan alone, then behind all.
    SoundFile first = file;
    first.scans.resize(1);
    for (const SoundFile& from : {first, file}) {
      cases.push_back({file.name + ": " + name, insert_behind_scans(from, inserted),
                       WarningKind::kExtraneousBytes});
    }
  };
  add("a byte of data left over", {0x12});
  add("data left over", Bytes(300, 0x5A));
  add("more zeros than padding has", Bytes(8));
  add("data behind a last restart marker", {0xFF, 0xD2, 0x55});
  add("data behind fill", {0xFF, 0xFF, 0x00, 0x55});
}

void add_damaged(const SoundFile& file, std::vector<DamageCase>& cases) {
  const auto add = [&](const char* name, Bytes bytes, WarningKind expected) {
    cases.push_back({file.name + ": " + name, std::move(bytes), expected});
  };
  const jpeg::Scan& first = file.scans.front();
  const jpeg::Scan& last = file.scans.back();
  for (std::size_t i = 1; i < 8; ++i) {
    Bytes bytes = file.bytes;
    std::size_t at = first.entropy_offset + first.entropy_bytes / 8 * i;
    while (bytes[at] == 0xFF || bytes[at - 1] == 0xFF) --at;
    insert(bytes, at, {0x7F, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0});
    add("a code that no table has", std::move(bytes), WarningKind::kCorruptData);
  }
  // Fill bytes belong before markers. libjpeg lets these pass, but may leave wrong coefficients.
  Bytes fill = insert_before(file, [](std::uint8_t code) { return code == 0; }, {0xFF});
  if (fill != file.bytes) add("fill before stuffing", std::move(fill), WarningKind::kCorruptData);
  Bytes cut = file.bytes;
  cut.resize(last.entropy_offset + last.entropy_bytes / 2);
  if (cut.back() == 0xFF) cut.pop_back();
  Bytes closed = cut;
  closed.insert(closed.end(), {0xFF, jpeg::marker::kEoi});
  add("cut", std::move(cut), WarningKind::kTruncated);
  add("cut, with an EOI", std::move(closed), WarningKind::kCorruptData);
  if (!file.has_restarts) return;
  std::size_t at = first.entropy_offset;
  while (file.bytes[at] != 0xFF || file.bytes[at + 1] != jpeg::marker::kRst0 + 1) ++at;
  Bytes bytes = file.bytes;
  bytes[at + 1] = jpeg::marker::kRst0 + 5;
  add("restart markers out of order", bytes, WarningKind::kCorruptData);
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
              bytes.begin() + static_cast<std::ptrdiff_t>(at) + 2);
  add("a restart marker missing", std::move(bytes), WarningKind::kCorruptData);
}

}  // namespace

std::vector<DamageCase> all_damage_cases() {
  std::vector<DamageCase> cases;
  for (const SoundFile& file : sound_files()) {
    add_legal(file, cases);
    add_leftover(file, cases);
    add_damaged(file, cases);
  }
  return cases;
}

std::vector<DamageCase> flipped_bits(int per_file) {
  std::mt19937 random(5);
  std::vector<DamageCase> cases;
  for (const SoundFile& file : sound_files()) {
    for (int i = 0; i < per_file; ++i) {
      const jpeg::Scan& scan = file.scans[random() % file.scans.size()];
      const std::size_t at = scan.entropy_offset + random() % scan.entropy_bytes;
      Bytes bytes = file.bytes;
      bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
      cases.push_back({file.name + ": a bit of byte " + std::to_string(at), std::move(bytes), {}});
    }
  }
  return cases;
}

}  // namespace framewire::conformance
