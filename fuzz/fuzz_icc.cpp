// ICC profiles: whatever the bytes, what is handed to LittleCMS is no larger than they and reduces
// to itself, and finding out what a profile is, a converter and its table take a bounded time. What
// is converted without LittleCMS comes out as with it.
#include <algorithm>
#include <array>
#include <color/converter.hpp>
#include <color/profile.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

using namespace framewire;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

constexpr std::size_t kPixels = 64;

/// LittleCMS treats a matrix apart that is the identity but for 1/65535.
bool is_identity(const color::ShaperTable& table) {
  for (int i = 0; i < 9; ++i) {
    if (std::abs(table.matrix[i] - (i % 4 == 0 ? 16384 : 0)) > 2) return false;
  }
  return true;
}

void check_simple(std::span<const std::uint8_t> reduced) {
  const auto simple = color::read_simple_profile(reduced);
  if (!simple || simple->table.kind != color::TableKind::kShaper) return;
  const color::ProfileConversion conversion({reduced.begin(), reduced.end()}, 3);
  if (conversion.use() == color::ProfileUse::kUnusable) return;  // by its class
  const auto& table = *reinterpret_cast<const color::ShaperTable*>(simple->table.bytes.data());
  if (is_identity(table)) return;
  const auto judge = color::make_transform(reduced, 3);
  require(judge != nullptr);
  std::array<std::uint8_t, 3 * kPixels> in{}, ours{}, theirs{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 37 + i / 3 * 4);
  color::shape_row(table, in.data(), ours.data(), kPixels);
  cmsDoTransform(judge.get(), in.data(), theirs.data(), kPixels);
  require(ours == theirs);
}

/// Bound with sanitizers on a busy machine; without, the costliest input takes 0.1 s.
constexpr double kMaxSeconds = 5;

void check_converter(const jpeg::JpegFile& file) {
  const bool gray = file.color_model == jpeg::ColorModel::kGray;
  const auto converter = color::Converter::make(
      file, gray ? plan::OutputModel::kGray : plan::OutputModel::kYcbcr, true);
  if (!converter) return;
  static_cast<void>(converter->table());
  std::array<std::array<std::uint8_t, kPixels>, 4> in{}, out{};
  for (std::size_t c = 0; c < in.size(); ++c) {
    for (std::size_t i = 0; i < kPixels; ++i) in[c][i] = static_cast<std::uint8_t>(i * (c + 3));
  }
  std::vector<const std::uint8_t*> from;
  std::vector<std::uint8_t*> to;
  for (int c = 0; c < converter->input_components(); ++c) {
    from.push_back(in[static_cast<std::size_t>(c)].data());
  }
  for (int c = 0; c < converter->output_components(); ++c) {
    to.push_back(out[static_cast<std::size_t>(c)].data());
  }
  converter->convert_row(from, to, kPixels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::clock_t start = std::clock();
  const auto reduced = color::reduce_profile({data, size});
  if (reduced) {
    require(reduced->size() <= size + 36);  // alignment of nine tags
    const auto again = color::reduce_profile(*reduced);
    require(again.has_value() && *again == *reduced);
    check_simple(*reduced);
  }
  jpeg::JpegFile file;
  file.icc.assign(data, data + size);
  for (const auto model :
       {jpeg::ColorModel::kGray, jpeg::ColorModel::kYcbcr, jpeg::ColorModel::kCmyk}) {
    file.color_model = model;
    if (color::classify_profile(file) == color::ProfileUse::kConvertible) check_converter(file);
  }
  require(static_cast<double>(std::clock() - start) < kMaxSeconds * CLOCKS_PER_SEC);
  return 0;
}
