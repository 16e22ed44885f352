// Many JPEGs at once, from any thread: batched on GPUs where there are any, on host threads if not.
#pragma once

#include <atomic>
#include <cstdint>
#include <framewire/completion_queue.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/output_sink.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// What an engine is made of; chosen once, when it is made.
struct EngineOptions {
  /// kAuto: the GPUs, if this build and this machine have any, and host threads for what they do
  /// not take. kCuda, kNvjpeg: the same, but having no GPU is an error. kTurbo, kReference: host
  /// threads alone; no GPU is touched.
  CodecKind codec = CodecKind::kAuto;
  std::vector<int> devices;            ///< CUDA ordinals; empty: all
  std::uint64_t gpu_memory_bytes = 0;  ///< bound on each device's memory; 0: three quarters of what
                                       ///< is free when the engine is made
  /// Memory that is taken on each device when the engine is made, instead of when batches first
  /// need it, which makes other batches wait; and an eighth of it for copies to the device and from
  /// it, each. At most a third of gpu_memory_bytes, or half of little; only of codec cuda. What
  /// batches need beyond it is taken as ever.
  std::uint64_t warm_bytes = 0;
  /// Batches in work at once on each device; codec cuda has up to as many more, and at least one,
  /// for progressive files. 0: chosen
  unsigned streams = 0;
  unsigned max_batch = 0;             ///< images of one batch at most; 0: chosen
  std::uint32_t batch_wait_us = 200;  ///< how long an image may wait for others to join its batch,
                                      ///< if the device has other work meanwhile
  unsigned threads = 0;               ///< host threads for what is done on the CPU; 0: one a core
  std::size_t queue = 0;  ///< requests not yet answered before submit() waits and try_submit() says
                          ///< busy; 0: chosen
  /// True: the engine gets few images. Starting a GPU takes longer than thousands of images on the
  /// CPU, so kAuto then uses a GPU only where `devices` names one.
  bool few_images = false;
  /// Without a GPU no threads are started: submit(), try_submit() and resize() do the work before
  /// they return, on the calling thread, and call back there. For callers with threads of their
  /// own, one for each core. `threads` and EngineRequest::stop mean nothing then, and no number of
  /// requests is too many unless `queue` says so. What a callback hands in to the same engine is
  /// answered after that callback has returned, and before the outermost call returns; submit()
  /// does not wait for room there. resize(), and the submit() that returns a future, do their work
  /// at once in callbacks, too.
  bool callers_thread = false;
  bool timed = false;  ///< measure stages on the device, for EngineStats::stages
  /// Bound on the host memory of profiles that are kept ready to convert; 0: 64 MiB. A profile of
  /// curves and a matrix takes some 4 KB, one for print about 1 MB.
  std::uint64_t profile_bytes = 0;
};

/// The ICC profiles that an engine keeps ready, and how often inputs had one of them. Profiles that
/// differ in dates, names and texts alone are one profile.
struct ProfileStats {
  std::uint64_t kept = 0;      ///< profiles
  std::uint64_t bytes = 0;     ///< that they take on the host
  std::uint64_t hits = 0;      ///< inputs whose profile was kept
  std::uint64_t misses = 0;    ///< inputs whose profile had to be read
  std::uint64_t prepared = 0;  ///< conversions by LittleCMS that were made, in up to tens of ms
};

/// One kind of memory that an engine keeps for requests to come.
struct KeptMemory {
  std::string_view name;          ///< as in docs/engine.md; never dangles
  std::uint64_t bytes = 0;        ///< now, over all devices and threads
  std::uint64_t bound_bytes = 0;  ///< that `bytes` does not exceed
  std::uint64_t hits = 0;    ///< times that a request found what it needed; 0 where not counted
  std::uint64_t misses = 0;  ///< times that it had to be made
};

/// What an engine has done since it was made.
struct EngineStats {
  std::uint64_t gpu_images = 0;   ///< finished on a device
  std::uint64_t host_images = 0;  ///< finished on host threads, fallbacks included
  std::uint64_t fallbacks = 0;    ///< that a device should have done and did not take
  std::uint64_t failures = 0;     ///< answered with an error
  std::uint64_t batches = 0;
  std::uint64_t device_bytes = 0;  ///< held on all devices now
  std::uint64_t pinned_bytes = 0;  ///< host memory held for copies now
  /// Sums over all images; batches of several streams overlap. Empty unless EngineOptions::timed.
  std::vector<StageTotal> stages;
  ProfileStats profiles;
  /// Caches and pools, in the order of docs/engine.md; those of devices only where there are any.
  std::vector<KeptMemory> kept;
};

/// One device of an engine.
struct EngineDevice {
  int ordinal = 0;
  std::string name;
  bool lost = false;  ///< failed and retired; its requests were answered with device_lost
};

