#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <tensor/tensor_options.hpp>
#include <tensor/tensor_writer.hpp>

namespace framewire::tensor {
namespace {

constexpr unsigned kMaxThreads = 1024;

tl::unexpected<Status> refuse(StatusCode code, const char* option, std::string message) {
  return fail(Status(code, std::move(message)).about(option));
}

Result<void> check_size(const TensorOptions& o) {
  if (o.width_px < 1 || o.height_px < 1) {
    return refuse(
        StatusCode::kInvalidInput, "size",
        fmt::format("found {}×{}; accepted: sides of 1 pixel or more", o.width_px, o.height_px));
  }
  if (std::max(o.width_px, o.height_px) > o.limits.max_output_side_px) {
    return refuse(
        StatusCode::kTooLarge, "size",
        fmt::format("found {}×{}; accepted: sides up to {}, which max_output_side_px sets",
                    o.width_px, o.height_px, o.limits.max_output_side_px));
  }
  const auto pixels =
      static_cast<std::uint64_t>(o.width_px) * static_cast<std::uint64_t>(o.height_px);
  // An image's bytes are counted in 64 bits: three channels of four bytes, at most.
  const std::uint64_t most = std::min(o.limits.max_output_pixels, UINT64_MAX / 12);
  if (pixels > most) {
    return refuse(
        StatusCode::kTooLarge, "size",
        fmt::format("found {}×{}; accepted: up to {} pixels, which max_output_pixels sets",
                    o.width_px, o.height_px, most));
  }
  return {};
}

Result<void> check_kernel(const TensorOptions& o) {
  constexpr Kernel kKernels[] = {Kernel::kBilinear, Kernel::kBicubic, Kernel::kLanczos3,
                                 Kernel::kArea};
  if (std::find(std::begin(kKernels), std::end(kKernels), o.kernel) == std::end(kKernels)) {
    return refuse(StatusCode::kInvalidInput, "kernel",
                  "found nearest, or no kernel; accepted: bilinear, bicubic, lanczos3 and area");
  }
  if (!o.antialias && o.kernel != Kernel::kBilinear && o.kernel != Kernel::kBicubic) {
    return refuse(StatusCode::kInvalidInput, "antialias",
                  "lanczos3 and area always antialias; accepted without: bilinear and bicubic");
  }
  return {};
}

Result<void> check_normalisation(const TensorOptions& o) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(channel_count(o.color)); ++c) {
    if (!std::isfinite(o.mean[c])) {
      return refuse(StatusCode::kInvalidInput, "mean",
                    fmt::format("found {}; accepted: finite numbers", o.mean[c]));
    }
    if (!std::isfinite(o.stddev[c]) || o.stddev[c] == 0) {
      return refuse(StatusCode::kInvalidInput, "stddev",
                    fmt::format("found {}; accepted: finite numbers other than 0", o.stddev[c]));
    }
    if (o.type == TensorType::kUint8 && (o.mean[c] != 0 || o.stddev[c] != 1)) {
      return refuse(StatusCode::kInvalidInput, "type",
                    "uint8 cannot hold normalised values; accepted with it: mean 0 and stddev 1");
    }
  }
  return {};
}

template <typename Enum>
bool is_one_of(Enum value, Enum last) {
  return static_cast<unsigned>(value) <= static_cast<unsigned>(last);
}

}  // namespace

Result<void> check_options(const TensorOptions& o) {
  if (o.device < -1) {
    return refuse(StatusCode::kInvalidInput, "device",
                  fmt::format("found {}; accepted: -1, the CPU, or a CUDA ordinal", o.device));
  }
  if (!is_one_of(o.type, TensorType::kFloat32) || !is_one_of(o.layout, TensorLayout::kNhwc) ||
      !is_one_of(o.color, TensorColor::kYcbcr) || !is_one_of(o.fidelity, TensorFidelity::kFast)) {
    return refuse(StatusCode::kInvalidInput, "type",
                  "type, layout, color or fidelity is none of its enumeration's values");
  }
  if (o.threads > kMaxThreads) {
    return refuse(StatusCode::kInvalidInput, "threads",
                  fmt::format("found {}; accepted: 0 to {}", o.threads, kMaxThreads));
  }
  if (auto good = check_size(o); !good) return good;
  if (auto good = check_kernel(o); !good) return good;
  return check_normalisation(o);
}

}  // namespace framewire::tensor
