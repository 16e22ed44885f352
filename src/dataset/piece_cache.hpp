// Pieces of objects in memory: read ahead of who walks through them, kept while there is room.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <store/object_store.hpp>
#include <utility>
#include <vector>

namespace framewire::dataset {

/// Memory that objects are read into, in pieces, over all objects of a batch. It never holds more
/// than it is allowed: where all of it is in use, what is asked for is read straight into the
/// caller's memory. Whoever reads waits for the store alone, never for others to give memory back.
/// Any number of threads.
class PieceCache {
 public:
  struct Settings {
    std::uint64_t max_bytes = 1u << 30;
    std::size_t piece_bytes = 8u << 20;  ///< a range: large enough that a store's latency is small
                                         ///< beside the time on the line
    unsigned objects = 1;                ///< that are walked through at once
  };
  explicit PieceCache(const Settings& settings);
  PieceCache(const PieceCache&) = delete;
  PieceCache& operator=(const PieceCache&) = delete;
  ~PieceCache();

  /// One object whose pieces lie here; dropped with it.
  class Reader {
   public:
    /// @param cache, store  live as long as this
    Reader(PieceCache& cache, store::ObjectStore& store, store::ObjectInfo object);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// As ObjectStore::read_at(). A piece that could not be read ahead is asked for again by who
    /// comes to it later, and not by who was waiting for it.
    [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into);
    /// Begins to read what follows `offset`, as far as memory and the bound on what is read ahead
    /// allow. What lies before may be dropped first. One thread.
    void read_ahead(std::uint64_t offset);
    /// Drops what lies before `offset`.
    void release_before(std::uint64_t offset);
    [[nodiscard]] const store::ObjectInfo& object() const noexcept { return object_; }

   private:
    friend class PieceCache;
    [[nodiscard]] Result<void> read_part(std::uint64_t offset, std::span<std::uint8_t> into);
    PieceCache& cache_;
    store::ObjectStore& store_;
    const store::ObjectInfo object_;
    const std::uint64_t id_;
    std::uint64_t here_ = 0;        ///< piece that was come to
    std::uint64_t next_ahead_ = 0;  ///< piece to be read next
  };

  /// Pieces that are read ahead of each object.
  [[nodiscard]] std::uint64_t ahead() const noexcept { return ahead_; }
  /// The most that was held at once.
  [[nodiscard]] std::uint64_t peak_bytes() const;
  /// Ranges on their way.
  [[nodiscard]] unsigned reading() const;

 private:
  struct Piece;
  using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< reader, index
  using Buffer = std::unique_ptr<std::uint8_t[]>;

  [[nodiscard]] std::shared_ptr<Piece> begin(Reader& reader, std::uint64_t index,
                                             bool ahead) noexcept;
  [[nodiscard]] std::shared_ptr<Piece> take(Reader& reader, std::uint64_t index);
  [[nodiscard]] Buffer make_room(bool ahead) noexcept;
  void start(Reader& reader, std::uint64_t index, const std::shared_ptr<Piece>& piece);
  [[nodiscard]] Result<void> copy_from(Piece& piece, std::size_t within,
                                       std::span<std::uint8_t> into);
  void ended(Piece& piece, Result<std::size_t> got);
  void drop(std::map<Place, std::shared_ptr<Piece>>::iterator piece);

  const Settings settings_;
  const std::uint64_t ahead_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Place, std::shared_ptr<Piece>> pieces_;
  std::vector<Buffer> free_;
  std::uint64_t held_bytes_ = 0;  ///< of all buffers, those in free_ included
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t clock_ = 0;  ///< counts uses
  std::uint64_t next_id_ = 0;
  unsigned reading_ = 0;  ///< ranges on their way
};

}  // namespace framewire::dataset
