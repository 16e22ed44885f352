#include <zlib.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <limits>
#include <new>
#include <store/s3/gunzip.hpp>
#include <store/text.hpp>

namespace framewire::store::s3 {
namespace {

constexpr int kGzipAlone = 16 + MAX_WBITS;  // zlib.h: no other header is taken

}  // namespace

bool is_gzip(std::string_view coding) noexcept {
  return base::equals_ignoring_case(coding, "gzip") || base::equals_ignoring_case(coding, "x-gzip");
}

Gunzip::Gunzip() noexcept
    : stream_(new (std::nothrow) z_stream{}),
      piece_(new (std::nothrow) std::array<std::uint8_t, kPieceBytes>) {
  if (stream_ && inflateInit2(stream_.get(), kGzipAlone) != Z_OK) stream_.reset();
}

Gunzip::~Gunzip() {
  if (stream_) (void)inflateEnd(stream_.get());
}

void Gunzip::give(std::span<const std::uint8_t> packed) noexcept { packed_ = packed; }

Result<std::span<const std::uint8_t>> Gunzip::next() {
  if (!stream_ || !piece_) return fail(StatusCode::kBusy, "memory ran out");
  std::size_t count = 0;
  while (count == 0 && (!packed_.empty() || full_)) {
    if (ended_ && inflateReset(stream_.get()) != Z_OK) {
      return fail(StatusCode::kIoError, "its gzip cannot be read");
    }
    const std::size_t most =
        std::min<std::size_t>(packed_.size(), std::numeric_limits<uInt>::max());
    // zlib writes to none of it.
    stream_->next_in = const_cast<Bytef*>(packed_.data());
    stream_->avail_in = static_cast<uInt>(most);
    stream_->next_out = piece_->data();
    stream_->avail_out = static_cast<uInt>(piece_->size());
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) return fail(StatusCode::kBusy, "memory ran out");
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return fail(StatusCode::kIoError, "it says that it is gzip, and is none");
    }
    packed_ = packed_.subspan(most - stream_->avail_in);
    count = piece_->size() - stream_->avail_out;
    ended_ = result == Z_STREAM_END;
    full_ = !ended_ && stream_->avail_out == 0;
  }
  return std::span<const std::uint8_t>(piece_->data(), count);
}

}  // namespace framewire::store::s3
