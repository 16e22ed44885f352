// One local client of a server: its memory, its requests under way, its thread's work.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <base/wake_event.hpp>
#include <condition_variable>
#include <cstdint>
#include <framewire/completion_queue.hpp>
#include <framewire/engine.hpp>
#include <ipc/shared_pages.hpp>
#include <memory>
#include <mutex>
#include <service/local/fair_share.hpp>
#include <service/local/options_cache.hpp>
#include <service/local/output_allocator.hpp>
#include <service/pictures/client_counters.hpp>
#include <service/pictures/picture_engine.hpp>
#include <span>
#include <stop_token>
#include <transport/shared/local_peer.hpp>
#include <vector>

namespace framewire::service::local {

/// What all connections of a server share; outlives them, but for the limits, which are copied.
struct ConnectionContext {
  PictureEngine& engine;
  FairShare& share;
  ClientCounters& counters;
  Limits limits;  ///< that requests may lower, and not raise
  /// Whether a client that has left, or lied, loses the memory. Not where it reads on there, as a
  /// service does in its workers' memory.
  bool takes_memory_back = false;
  /// Whether requests say themselves whose they are and how long they have waited, as those of a
  /// service to its workers do.
  bool believes_requests = false;
};

/// Serves one client: takes what it submits, hands it to the engine in groups, and puts the answers
/// into the memory that both map. Believes nothing that the client writes there.
class LocalClientConnection {
 public:
  /// @param user    who shares with other connections of the same user what the engine takes
  /// @param memory  the pages' input area with its guard, registered with the engine
  /// @param peer    the client, which has been greeted; its socket does not block
  /// @param event   wakes the connection's thread; valid
  LocalClientConnection(const ConnectionContext& context, FairShare::User user,
                        ipc::SharedPages pages, RegisteredMemory memory,
                        transport::shared::LocalPeer peer, std::shared_ptr<base::WakeEvent> event);
  ~LocalClientConnection();
  LocalClientConnection(const LocalClientConnection&) = delete;
  LocalClientConnection& operator=(const LocalClientConnection&) = delete;

  /// Serves until the client leaves, lies, or stop() was called; then cancels what is queued and
  /// waits until all that was handed to the engine has been answered. Called once.
  /// @return peer_lost where the client left; cancelled after stop(); invalid_input, with what was
  ///         found, where it lied; busy where memory for the books ran out
  [[nodiscard]] Status run() noexcept;

  /// From now on new requests are answered with `busy`; those taken before are done. Any thread.
  void drain() noexcept;
  /// Ends run(). Any thread.
  void stop() noexcept;
  /// Whether everything that was taken has been answered. Any thread.
  [[nodiscard]] bool idle() const;

 private:
  struct Slot {
    bool busy = false;               ///< its request is unanswered; guarded by mutex_
    bool has_output = false;         ///< a piece of the output area is the request's
    std::uint64_t offset = 0;        ///< of that piece
    std::vector<std::uint8_t> kept;  ///< the stream, where the area had no room for it
    bool is_kept = false;
    std::uint64_t kept_bytes = 0;    ///< counted for it
    std::uint32_t report_bytes = 0;  ///< of an answer that waits for room
    InputSlice copy;                 ///< of the input, where the engine needs one
    std::uint64_t input_bytes = 0;   ///< counted in in_work_bytes_
    std::stop_source stop;
  };

  /// What a thread of the engine's uses before it has an answer in hand. Without one the connection
  /// may be gone: another thread may have taken the last one.
  struct Inbox {
    CompletionQueue* answers = nullptr;      ///< which whoever puts an answer in keeps
    std::shared_ptr<base::WakeEvent> event;  ///< of the connection's thread
    /// Memory ran out while answers were taken. The connection's thread takes them then.
    std::atomic<bool> untaken{false};
  };

  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<bool> take_entries();
  [[nodiscard]] Result<void> take(const ipc::Submission& entry);
  [[nodiscard]] Result<void> take_request(const ipc::Submission& entry);
  [[nodiscard]] Result<void> release(std::uint64_t offset);
  [[nodiscard]] Result<void> cancel(std::uint32_t slot);
  [[nodiscard]] Result<void> enter(std::uint32_t slot);
  [[nodiscard]] Result<EngineRequest> make_request(const ipc::Submission& entry);
  void queue(EngineRequest request);
  void hand_in();
  std::size_t hand_in(std::size_t count);
  [[nodiscard]] std::size_t may_hand_in() const;
  [[nodiscard]] std::size_t within_input_bytes(std::size_t most) const;
  void enter_work(std::span<const EngineRequest> group);
  void leave_work(std::uint32_t slot) noexcept;
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> group);
  void copy_inputs(std::span<EngineRequest> group);
  void count_waiting(std::size_t count);
  void drop_expired();
  void drop(std::size_t index, const Status& why);
  void place_kept();
  [[nodiscard]] bool sleep();
  void cancel_and_wait() noexcept;

  // Called from threads of the engine's, too.
  [[nodiscard]] std::span<std::uint8_t> allocate(std::uint32_t slot, std::size_t bytes);
  static void take_answers(LocalClientConnection& connection, Inbox& inbox) noexcept;
  void answered(std::span<const Completion> answers) noexcept;
  void refuse(std::uint32_t slot, const Status& why) noexcept;
  void write_text(std::uint32_t slot, const Result<Resized>& result) noexcept;
  void put_answer(std::uint32_t slot, const Result<Resized>& result) noexcept;
  void complete(std::uint32_t slot, ipc::AnswerKind outcome, std::uint64_t bytes) noexcept;
  void wake_client() noexcept;

  [[nodiscard]] std::size_t queued() const noexcept { return requests_.size() - first_; }

  PictureEngine& engine_;
  ClientCounters& counters_;
  const std::shared_ptr<base::WakeEvent> event_;
  FairShare::Member share_;
  transport::shared::LocalPeer peer_;
  ipc::SharedPages pages_;
  RegisteredMemory registered_;  ///< let go before the pages are
  ipc::RingReader<ipc::Submission> submissions_;
  std::shared_ptr<std::atomic<bool>> awaits_room_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::shared_ptr<CompletionQueue> answers_;  ///< of the engine's, on their way through the inbox
  OptionsCache options_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  const bool may_take_memory_back_;
  const bool believes_requests_;
  const std::uint64_t client_;      ///< EngineRequest::client of all its requests
  bool takes_memory_back_ = false;  ///< the client has left, or was sent away for a lie

  // Requests that the engine has not been given yet, from first_ on; capacity for all slots.
  std::vector<EngineRequest> requests_;
  std::vector<base::Clock::time_point> arrivals_;
  std::size_t first_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<Slot> slots_;
  ipc::RingWriter<ipc::CompletionEntry> completions_;
  OutputAllocator outputs_;
  std::size_t busy_ = 0;     ///< slots
  std::size_t in_work_ = 0;  ///< requests that the engine has
  /// Of their inputs; each may be a copy by now, also where several are one place in the memory.
  std::uint64_t in_work_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  /// Room for about the largest stream of late; 64 KiB until there is one.
  std::uint64_t expected_bytes_ = std::uint64_t{64} << 10;
  std::vector<std::uint32_t> kept_;  ///< slots whose answers wait for room, oldest first
  bool wants_answers_ = false;       ///< the thread is to be woken by each answer
};

}  // namespace framewire::service::local
