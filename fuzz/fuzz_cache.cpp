// Files of the cache: the bytes are an entry's file, and the head of one.
//
// Beyond not crashing: an entry whose header is accepted has parts that add up to the file, and is
// written as the very same header again; a record that is read is written as the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <service/cache/entry.hpp>
#include <service/http/answer_cache.hpp>
#include <service/http/images.hpp>
#include <span>
#include <string>

namespace {

namespace cache = framewire::service::cache;
namespace http = framewire::service::http;

void require(bool held) {
  if (!held) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  if (const auto header = cache::read_header(bytes, size)) {
    require(cache::EntryHeader::kBytes + header->head_bytes + header->body_bytes == size);
    const auto written = cache::write_header(*header);
    require(std::equal(written.begin(), written.end(), bytes.begin()));
    const auto head =
        bytes.subspan(cache::EntryHeader::kBytes, static_cast<std::size_t>(header->head_bytes));
    (void)cache::checksum_of(*header, head,
                             bytes.subspan(cache::EntryHeader::kBytes + head.size()));
  }
  if (const auto record = http::read_source_record(bytes)) {
    const std::string again = http::to_bytes(*record);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end(),
                       [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }));
  }
  http::ImageOutcome outcome;
  if (http::read_answer(bytes, outcome)) {
    require(http::describe_answer(outcome).size() == size);
  }
  return 0;
}
