// Frame headers: whatever the bytes, decoding gives a header that encodes to the same bytes, or a
// typed error. A wrong checksum is made right first, so that the fields behind it are reached.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <frames/header.hpp>
#include <transport/bytes.hpp>
#include <transport/checksum.hpp>

namespace {

using namespace framewire;

void require(bool truth) {
  if (!truth) std::abort();
}

void check(std::span<const std::byte> bytes) {
  const auto header = frames::decode_picture_header(bytes);
  if (!header) {
    require(header.error().code() == StatusCode::kInvalidInput ||
            header.error().code() == StatusCode::kUnsupported);
    return;
  }
  const auto again = frames::encode(*header);
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  std::uint64_t planes = 0;
  for (const auto& plane : header->planes) planes += plane.bytes();
  require(header->plane_count == 0 ? planes == 0 : planes == header->payload_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  check(bytes);
  std::array<std::byte, frames::kPictureHeaderBytes> whole{};
  std::copy_n(bytes.begin(), std::min(size, whole.size()), whole.begin());
  constexpr std::size_t kSummed = frames::kPictureHeaderBytes - 8;
  transport::store(&whole[kSummed], transport::checksum_of(whole.data(), kSummed));
  check(whole);
  return 0;
}
