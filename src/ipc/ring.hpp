// Rings of entries in shared memory: one end writes, the other reads, neither believes the other.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

namespace framewire::ipc {

/// Where a ring lies. Entries are copied word by word, each word once, so that what is judged is
/// what is used, whatever the other end writes meanwhile.
template <typename Entry>
struct RingMemory {
  static constexpr std::size_t kWords = sizeof(Entry) / sizeof(std::uint64_t);
  static_assert(sizeof(Entry) % sizeof(std::uint64_t) == 0);
  using Words = std::array<std::atomic<std::uint64_t>, kWords>;

  std::atomic<std::uint64_t>* written = nullptr;  ///< by the end that writes
  std::atomic<std::uint64_t>* read = nullptr;     ///< by the end that reads
  Words* entries = nullptr;
  std::uint64_t capacity = 0;

  [[nodiscard]] Words& at(std::uint64_t index) const noexcept { return entries[index % capacity]; }
};

/// The end that writes. One thread at a time.
template <typename Entry>
class RingWriter {
 public:
  explicit RingWriter(const RingMemory<Entry>& memory) noexcept : memory_(memory) {}

  /// Writes an entry, which the reader sees after publish().
  /// @return false where the ring is full, or the reader's index cannot be
  [[nodiscard]] bool push(const Entry& entry) noexcept {
    if (written_ - memory_.read->load(std::memory_order_acquire) >= memory_.capacity) return false;
    const auto words = std::bit_cast<std::array<std::uint64_t, RingMemory<Entry>::kWords>>(entry);
    auto& place = memory_.at(written_++);
    for (std::size_t i = 0; i < words.size(); ++i) {
      place[i].store(words[i], std::memory_order_relaxed);
    }
    return true;
  }
  /// Stored in one order with the flag that says whether the reader sleeps, which is looked at
  /// next.
  void publish() noexcept { memory_.written->store(written_, std::memory_order_seq_cst); }

  /// Entries written that have not been read. @return nothing where the reader's index cannot be
  [[nodiscard]] std::optional<std::uint64_t> unread() const noexcept {
    const std::uint64_t count = written_ - memory_.read->load(std::memory_order_acquire);
    if (count > memory_.capacity) return std::nullopt;
    return count;
  }
  /// The reader's index, whatever it is.
  [[nodiscard]] std::uint64_t reader() const noexcept {
    return memory_.read->load(std::memory_order_acquire);
  }

 private:
  RingMemory<Entry> memory_;
  std::uint64_t written_ = 0;
};

/// The end that reads. One thread at a time.
template <typename Entry>
class RingReader {
 public:
  explicit RingReader(const RingMemory<Entry>& memory) noexcept : memory_(memory) {}

  /// Entries that can be read. @return nothing where the writer's index cannot be
  [[nodiscard]] std::optional<std::uint64_t> available() const noexcept {
    const std::uint64_t count = memory_.written->load(std::memory_order_seq_cst) - read_;
    if (count > memory_.capacity) return std::nullopt;
    return count;
  }
  /// Copies the next entry out; only where one is available().
  [[nodiscard]] Entry take() noexcept {
    std::array<std::uint64_t, RingMemory<Entry>::kWords> words;
    const auto& place = memory_.at(read_++);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = place[i].load(std::memory_order_relaxed);
    }
    return std::bit_cast<Entry>(words);
  }
  /// Gives the writer the places of all entries that were taken.
  void give_back() noexcept { memory_.read->store(read_, std::memory_order_release); }

 private:
  RingMemory<Entry> memory_;
  std::uint64_t read_ = 0;
};

}  // namespace framewire::ipc
