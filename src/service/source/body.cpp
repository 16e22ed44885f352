#include <algorithm>
#include <cstring>
#include <new>
#include <service/source/body.hpp>

namespace framewire::service::source {
namespace {

// The first piece of an original whose length is not known, and the longest of the later ones.
constexpr std::size_t kFirstPieceBytes = 64 * 1'024;
constexpr std::size_t kMaxPieceBytes = 4 * 1'024 * 1'024;

}  // namespace

bool Budget::take(std::size_t bytes) noexcept {
  std::size_t left = left_.load(std::memory_order_relaxed);
  do {
    if (left < bytes) return false;
  } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
  return true;
}

void Body::reset() noexcept {
  budget_.give_back(std::exchange(reserved_, 0));
  filled_ = 0;
  expected_.reset();
  memory_ = {};
  pieces_.clear();
}

Body::Fault Body::reserve(std::size_t bytes) noexcept {
  if (may_hold_ && !may_hold_(reserved_ + bytes, filled_)) return FetchErrorKind::kBusy;
  if (!budget_.take(bytes)) return FetchErrorKind::kBusy;
  reserved_ += bytes;
  return std::nullopt;
}

tl::expected<KeptBytes, FetchErrorKind> Body::allocate(std::size_t bytes) noexcept {
  if (bytes == 0) return KeptBytes{};
  try {
    if (allocate_) {
      auto slice = allocate_(bytes);
      if (!slice || slice->bytes.size() < bytes) return tl::unexpected(FetchErrorKind::kBusy);
      return KeptBytes{slice->bytes.first(bytes), std::move(slice->keeper)};
    }
    // Not initialised: all of it is written before anybody reads it.
    std::shared_ptr<std::uint8_t[]> own(new std::uint8_t[bytes]);
    return KeptBytes{{own.get(), bytes}, own};
  } catch (...) {
    return tl::unexpected(FetchErrorKind::kBusy);
  }
}

Body::Fault Body::expect(std::uint64_t bytes) noexcept {
  if (bytes > max_bytes_) return FetchErrorKind::kTooLarge;
  if (const Fault fault = reserve(static_cast<std::size_t>(bytes))) return fault;
  auto memory = allocate(static_cast<std::size_t>(bytes));
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  expected_ = static_cast<std::size_t>(bytes);
  return std::nullopt;
}

Body::Fault Body::append(std::span<const std::uint8_t> bytes) noexcept {
  if (const Fault fault = add(bytes)) return fault;
  if (may_hold_ && !may_hold_(reserved_, filled_)) return FetchErrorKind::kBusy;
  return std::nullopt;
}

Body::Fault Body::add(std::span<const std::uint8_t> bytes) noexcept {
  if (expected_) {
    if (bytes.size() > *expected_ - filled_) return FetchErrorKind::kTooLarge;
    std::copy(bytes.begin(), bytes.end(), unfilled().begin());
    advance(bytes.size());
    return std::nullopt;
  }
  if (bytes.size() > max_bytes_ - filled_) return FetchErrorKind::kTooLarge;
  while (!bytes.empty()) {
    if (pieces_.empty() || pieces_.back().size() == pieces_.back().capacity()) {
      const std::size_t next =
          std::clamp(filled_, kFirstPieceBytes, std::max(kFirstPieceBytes, kMaxPieceBytes));
      const std::size_t piece = std::max<std::size_t>(std::min(next, max_bytes_ - filled_), 1);
      if (const Fault fault = reserve(piece)) return fault;
      try {
        pieces_.emplace_back().reserve(piece);
      } catch (const std::bad_alloc&) {
        return FetchErrorKind::kBusy;
      }
    }
    std::vector<std::uint8_t>& piece = pieces_.back();
    const std::size_t count = std::min(bytes.size(), piece.capacity() - piece.size());
    piece.insert(piece.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    filled_ += count;
  }
  return std::nullopt;
}

std::span<std::uint8_t> Body::unfilled() const noexcept { return memory_.bytes.subspan(filled_); }

tl::expected<KeptBytes, FetchErrorKind> Body::take() noexcept {
  if (expected_ && filled_ != *expected_) return tl::unexpected(FetchErrorKind::kTruncated);
  if (!expected_) {
    if (const Fault fault = reserve(filled_)) return tl::unexpected(*fault);
    auto memory = allocate(filled_);
    if (!memory) return memory;
    std::uint8_t* to = memory->bytes.data();
    for (const auto& piece : pieces_) to = std::copy(piece.begin(), piece.end(), to);
    memory_ = std::move(*memory);
  }
  KeptBytes result = std::move(memory_);
  reset();
  return result;
}

tl::expected<bool, FetchErrorKind> BodyUnpacker::append(
    std::span<const std::uint8_t> packed) noexcept {
  const std::size_t known = std::min(known_bytes_, packed.size());
  const auto all = unpack(packed.subspan(known));
  if (!all) return all;
  if (*all) {
    known_bytes_ -= known;
  } else {
    known_bytes_ = std::max(known_bytes_, packed.size() - gunzip_.unread());
  }
  return all;
}

// There may be more without input, too.
tl::expected<bool, FetchErrorKind> BodyUnpacker::unpack(
    std::span<const std::uint8_t> packed) noexcept try {
  gunzip_.give(packed);
  while (left_bytes_ != 0) {
    const auto piece = gunzip_.next();
    if (!piece) {
      const bool busy = piece.error().code() == StatusCode::kBusy;
      return tl::unexpected(busy ? FetchErrorKind::kBusy : FetchErrorKind::kBadAnswer);
    }
    if (piece->empty()) return true;
    if (const auto fault = body_.append(*piece)) return tl::unexpected(*fault);
    left_bytes_ -= std::min(left_bytes_, piece->size());
  }
  return false;
} catch (const std::bad_alloc&) {
  return tl::unexpected(FetchErrorKind::kBusy);
}

}  // namespace framewire::service::source
