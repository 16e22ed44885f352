#include <algorithm>
#include <codec/turbo/memory_source.hpp>

namespace framewire::codec::turbo {
namespace {

constexpr JOCTET kEndOfImage[2] = {0xFF, JPEG_EOI};
constexpr std::size_t kWindowBytes = 64 << 10;  // read between two calls of `look`

void source_nothing(j_decompress_ptr) {}

}  // namespace

MemorySource& MemorySource::self(j_decompress_ptr cinfo) {
  return *static_cast<Manager*>(cinfo->src)->owner;
}

/// Gives libjpeg the next window. Behind the end of the input it gets an end of image, with a
/// warning.
boolean MemorySource::refill(j_decompress_ptr cinfo) {
  MemorySource& source = self(cinfo);
  source.look_(cinfo);
  if (source.rest_.empty()) {
    WARNMS(cinfo, JWRN_JPEG_EOF);
    cinfo->src->next_input_byte = kEndOfImage;
    cinfo->src->bytes_in_buffer = sizeof(kEndOfImage);
    return TRUE;
  }
  const auto window = source.rest_.first(std::min(kWindowBytes, source.rest_.size()));
  source.rest_ = source.rest_.subspan(window.size());
  cinfo->src->next_input_byte = window.data();
  cinfo->src->bytes_in_buffer = window.size();
  return TRUE;
}

void MemorySource::skip(j_decompress_ptr cinfo, long bytes) {
  if (bytes <= 0) return;
  auto left = static_cast<std::size_t>(bytes);
  jpeg_source_mgr& source = *cinfo->src;
  while (left > source.bytes_in_buffer) {
    const bool last = self(cinfo).rest_.empty();
    left -= source.bytes_in_buffer;
    refill(cinfo);
    if (last) return;
  }
  source.next_input_byte += left;
  source.bytes_in_buffer -= left;
}

void MemorySource::attach(j_decompress_ptr cinfo, std::span<const std::uint8_t> bytes, Look look) {
  manager_.owner = this;
  manager_.init_source = &source_nothing;
  manager_.fill_input_buffer = &refill;
  manager_.skip_input_data = &skip;
  manager_.resync_to_restart = &jpeg_resync_to_restart;
  manager_.term_source = &source_nothing;
  manager_.next_input_byte = bytes.data();
  manager_.bytes_in_buffer = std::min(kWindowBytes, bytes.size());
  rest_ = bytes.subspan(manager_.bytes_in_buffer);
  look_ = look;
  cinfo->src = &manager_;
}

void MemorySource::end(j_decompress_ptr cinfo) {
  self(cinfo).rest_ = {};
  cinfo->src->next_input_byte = kEndOfImage;
  cinfo->src->bytes_in_buffer = sizeof(kEndOfImage);
  cinfo->unread_marker = 0;
  cinfo->marker->discarded_bytes = 0;
}

}  // namespace framewire::codec::turbo
