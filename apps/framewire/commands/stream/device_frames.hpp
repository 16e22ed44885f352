// Frames of planes that a GPU makes and keeps, to be sent from its memory.
#pragma once

#include <codec/coefficients.hpp>
#include <commands/stream/frame_memory.hpp>
#include <condition_variable>
#include <deque>
#include <engine/converter_cache.hpp>
#include <engine/device_stages.hpp>
#include <engine/request.hpp>
#include <framewire/frames.hpp>
#include <framewire/options.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace framewire::app {

/// Decodes JPEGs on a GPU, resizes them if asked to, and leaves the planes there, rows at multiples
/// of 16 bytes as DeviceEncoder takes them. Those that wait are taken together by one of a few
/// lanes, each with GPU memory of its own, which overlap: one at a time a GPU does a few per cent
/// of what it can.
class DeviceFrames {
 public:
  using Done = std::function<void(Result<frames::OutgoingFrame>)>;

  /// @param memory  of the same device
  /// @param resize  false: the files' own planes, at their own size
  /// @return unsupported without CUDA in this build or without that device; busy; device_lost
  [[nodiscard]] static Result<std::unique_ptr<DeviceFrames>> make(int device, FrameMemory& memory,
                                                                  bool resize);
  /// Waits for what has been added.
  ~DeviceFrames();
  DeviceFrames(const DeviceFrames&) = delete;
  DeviceFrames& operator=(const DeviceFrames&) = delete;

  /// Parses and plans on the calling thread; any number of them.
  /// @param options  stay until the answer
  /// @param done  called once, here or on a lane: what reading and resizing gives; unsupported for
  ///              planes that are neither gray nor YCbCr; busy, device_lost
  void add(std::vector<std::uint8_t> jpeg, const ResizeOptions& options, Done done);

 private:
  struct Job {
    std::vector<std::uint8_t> jpeg;
    engine::Request request;
    std::optional<codec::Coefficients> coefficients;  ///< read by the host
    std::uint64_t decoded_bytes = 0;
    Done done;
  };
  using Jobs = std::vector<std::unique_ptr<Job>>;

  DeviceFrames(FrameMemory& memory, bool resize) : memory_(memory), resize_(resize) {}
  [[nodiscard]] Result<void> prepare(Job& job, const ResizeOptions& options);
  [[nodiscard]] static Result<void> read_on_host(Job& job);
  void lane_main(engine::DeviceStages& stages);
  [[nodiscard]] Jobs next();
  [[nodiscard]] Jobs run(engine::DeviceStages& stages, Jobs jobs);
  [[nodiscard]] Result<void> decode(engine::DeviceStages& stages, const Jobs& jobs) const;
  [[nodiscard]] Result<frames::OutgoingFrame> lay_out(
      const Job& job, std::span<const DevicePlane> planes,
      std::vector<engine::DeviceStages::Copy>& copies);

  FrameMemory& memory_;
  const bool resize_;
  engine::ConverterCache converters_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::unique_ptr<Job>> queue_;
  bool ended_ = false;
  std::vector<engine::DeviceStages> stages_;  ///< one a lane
  std::vector<std::thread> lanes_;
};

}  // namespace framewire::app
