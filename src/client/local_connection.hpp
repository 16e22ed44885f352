// A client's end of a connection to a server: memory, slots, the rings.
#pragma once

#include <array>
#include <atomic>
#include <client/server_session.hpp>
#include <client/silence.hpp>
#include <condition_variable>
#include <cstdint>
#include <framewire/client.hpp>
#include <ipc/area_allocator.hpp>
#include <ipc/shared_pages.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <transport/shared/local_peer.hpp>
#include <vector>

namespace framewire::client {

/// What one connection leaves to the next.
struct LeftBehind {
  /// In the order in which they were submitted. Inputs lie where the connection has them.
  std::vector<Order> orders;
  std::vector<std::function<void()>> on_room;
};

/// When what a draining server has not taken is kept for leave_behind(), and not answered.
enum class HoldBack : std::uint8_t {
  kNever,
  kOnceAnswered,  ///< after the first answer of that server
  kAlways,
};

/// A connection over shared memory. One that is lost stays lost: LocalSession makes another. Views
/// and slices keep it alive beyond its client.
class LocalConnection final : public ServerSession,
                              public std::enable_shared_from_this<LocalConnection> {
 public:
  /// What those who make a connection decide.
  struct Settings {
    /// Whether input_slice() gives out memory that the server sees. Else it gives none, and all of
    /// the input area is for copies.
    bool lends = true;
    HoldBack hold_back = HoldBack::kNever;
    /// After so long without a sign of life, or kPatiencesForAnswer times as long without an
    /// answer, a server counts as gone; 0: never.
    std::chrono::milliseconds patience{0};
  };

  /// @param peer  the server, which has greeted
  LocalConnection(ipc::SharedPages pages, transport::shared::LocalPeer peer,
                  const Settings& settings);
  LocalConnection(const LocalConnection&) = delete;
  LocalConnection& operator=(const LocalConnection&) = delete;

  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes) override;
  std::size_t submit(std::span<Order> orders, bool waits, std::function<void()> on_room) override;
  /// As submit(). Takes nothing after leave_behind().
  /// @param on_room  empty afterwards where the connection will call it
  std::size_t hand_in(std::span<Order> orders, bool waits, std::function<void()>& on_room);
  /// Whether bytes lie in the memory that is shared, so that they are not copied.
  [[nodiscard]] bool in_area(std::span<const std::uint8_t> bytes) const noexcept;
  /// Asks the server for a sign of life, which costs it nothing.
  /// @return whether it has read all that was written before
  [[nodiscard]] bool probe();

  void receive() noexcept override;
  /// As receive(), and answers nothing of what is unanswered in the end.
  /// @return why there is no server any more
  [[nodiscard]] Status serve() noexcept;
  /// After serve(): gives up all that is unanswered, for another connection, and takes nothing
  /// more. Throws std::bad_alloc, before anything has changed.
  [[nodiscard]] LeftBehind leave_behind();
  [[nodiscard]] bool has_left() const;
  /// After serve(): answers all that is unanswered, and all that comes.
  void fail_all(const Status& why) noexcept;
  void close() noexcept override;
  /// As close(), and the server learns of it at once: nothing that lies in its memory is wanted.
  void end() noexcept;
  /// From now on nothing is kept for leave_behind(): what is, is answered with busy.
  void stop_retrying() noexcept override { stops_retrying_ = true; }
  /// Whether the server has answered anything since the connection was made.
  [[nodiscard]] bool has_ever_answered() const noexcept { return has_ever_answered_; }
  /// Whether the server has sent what no server would, for which lost() was set.
  [[nodiscard]] bool server_lied() const noexcept { return server_lied_; }

  [[nodiscard]] std::uint32_t slots() const noexcept { return pages_.layout().sizes.slots; }
  [[nodiscard]] std::uint64_t input_bytes() const noexcept {
    return pages_.layout().sizes.input_bytes;
  }
  [[nodiscard]] std::uint64_t output_bytes() const noexcept {
    return pages_.layout().sizes.output_bytes;
  }
  [[nodiscard]] std::optional<Status> lost() const override;
  [[nodiscard]] bool draining() const noexcept override {
    return pages_.control().draining.load(std::memory_order_relaxed) != 0;
  }

