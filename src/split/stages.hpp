// What each party of a split computes with: the CPU, or a GPU.
#pragma once

#include <codec/turbo/stages.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <split/picture.hpp>

namespace framewire::split {

/// The stages of a resize between planes in one place. Errors besides those that are named: busy,
/// device_lost; unsupported for a picture that this place leaves to the CPU, saying why.
class Stages {
 public:
  Stages() = default;
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;
  virtual ~Stages() = default;

  [[nodiscard]] virtual Place place() const noexcept = 0;
  /// Decodes a planned picture into Picture::decoded, which is laid out. Any number of threads.
  /// @return as Codec::decode()
  [[nodiscard]] virtual Result<void> decode(Picture& picture) = 0;
  /// Makes a stripe's rows. One thread at a time.
  /// @param in, out  laid out for the stripe's rows alone
  [[nodiscard]] virtual Result<void> resample(const plan::Plan& plan, const Stripe& stripe,
                                              const PlaneStack& in, const PlaneStack& out) = 0;
  /// Makes the output's planes of Picture::resampled and, for Form::kJpeg, encodes them. One thread
  /// at a time.
  [[nodiscard]] virtual Result<Output> finish(Picture& picture, Form form) = 0;
};

/// @param turbo  outlives the stages
[[nodiscard]] std::unique_ptr<Stages> make_host_stages(const codec::TurboStages& turbo);
/// @return unsupported without CUDA in this build or without that device; busy; device_lost
[[nodiscard]] Result<std::unique_ptr<Stages>> make_device_stages(int device);

}  // namespace framewire::split
