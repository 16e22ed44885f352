// Filter weights of one axis of a crop, laid out for the vector passes.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <transform/axis_taps.hpp>
#include <vector>

namespace framewire::tensor {

/// Weights of every output sample. Made anew for each crop; keeps its memory.
class FloatFilter {
 public:
  /// Runs of weights, and the arrays themselves, are padded with zeros to a multiple of this.
  static constexpr std::int32_t kGroup = 4;

  /// Weights as transform::for_each_crop_tap() gives them.
  /// @param geometry  in_size, out_size ≥ 1; step > 0; every output sample's centre lies inside
  void make(Kernel kernel, const transform::AxisGeometry& geometry, bool antialias);

  [[nodiscard]] std::int32_t in_size() const noexcept { return in_size_; }
  [[nodiscard]] std::int32_t out_size() const noexcept { return out_size_; }
  /// Weights an output sample, with padding.
  [[nodiscard]] std::int32_t stride() const noexcept { return stride_; }
  /// The longest run without padding.
  [[nodiscard]] std::int32_t longest() const noexcept { return longest_; }
  /// [out_size, padded] first input sample; never falls.
  [[nodiscard]] const std::int32_t* first() const noexcept { return first_.data(); }
  /// Input samples of output sample `j`, at least 1.
  [[nodiscard]] std::int32_t count(std::int32_t j) const {
    return count_[static_cast<std::size_t>(j)];
  }
  /// [out_size, padded][stride]
  [[nodiscard]] const float* weights(std::int32_t j = 0) const {
    return weights_.data() + static_cast<std::size_t>(j) * static_cast<std::size_t>(stride_);
  }

 private:
  std::int32_t in_size_ = 0;
  std::int32_t out_size_ = 0;
  std::int32_t stride_ = 0;
  std::int32_t longest_ = 0;
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> count_;
  std::vector<float> weights_;
};

}  // namespace framewire::tensor
