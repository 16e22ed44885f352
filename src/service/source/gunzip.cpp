#include <zlib.h>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <service/source/body.hpp>
#include <service/source/gunzip.hpp>

namespace framewire::service::source {
namespace {

constexpr std::size_t kUnpackedBytes = 64 * 1'024;  // at once
constexpr int kGzipAlone = 16 + MAX_WBITS;          // zlib.h: no other header is taken

}  // namespace

Gunzip::Gunzip() noexcept : stream_(new (std::nothrow) z_stream{}) {
  if (stream_ && inflateInit2(stream_.get(), kGzipAlone) != Z_OK) stream_.reset();
}

Gunzip::~Gunzip() {
  if (stream_) (void)inflateEnd(stream_.get());
}

std::optional<FetchErrorKind> Gunzip::append(std::span<const std::uint8_t> packed,
                                             Body& body) noexcept {
  if (!stream_) return FetchErrorKind::kBusy;
  if (packed.size() > std::numeric_limits<uInt>::max()) return FetchErrorKind::kTooLarge;
  std::array<std::uint8_t, kUnpackedBytes> unpacked;
  // zlib writes to none of it.
  stream_->next_in = const_cast<Bytef*>(packed.data());
  stream_->avail_in = static_cast<uInt>(packed.size());
  // A full piece may leave more behind that has no input to wait for.
  for (bool full = false; stream_->avail_in != 0 || full;) {
    if (ended_ && inflateReset(stream_.get()) != Z_OK) return FetchErrorKind::kBadAnswer;
    stream_->next_out = unpacked.data();
    stream_->avail_out = static_cast<uInt>(unpacked.size());
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) return FetchErrorKind::kBusy;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return FetchErrorKind::kBadAnswer;
    }
    const std::size_t count = unpacked.size() - stream_->avail_out;
    if (const auto fault = body.append(std::span(unpacked).first(count))) return fault;
    ended_ = result == Z_STREAM_END;
    full = !ended_ && stream_->avail_out == 0;
  }
  return std::nullopt;
}

}  // namespace framewire::service::source
