#include <algorithm>
#include <cstring>
#include <dataset/piece_cache.hpp>
#include <new>

namespace framewire::dataset {

/// A range of an object. All members are the cache's, under its lock; the bytes are read without it
/// by who has a pin.
struct PieceCache::Piece {
  enum class State : std::uint8_t { kReading, kReady, kFailed };
  State state = State::kReading;
  Buffer buffer;
  std::size_t bytes = 0;
  std::optional<Status> error;
  std::uint64_t last_use = 0;
  unsigned pins = 0;
  bool passed = false;  ///< who walks through the object is beyond it
};

namespace {

// Half of the memory is for what comes, half for what is in work.
std::uint64_t pieces_ahead(const PieceCache::Settings& settings) {
  constexpr std::uint64_t kMaxAhead = 16;
  const std::uint64_t each =
      settings.max_bytes / 2 / std::max(settings.objects, 1u) / settings.piece_bytes;
  return std::clamp<std::uint64_t>(each, 1, kMaxAhead);
}

}  // namespace

PieceCache::PieceCache(const Settings& settings)
    : settings_(settings), ahead_(pieces_ahead(settings)) {}

// A range on its way is written into memory of ours.
PieceCache::~PieceCache() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reading_ == 0; });
}

std::uint64_t PieceCache::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

unsigned PieceCache::reading() const {
  const std::lock_guard lock(mutex_);
  return reading_;
}

void PieceCache::drop(std::map<Place, std::shared_ptr<Piece>>::iterator piece) {
  free_.push_back(std::move(piece->second->buffer));
  pieces_.erase(piece);
}

// A buffer: a free one, a new one, or that of the piece that has not been used for longest. What is
// read ahead takes only from pieces that were passed. free_ has room for one buffer more.
PieceCache::Buffer PieceCache::make_room(bool ahead) noexcept {
  if (free_.empty() && held_bytes_ + settings_.piece_bytes > settings_.max_bytes) {
    auto oldest = pieces_.end();
    for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
      const Piece& each = *piece->second;
      const bool in_use = each.state == Piece::State::kReading || each.pins > 0;
      if (in_use || (ahead && !each.passed)) continue;
      if (oldest == pieces_.end() || each.last_use < oldest->second->last_use) oldest = piece;
    }
    if (oldest == pieces_.end()) return nullptr;
    drop(oldest);
  }
  if (free_.empty()) {
    Buffer made(new (std::nothrow) std::uint8_t[settings_.piece_bytes]);
    if (made == nullptr) return nullptr;
    held_bytes_ += settings_.piece_bytes;
    peak_bytes_ = std::max(peak_bytes_, held_bytes_);
    return made;
  }
  Buffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

// Under the lock. A piece whose reading is never started would be waited for without end, so all
// that may throw comes before the piece is known. @return null where there is no room
std::shared_ptr<PieceCache::Piece> PieceCache::begin(Reader& reader, std::uint64_t index,
                                                     bool ahead) noexcept try {
  const auto piece = std::make_shared<Piece>();
  free_.reserve(free_.size() + pieces_.size() + 1);  // so that drop() never throws
  piece->bytes = static_cast<std::size_t>(std::min<std::uint64_t>(
      settings_.piece_bytes, reader.object_.bytes - index * settings_.piece_bytes));
  piece->last_use = ++clock_;
  piece->passed = !ahead;
  const auto place = pieces_.emplace(Place{reader.id_, index}, piece).first;
  piece->buffer = make_room(ahead);
  if (piece->buffer == nullptr) {
    pieces_.erase(place);
    return nullptr;
  }
  ++reading_;
  return piece;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void PieceCache::ended(Piece& piece, Result<std::size_t> got) {
  const std::lock_guard lock(mutex_);
  if (got && *got != piece.bytes) {
    got = fail(StatusCode::kIoError, "the store gave fewer bytes than the object has");
  }
  if (!got) piece.error = std::move(got.error());
  piece.state = got ? Piece::State::kReady : Piece::State::kFailed;
  --reading_;
  changed_.notify_all();
}

// Without the lock: the store may call back before it returns.
void PieceCache::start(Reader& reader, std::uint64_t index, const std::shared_ptr<Piece>& piece) {
  try {
    reader.store_.start_read(
        reader.object_, index * settings_.piece_bytes, {piece->buffer.get(), piece->bytes},
        [this, piece](Result<std::size_t> got) { ended(*piece, std::move(got)); });
  } catch (const std::bad_alloc&) {
    ended(*piece, fail(StatusCode::kBusy, "memory ran out"));
  }
}

// With a pin on it. A piece that failed while nobody waited for it, long ago perhaps, is begun
// anew.
// @return null where it is not there, and there is no room for it
std::shared_ptr<PieceCache::Piece> PieceCache::take(Reader& reader, std::uint64_t index) {
  std::unique_lock lock(mutex_);
  const auto found = pieces_.find({reader.id_, index});
  if (found != pieces_.end() && found->second->state != Piece::State::kFailed) {
    const std::shared_ptr<Piece> piece = found->second;
    piece->last_use = ++clock_;
    ++piece->pins;
    return piece;
  }
  // Nobody reads the buffer of one that failed, whoever still has a pin on it.
  if (found != pieces_.end()) drop(found);
  const std::shared_ptr<Piece> piece = begin(reader, index, false);
  if (piece == nullptr) return nullptr;
  ++piece->pins;
  lock.unlock();
  start(reader, index, piece);
  return piece;
}

// Waits for the piece, and gives the pin back.
Result<void> PieceCache::copy_from(Piece& piece, std::size_t within, std::span<std::uint8_t> into) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return piece.state != Piece::State::kReading; });
  const bool ready = piece.state == Piece::State::kReady;
  if (ready) {
    lock.unlock();
    std::memcpy(into.data(), piece.buffer.get() + within, into.size());
    lock.lock();
  }
  --piece.pins;
  if (ready) return {};
  return fail(*piece.error);
}