/// Host memory of an engine's to read inputs into. A device copies inputs in it from where they
/// lie; other inputs are first gathered into such memory. Files that lie one behind the other and
/// are submitted together travel in one copy. May outlive its engine.
class FRAMEWIRE_API InputMemory {
 public:
  InputMemory() noexcept;  ///< none
  /// Gives the memory back; every request with bytes of it must have been answered.
  ~InputMemory();
  InputMemory(InputMemory&& other) noexcept;
  InputMemory& operator=(InputMemory&& other) noexcept;

  /// Host, readable and writable; what it holds at first is undefined.
  [[nodiscard]] std::span<std::uint8_t> bytes() const noexcept { return bytes_; }

 private:
  friend class Engine;
  class FRAMEWIRE_LOCAL Impl;
  InputMemory(std::unique_ptr<Impl> impl, std::span<std::uint8_t> bytes) noexcept;
  std::unique_ptr<Impl> impl_;
  std::span<std::uint8_t> bytes_;
};

/// Part of an engine's memory for inputs, with the owner that keeps it. May outlive its engine.
struct InputSlice {
  std::span<std::uint8_t> bytes;       ///< host, readable and writable; at first undefined
  std::shared_ptr<const void> keeper;  ///< a block is given back with the last of its slices
};

/// Memory of the caller's from which an engine's devices may copy inputs; made by
/// Engine::register_memory(). Move-only; may outlive its engine. Thread safety: as a unique_ptr.
class FRAMEWIRE_API RegisteredMemory {
 public:
  RegisteredMemory() noexcept;  ///< none
  /// Lets go of the memory, which is not freed; every request with bytes of it must have been
  /// answered. Unpins, which takes some microseconds a megabyte; does not wait for the engine.
  ~RegisteredMemory();
  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;

  /// The memory as it was registered; host.
  [[nodiscard]] std::span<std::uint8_t> bytes() const noexcept { return bytes_; }

 private:
  friend class Engine;
  class FRAMEWIRE_LOCAL Impl;
  RegisteredMemory(std::unique_ptr<Impl> impl, std::span<std::uint8_t> bytes) noexcept;
  std::unique_ptr<Impl> impl_;
  std::span<std::uint8_t> bytes_;
};

/// One image of a submission. Its answer is that of Resizer::resize(), or one of these errors:
///   cancelled    where `stop` was asked for while it was queued, or `claim` was set before its
///   turn; deadline     also where options.limits.deadline_ms passed while it was queued: it is
///   then
///                answered at once, not when its turn comes. Where more of that time was spent in
///                queues before work began than was left for the picture, Status::subject() is
///                "queue";
///   too_large, invalid_input, busy of its sink;
///   device_lost  where the device failed meanwhile.
struct EngineRequest {
  std::span<const std::uint8_t> jpeg;  ///< host, one JPEG stream; read only, stays until the answer
  ResizeOptions options;
  /// As Engine::Callback; empty with `completions`.
  std::function<void(Result<Resized>)> done;
  OutputSink sink{};  ///< where the stream goes; without one the answer carries a vector
  /// Cancels: a request that is still queued is answered at once, with `cancelled`; one that is
  /// being worked on is finished and answered as ever.
  std::stop_token stop{};
  std::shared_ptr<CompletionQueue> completions{};  ///< takes the answer, instead of `done`
  std::uint64_t tag = 0;                           ///< of that answer; any value
  /// Whose request it is; any value. While requests of several clients wait for host threads, each
  /// client gets as much of their time as any other. What devices do is done in order of arrival.
  std::uint64_t client = 0;
  /// How long it has waited elsewhere: deadline_ms counts from then.
  std::uint32_t waited_ms = 0;
  /// Of requests that share one, made false, the engine works on the one whose turn comes first and
  /// sets it; the others are answered with `cancelled`. So that what several clients want comes as
  /// soon as for any of them, and is made once. Null: the request is worked on.
  std::shared_ptr<std::atomic<bool>> claim{};
};

/// Resizes JPEGs as they come: collects them into micro-batches, overlaps copies and kernels of
/// several batches, spreads over all devices.
///
/// Which codec does an image depends on the image and the options alone, never on load, so that the
/// same input gives the same bytes. (One exception: whether a device finishes a stream that hardly
/// ever synchronises, see docs/gpu-codec.md, may depend on how its batch was cut. Such streams have
/// only been made on purpose.) ResizeOptions::codec of a request: kAuto takes the engine's;
/// the engine's own kind, kTurbo and kReference may be named; others are unsupported. What a device
/// does not take is done on host threads; unless the codec is kAuto, the report then has the
/// warning "codec_fallback", which strict refuses. Thread safety: all members may be called from
/// any number of threads at once.
class FRAMEWIRE_API Engine {
 public:
  /// Called once a request, from one of the engine's threads: be quick, never wait for the engine.
  using Callback = std::function<void(Result<Resized>)>;

