// What an Engine is inside: queues, lanes on devices, host threads, and the account of answers.
//
// A request waits in the device queue (or in the host queue where no device is meant to do it). A
// lane takes several, parses and plans them, and runs them as one batch; what it finds to be for
// the CPU moves to the host queue. Files whose entropy decoding a device cannot do, and those with
// a gain map, pass through a host thread first and come back. Nothing but submit() ever waits for
// room, so the queues cannot lock each other.
#pragma once

#include <array>
#include <atomic>
#include <engine/admission.hpp>
#include <engine/answers.hpp>
#include <engine/codec_router.hpp>
#include <engine/converter_cache.hpp>
#include <engine/device_lanes.hpp>
#include <engine/input_store.hpp>
#include <engine/queue_watch.hpp>
#include <engine/work_queue.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::engine {

class Dispatcher {
 public:
  /// @param devices  may be empty: everything is done on host threads
  /// @return busy where threads cannot be started; what a device's first lane fails with
  [[nodiscard]] static Result<std::unique_ptr<Dispatcher>> make(const EngineOptions& options,
                                                                std::vector<DeviceLanes> devices);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void submit(std::span<EngineRequest> requests);
  /// As Engine::try_submit().
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests,
                                       std::function<void()> on_room);
  void drain();
  /// Whether GPUs have so little to do that a caller may as well poll for the answer.
  [[nodiscard]] bool is_quiet() const noexcept;
  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] std::vector<EngineDevice> devices() const;
  /// Whose blocks' bytes a device copies from where they are.
  [[nodiscard]] const std::shared_ptr<InputStore>& inputs() const noexcept { return inputs_; }

 private:
  friend class Lane;
  struct Device {
    DeviceLanes lanes;
    std::atomic<bool> lost{false};
    std::atomic<std::uint64_t> device_bytes{0};
    std::atomic<std::uint64_t> pinned_bytes{0};
  };

  Dispatcher(const EngineOptions& options, std::vector<DeviceLanes> devices);
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> start_lanes();
  void lane_main(Device& device, std::promise<Result<void>>& ready);
  void host_main();

  [[nodiscard]] Result<void> parse_for_device(Work& work);
  /// The same from a copy of the head alone, for bytes that may change. @return false where that is
  /// not enough, or the devices' codec reads more than scans: for a host thread first
  [[nodiscard]] Result<bool> parse_head_for_device(Work& work);
  /// Plans for the devices' codec, resizes a gain map, writes the output's head.
  [[nodiscard]] Result<void> plan_for_device(Work& work);
  /// Sends a request through a host thread on its way to a device.
  void host_first(WorkPtr work);
  [[nodiscard]] Result<void> read_for_device(Work& work);
  static void settle(Work& work);
  /// Moves a request to the host threads, for good.
  void to_host(WorkPtr work, std::string reason);
  void run_on_host(WorkPtr work);
  [[nodiscard]] Result<Resized> resize_on_host(Work& work);
  /// A lane of a lost device ends; the last of all sees to what is still queued, and will be.
  void leave(bool busy);
  /// What becomes of a request when all devices are lost.
  void without_device(WorkPtr work);

  [[nodiscard]] WorkPtr make_work(EngineRequest& request);
  void admit(std::vector<WorkPtr> works);
  /// Answers what is cancelled or late in the queues. @return the earliest deadline there
  [[nodiscard]] QueueWatch::TimePoint sweep();
  void answer(WorkPtr work, Result<Resized> result);
  void add_stages(const std::vector<StageTotal>& stages);

  const EngineOptions options_;
  const bool on_callers_thread_;  ///< no threads and no queues: work is done as it is handed in
  Admission admission_;
  QueueWatch watch_;
  CodecRouter router_;
  ConverterCache converters_;
  WorkQueue device_queue_{watch_};
  WorkQueue host_queue_{watch_};
  std::vector<std::unique_ptr<Device>> devices_;
  std::shared_ptr<InputStore> inputs_;
  std::size_t lanes_ = 0;
  std::atomic<std::size_t> lost_lanes_{0};
  std::vector<std::thread> threads_;

  mutable std::mutex stages_mutex_;
  std::vector<StageTotal> stages_;

  std::atomic<std::uint64_t> gpu_images_{0};
  std::atomic<std::uint64_t> host_images_{0};
  std::atomic<std::uint64_t> fallbacks_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> batches_{0};
};

}  // namespace framewire::engine