PieceCache::Reader::Reader(PieceCache& cache, store::ObjectStore& store, store::ObjectInfo object)
    : cache_(cache), store_(store), object_(std::move(object)), id_([&cache] {
        const std::lock_guard lock(cache.mutex_);
        return cache.next_id_++;
      }()) {}

// A range on its way needs the store, which may go once this has gone.
PieceCache::Reader::~Reader() {
  std::unique_lock lock(cache_.mutex_);
  const auto first = [this] { return cache_.pieces_.lower_bound({id_, 0}); };
  const auto last = [this] { return cache_.pieces_.lower_bound({id_ + 1, 0}); };
  cache_.changed_.wait(lock, [&] {
    return std::none_of(first(), last(), [](const auto& each) {
      return each.second->state == Piece::State::kReading;
    });
  });
  for (auto piece = first(); piece != last(); piece = first()) cache_.drop(piece);
}

// Of one piece. What the store says has been tried as often as its settings allow: who waited for
// it is told, and does not ask again. A piece that failed before is asked for by take().
Result<void> PieceCache::Reader::read_part(std::uint64_t offset, std::span<std::uint8_t> into) {
  const std::uint64_t piece_bytes = cache_.settings_.piece_bytes;
  if (const std::shared_ptr<Piece> piece = cache_.take(*this, offset / piece_bytes)) {
    return cache_.copy_from(*piece, static_cast<std::size_t>(offset % piece_bytes), into);
  }
  const auto got = store_.read_at(object_, offset, into);
  if (!got) return fail(got.error());
  if (*got == into.size()) return {};
  return fail(StatusCode::kIoError, "the store gave fewer bytes than the object has");
}

Result<std::size_t> PieceCache::Reader::read_at(std::uint64_t offset,
                                                std::span<std::uint8_t> into) {
  const std::uint64_t piece_bytes = cache_.settings_.piece_bytes;
  if (offset >= object_.bytes) return std::size_t{0};
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), object_.bytes - offset));
  for (std::size_t done = 0; done < wanted;) {
    const std::uint64_t at = offset + done;
    const auto some = static_cast<std::size_t>(
        std::min<std::uint64_t>(wanted - done, piece_bytes - at % piece_bytes));
    if (auto read = read_part(at, into.subspan(done, some)); !read) return fail(read.error());
    done += some;
  }
  return wanted;
}

void PieceCache::Reader::read_ahead(std::uint64_t offset) {
  const std::uint64_t piece_bytes = cache_.settings_.piece_bytes;
  const std::uint64_t here = offset / piece_bytes;
  const std::uint64_t end = (object_.bytes + piece_bytes - 1) / piece_bytes;
  const std::uint64_t wanted = std::min(end, here + cache_.ahead_);
  if (here == here_ && next_ahead_ >= wanted) return;
  here_ = here;
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Piece>>> begun;
  begun.reserve(static_cast<std::size_t>(cache_.ahead_));
  {
    const std::lock_guard lock(cache_.mutex_);
    for (auto piece = cache_.pieces_.lower_bound({id_, 0});
         piece != cache_.pieces_.end() && piece->first < Place{id_, here}; ++piece) {
      piece->second->passed = true;
    }
    next_ahead_ = std::max(next_ahead_, here);
    for (; next_ahead_ < wanted; ++next_ahead_) {
      if (cache_.pieces_.contains({id_, next_ahead_})) continue;
      auto piece = cache_.begin(*this, next_ahead_, true);
      if (piece == nullptr) break;
      begun.emplace_back(next_ahead_, std::move(piece));
    }
  }
  for (const auto& [index, piece] : begun) cache_.start(*this, index, piece);
}

void PieceCache::Reader::release_before(std::uint64_t offset) {
  const std::lock_guard lock(cache_.mutex_);
  auto piece = cache_.pieces_.lower_bound({id_, 0});
  const Place end{id_, offset / cache_.settings_.piece_bytes};
  while (piece != cache_.pieces_.end() && piece->first < end) {
    const auto next = std::next(piece);
    if (piece->second->state != Piece::State::kReading && piece->second->pins == 0) {
      cache_.drop(piece);
    }
    piece = next;
  }
}

}  // namespace framewire::dataset