  /// @return unsupported where the codec is not part of this build or no device can run it;
  ///         invalid_input for a codec or a device that does not exist; busy where memory or
  ///         threads ran out
  [[nodiscard]] static Result<Engine> make(const EngineOptions& options = {});
  /// Answers everything that was submitted, and what callbacks and `on_room` functions submit
  /// meanwhile, then ends.
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// Memory for inputs, faster than the caller's own where there is a GPU (codec cuda; ordinary
  /// memory elsewhere). What is given back is kept for later calls, up to 1 GiB; elsewhere 256 MiB.
  /// @return busy where memory ran out; too_large for more than any machine has; device_lost
  [[nodiscard]] Result<InputMemory> input_memory(std::size_t bytes);

  /// Memory for one input among many. Slices lie one behind the other in blocks of 8 MB, so that a
  /// device copies neighbours together; larger slices have a block of their own. Does not block,
  /// save for a new block. @return exactly `bytes`; errors as input_memory()
  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes);

  /// Makes memory of the caller's known, which other processes may map too. A device copies inputs
  /// that lie wholly in it from where they are, as from input_memory(), if at least 16 KB of it
  /// follow them. Without a device nothing is pinned.
  ///
  /// Other threads and processes may write to registered memory at any time, even to inputs under
  /// way. The engine relies only on bytes that it has copied before, so that such a request ends in
  /// some picture or an error, and no other request is harmed. Files that are not read on the
  /// device alone, such as progressive ones, are copied for that. (Inputs in other memory are read
  /// where they are, and must not change before the answer.)
  /// @param memory  host, readable and writable, at least one byte, any alignment (pages are pinned
  ///                whole); stays mapped as long as what is returned. A file behind it must not
  ///                shrink: seal a memfd
  /// @return invalid_input for no bytes, or where some of them are registered, or the engine's,
  ///         already; unsupported for memory that cannot be pinned; busy where memory, or what may
  ///         be locked of it, ran out; device_lost. Blocks while it pins: about a millisecond for
  ///         some megabytes
  [[nodiscard]] Result<RegisteredMemory> register_memory(std::span<std::uint8_t> memory);

  /// Hands in one image; waits while EngineOptions::queue requests are unanswered.
  /// The answer is that of Resizer::resize(), or device_lost where the device failed meanwhile.
  /// @param jpeg  host, one JPEG stream; read only, must stay until the answer
  void submit(std::span<const std::uint8_t> jpeg, const ResizeOptions& options, Callback done);
  [[nodiscard]] std::future<Result<Resized>> submit(std::span<const std::uint8_t> jpeg,
                                                    const ResizeOptions& options);
  /// Deleted: the bytes would be gone before the answer.
  void submit(std::vector<std::uint8_t>&& jpeg, const ResizeOptions& options,
              Callback done) = delete;
  void submit(std::vector<std::uint8_t>&& jpeg, const ResizeOptions& options) = delete;
  /// Hands in several images at once, so that they can share a batch: no lane begins with the first
  /// of them alone. Waits for room for all of them, or, where they are more than half of
  /// EngineOptions::queue, for a sixteenth of it at a time; the engine takes memory for them as
  /// they enter. Throws std::bad_alloc where memory ran out: none was handed in then, though some
  /// may have been moved from. Where it runs out when the first sixteenth is in, each request that
  /// there is no memory for is answered with busy, from this thread.
  void submit(std::span<EngineRequest> requests);
  /// Hands in as many of several images, from the first on, as there is room for: fewer than
  /// EngineOptions::queue may be unanswered. Never waits for room; takes a lock for some
  /// microseconds. Deadlines count from here.
  /// @param requests  those handed in are moved from; the others stay as they are
  /// @param on_room   where not all were handed in: called once when there is room again (for a
  ///                  sixteenth of the queue, or as soon as nothing is unanswered), from one of the
  ///                  engine's threads, or from this one before this call returns: be quick; it may
  ///                  call try_submit(). Each call that is refused and brings a function has its
  ///                  own call. What it throws is ignored. May be empty
  /// @return how many were handed in. Throws std::bad_alloc where memory ran out: none was handed
  ///         in then, though some may have been moved from
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests,
                                       std::function<void()> on_room = {});
  /// Hands in one image if there is room. @return busy where there is none: `request` is unchanged
  [[nodiscard]] Result<void> try_submit(EngineRequest& request, std::function<void()> on_room = {});
  /// Hands in one image and waits for the answer: polls for it for up to 1 ms where GPUs have
  /// hardly anything else to do, then sleeps.
  [[nodiscard]] Result<Resized> resize(std::span<const std::uint8_t> jpeg,
                                       const ResizeOptions& options);

  /// Waits until everything that was submitted before has been answered; not for what is submitted
  /// later, by callbacks or by other threads.
  void drain();

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] std::vector<EngineDevice> devices() const;
  /// Why there is no device, in one line; empty where there is one.
  [[nodiscard]] const std::string& no_device_reason() const noexcept;

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire
