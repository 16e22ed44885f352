#include <codec/turbo/memory_source.hpp>

namespace framewire::codec::turbo {
namespace {

constexpr JOCTET kEndOfImage[2] = {0xFF, JPEG_EOI};

void source_nothing(j_decompress_ptr) {}

/// The input has ended: libjpeg goes on with an end of image, after a warning.
boolean source_refill(j_decompress_ptr cinfo) {
  WARNMS(cinfo, JWRN_JPEG_EOF);
  cinfo->src->next_input_byte = kEndOfImage;
  cinfo->src->bytes_in_buffer = sizeof(kEndOfImage);
  return TRUE;
}

void source_skip(j_decompress_ptr cinfo, long bytes) {
  if (bytes <= 0) return;
  if (static_cast<std::size_t>(bytes) > cinfo->src->bytes_in_buffer) {
    source_refill(cinfo);
    return;
  }
  cinfo->src->next_input_byte += bytes;
  cinfo->src->bytes_in_buffer -= static_cast<std::size_t>(bytes);
}

}  // namespace

void MemorySource::attach(j_decompress_ptr cinfo, std::span<const std::uint8_t> bytes) {
  manager_.init_source = &source_nothing;
  manager_.fill_input_buffer = &source_refill;
  manager_.skip_input_data = &source_skip;
  manager_.resync_to_restart = &jpeg_resync_to_restart;
  manager_.term_source = &source_nothing;
  manager_.next_input_byte = bytes.data();
  manager_.bytes_in_buffer = bytes.size();
  cinfo->src = &manager_;
}

void MemorySource::end(j_decompress_ptr cinfo) {
  cinfo->src->next_input_byte = kEndOfImage;
  cinfo->src->bytes_in_buffer = sizeof(kEndOfImage);
  cinfo->unread_marker = 0;
  cinfo->marker->discarded_bytes = 0;
}

}  // namespace framewire::codec::turbo
