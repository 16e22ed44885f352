// Batch items made from pictures that the tests draw themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <codec/cuda/encode/output_header.hpp>
#include <codec/cuda/item.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <tests/support/sample_jpeg.hpp>

namespace framewire::gpu_tests {

using Bytes = std::vector<std::uint8_t>;

/// A picture with detail in every component, which differs from one seed to the next.
inline Bytes draw(const sample::Spec& spec, int seed = 0) {
  return sample::make(spec, [seed](int c, double x, double y) {
    return 128 + 60 * std::sin((x + seed * 7) * 0.11 + c) * std::cos(y * 0.07 + c * 2 + seed) +
           30 * std::sin(x * 1.3 + y * 0.9 + seed);
  });
}

/// Exactly that size, whatever the picture's shape.
inline ResizeOptions resize_to(std::int32_t width_px, std::int32_t height_px) {
  ResizeOptions options;
  options.width_px = width_px;
  options.height_px = height_px;
  options.resize = ResizeMode::kForce;
  return options;
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return std::move(*result);
}

/// One item with everything that it points to. Not to be moved once made.
class OwnedItem {
 public:
  OwnedItem(Bytes bytes, const ResizeOptions& options)
      : bytes_(std::move(bytes)), file_(value_of(jpeg::parse(bytes_, Limits{}))) {
    plan_ = value_of(plan::make_plan(file_, options, {}, false));
    jpeg::write_marker(header_, 0xD8);
    codec::cuda::append_output_header(plan_.encode, header_);
    item.file = &file_;
    item.plan = &plan_;
    item.header = header_;
  }
  /// Decode only, every component at scale / 8.
  OwnedItem(Bytes bytes, int scale, jpeg::ParseDepth depth = jpeg::ParseDepth::kWhole)
      : bytes_(std::move(bytes)), file_(value_of(jpeg::parse(bytes_, Limits{}, depth))) {
    item.file = &file_;
    item.scales.fill(scale);
  }
  OwnedItem(const OwnedItem&) = delete;
  OwnedItem& operator=(const OwnedItem&) = delete;

  /// Lets the item bring its coefficients along.
  void use_coefficients() {
    codec::CodecOutcome outcome;
    coefficients_ = value_of(codec::read_coefficients(file_, {}, outcome));
    item.coefficients = &coefficients_;
  }

  /// Moves the file's bytes to pinned memory. @return one past their last
  std::uint8_t* pin(std::uint8_t* at) {
    std::uint8_t* end = std::copy(bytes_.begin(), bytes_.end(), at);
    std::fill(bytes_.begin(), bytes_.end(), std::uint8_t{0});
    file_.bytes = {at, end};
    item.pinned = true;
    return end;
  }

  codec::cuda::Item item;

 private:
  Bytes bytes_;
  jpeg::JpegFile file_;
  plan::Plan plan_;
  Bytes header_;
  codec::Coefficients coefficients_;
};

/// Specs of every sampling at sizes around block and MCU edges.
inline std::vector<sample::Spec> specs() {
  std::vector<sample::Spec> all;
  const std::pair<int, int> sizes[] = {{1, 1},   {7, 9},    {16, 16},  {17, 15},
                                       {64, 48}, {131, 97}, {640, 360}};
  const std::pair<int, int> samplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};
  for (const auto& [width, height] : sizes) {
    for (const auto& [h, v] : samplings) {
      sample::Spec spec;
      spec.width_px = width;
      spec.height_px = height;
      spec.h = h;
      spec.v = v;
      all.push_back(spec);
      spec.separate_scans = true;
      spec.restart_mcus = 3;
      all.push_back(spec);
    }
  }
  sample::Spec gray;
  gray.space = JCS_GRAYSCALE;
  gray.restart_mcus = 1;
  all.push_back(gray);
  return all;
}

}  // namespace framewire::gpu_tests
