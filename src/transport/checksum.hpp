// Checksums of payloads, against damage, not against malice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::transport {

/// XXH3-64 of the bytes. Source: xxHash, doc/xxhash_spec.md.
[[nodiscard]] std::uint64_t checksum_of(const std::byte* bytes, std::uint64_t count) noexcept;

}  // namespace framewire::transport