 private:
  enum class Stage : std::uint8_t {
    kFree,
    kReserved,   ///< its input is being copied
    kSubmitted,  ///< the server has it
    kHeld,       ///< for another connection
  };
  /// Asks the server to cancel.
  struct Cancel {
    LocalConnection* connection;
    std::uint32_t slot;
    std::uint64_t number;
    void operator()() const { connection->cancel(slot, number); }
  };
  using OnStop = std::stop_callback<Cancel>;
  struct Slot {
    Stage stage = Stage::kFree;
    bool cancelled = false;
    std::uint64_t number = 0;  ///< grows with each that is submitted
    Order order;
    std::optional<std::uint64_t> copy;  ///< of the input, in the area's part for copies
    std::unique_ptr<OnStop> on_stop;
  };
  struct KeptView;
  struct KeptSlice;
  class Answers;

  // Submitting.
  [[nodiscard]] std::optional<Status> refusal(const Order& order) const noexcept;
  std::size_t reserve(std::span<Order> orders, bool waits, std::function<void()>& on_room,
                      std::vector<std::uint32_t>& slots);
  [[nodiscard]] bool holds_back() const noexcept;
  [[nodiscard]] bool is_to_hold_back() const noexcept;
  [[nodiscard]] Result<bool> reserve_one(Order& order, std::vector<std::uint32_t>& slots);
  void prepare(std::uint32_t slot);
  void push(const std::vector<std::uint32_t>& slots);
  void push_request(std::uint32_t slot);
  void push_entry(const ipc::Submission& entry);
  void push_command(ipc::RequestCommand command, std::uint32_t slot, std::uint64_t offset);
  void cancel(std::uint32_t slot, std::uint64_t number);
  void release_output(std::uint64_t offset) noexcept;
  void release_slice(std::uint64_t offset) noexcept;

  // Receiving.
  [[nodiscard]] Result<bool> take_answers(Answers& answers);
  [[nodiscard]] Result<void> take_answer(const ipc::CompletionEntry& entry, Answers& answers);
  void answer_resized(std::uint32_t slot, Report report, std::span<const std::uint8_t> stream,
                      Answers& answers);
  [[nodiscard]] Order free_slot(std::uint32_t slot) noexcept;
  [[nodiscard]] bool hold_back(std::uint32_t slot, const Status& status);
  [[nodiscard]] Result<void> sleep();
  [[nodiscard]] Result<void> look_for_life();
  [[nodiscard]] Result<void> look_for_answers();
  void answer_held() noexcept;
  void fail_slots(const std::vector<std::uint32_t>& slots, const Status& why) noexcept;
  void fail_slot(std::uint32_t slot, const Status& why) noexcept;
  void answered(std::size_t count) noexcept;

  ipc::SharedPages pages_;
  transport::shared::LocalPeer peer_;
  const Settings settings_;
  const std::uint64_t slice_bytes_;  ///< of the input area: slices before, copies behind
  std::atomic<bool> closing_{false};
  std::atomic<bool> server_lied_{false};
  std::atomic<bool> stops_retrying_{false};
  std::atomic<bool> has_ever_answered_{false};

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable pushed_;  ///< with `reserved_` 0
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  ipc::AreaAllocator slices_;
  ipc::AreaAllocator copies_;
  ipc::RingWriter<ipc::Submission> submissions_;
  std::uint64_t next_number_ = 0;
  std::size_t unanswered_ = 0;
  std::size_t reserved_ = 0;
  std::atomic<std::size_t> kept_views_{0};
  bool has_left_ = false;
  std::vector<std::function<void()>> on_room_;
  std::optional<Status> lost_;

  // Members that receive() alone uses.
  Silence silence_;
  Silence without_answer_;
  bool is_alive_ = false;          ///< the server has answered since the last look for life
  bool has_answered_ = false;      ///< likewise, since the last look for answers
  std::uint64_t last_reader_ = 0;  ///< of the ring of requests, at the last look
  ipc::RingReader<ipc::CompletionEntry> completions_;
  std::array<std::byte, ipc::kReportBytes> report_;
};

}  // namespace framewire::client
