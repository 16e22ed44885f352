// The inside of an Engine: queues, lanes on devices, host threads, and the account of answers.
//
// A request waits in the device queue (or in the host queue where no device is meant to do it). A
// lane takes several, parses and plans them, and runs them as one batch; what it finds to be for
// the CPU moves to the host queue. Files whose entropy decoding a device cannot do, and those with
// a gain map, pass through a host thread first and come back; where many progressive files wait for
// that, lanes of their own take them over. Those whose profile is converted by a table that nobody
// has made yet wait for one of a few threads that make such tables. Nothing but submit() ever waits
// for room, so the queues cannot lock each other. WorkState has the states of a request in this.
#pragma once

#include <array>
#include <atomic>
#include <engine/codec_router.hpp>
#include <engine/converter_cache.hpp>
#include <engine/device_lanes.hpp>
#include <engine/host_helpers.hpp>
#include <engine/input_store.hpp>
#include <engine/lane.hpp>
#include <engine/preparation.hpp>
#include <engine/warm_up.hpp>
#include <engine/work_flow.hpp>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <optional>
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

  /// When a thread that is answering requests itself, and whose callback submits more, answers
  /// those.
  enum class Nested : std::uint8_t {
    kLater,  ///< when the callback has returned
    kNow,    ///< before submit() returns: the callback may wait for them
  };

  /// As Engine::submit().
  void submit(std::span<EngineRequest> requests, Nested nested = Nested::kLater);
  /// As Engine::try_submit().
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests,
                                       std::function<void()> on_room);
  /// As Engine::drain().
  void drain();
  /// Whether GPUs have so little to do that a caller may as well poll for the answer.
  [[nodiscard]] bool is_quiet() const noexcept;
  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] std::vector<EngineDevice> devices() const;
  /// The store of inputs that devices copy from where they lie.
  [[nodiscard]] const std::shared_ptr<InputStore>& inputs() const noexcept { return inputs_; }

 private:
  Dispatcher(const EngineOptions& options, std::vector<DeviceLanes> devices);
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> start_lanes();
  /// Makes a lane's codec on the lane's thread, and warms it up where the options say so.
  [[nodiscard]] Result<std::unique_ptr<codec::BatchCodec>> make_codec(const DeviceLanes& lanes,
                                                                      LaneKind kind) const;
  void lane_main(LaneDevice& device, LaneKind kind, std::promise<Result<void>>& ready);
  void host_main();
  void conversion_main();

  [[nodiscard]] std::vector<KeptMemory> kept_memory(const EngineStats& stats) const;
  void prepare_for_device(WorkPtr work) noexcept;
  void run_on_host(WorkPtr work) noexcept;
  /// @return nothing where the request has to wait for its conversion
  [[nodiscard]] Result<std::optional<Resized>> resize_on_host(Work& work);
  /// Ends a lane of a lost device. The last of all lanes sees to requests that are queued, now and
  /// later.
  void lane_lost();
  /// Answers a request for a device, or moves it to the host, when all devices are lost.
  void without_device(WorkPtr work);

  /// New requests by who sees to them. Until admit() nobody answers them.
  struct Routes {
    WorkList devices;
    WorkList host;
    WorkList refused;  ///< Work::reason says why

    [[nodiscard]] std::size_t size() const noexcept {
      return devices.size() + host.size() + refused.size();
    }
  };
  /// @param request  unchanged where this throws
  /// @param entries  of completion queues; one is taken where the request has a queue, or made
  [[nodiscard]] WorkPtr make_work(EngineRequest& request, std::list<Completion>& entries);
  /// Adds one request to the routes. @param request, entries  as of make_work()
  void route(EngineRequest& request, std::list<Completion>& entries, Routes& routes);
  /// All of try_submit(), and of submit() of a small group, that can throw.
  [[nodiscard]] Routes route(std::span<EngineRequest> requests);
  void refuse(EngineRequest& request, std::list<Completion>& entries) noexcept;
  /// Waits for room, counts the requests and hands them on.
  void admit_when_room(Routes routes, Nested nested);
  /// Hands on requests that are counted by now. Cannot fail: from here on each is answered.
  void admit(Routes routes, Admission::Epoch epoch, Nested nested) noexcept;
  /// Answers new requests on the calling thread, or leaves them to its outermost call of this.
  void answer_here(WorkList works, Nested nested) noexcept;
  void answer_here(WorkPtr work) noexcept;

  const EngineOptions options_;
  const bool on_callers_thread_;  ///< no threads, no queues: submit() does the work
  WorkFlow flow_;
  HostHelpers helpers_;
  CodecRouter router_;
  ConverterCache converters_;
  std::vector<std::unique_ptr<LaneDevice>> devices_;
  std::optional<Preparation> preparation_;  ///< where there are devices
  std::shared_ptr<InputStore> inputs_;
  std::optional<WarmUpPicture> warm_up_;  ///< where lanes warm up before the first request
  std::size_t lanes_ = 0;  ///< of LaneKind::kAny; it is these that share the device queue
  std::size_t progressive_lanes_ = 0;
  std::atomic<std::size_t> lost_lanes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace framewire::engine
