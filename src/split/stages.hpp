// What each party of a split computes with: the CPU, or a GPU.
#pragma once

#include <codec/turbo/stages.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <split/picture.hpp>
#include <vector>

namespace framewire::split {

/// The stages of a resize between planes in one place, by the group. One thread at a time, but for
/// prepare(). Errors besides those that are named: busy, device_lost; unsupported for a picture
/// that this place leaves to the CPU, saying why.
class Stages {
 public:
  Stages() = default;
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;
  virtual ~Stages() = default;

  [[nodiscard]] virtual MemoryPlace place() const noexcept = 0;
  /// What is to be done for a planned picture before it joins a group. Any number of threads.
  [[nodiscard]] virtual Result<void> prepare(Picture& picture) = 0;
  /// Decodes a group's pictures and leaves in each parcel the rows that its stripes are made of.
  /// A picture that cannot be decoded gets its error, as Codec::decode()'s; its rows may be
  /// anything.
  /// @return what went wrong with the whole group
  [[nodiscard]] virtual Result<void> decode(Group& group) = 0;
  /// Makes the rows of one worker's stripes.
  /// @param in, out  of this place; laid out as the worker's parcel
  [[nodiscard]] virtual Result<void> resample(const Group& group, std::size_t worker,
                                              const PlaneStack& in, const PlaneStack& out) = 0;
  /// Makes the output's planes of the rows in a group's parcels and, for PictureForm::kJpeg,
  /// encodes them. @return one a picture, those that have an error get that; or what went wrong
  /// with the
  ///         whole group
  [[nodiscard]] virtual Result<std::vector<Result<SplitOutput>>> make_outputs(Group& group,
                                                                              PictureForm form) = 0;
  /// Frees what is kept from call to call.
  [[nodiscard]] virtual Result<void> let_go() = 0;
};

/// @param turbo  outlives the stages
[[nodiscard]] std::unique_ptr<Stages> make_host_stages(const codec::TurboStages& turbo);
/// @return unsupported without CUDA in this build or without that device; busy; device_lost
[[nodiscard]] Result<std::unique_ptr<Stages>> make_device_stages(int device);

}  // namespace framewire::split
