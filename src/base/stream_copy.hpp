// Copies whose target this core will not read again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::base {

/// As memcpy(), past the caches where the processor can: the target's lines are not read first, and
/// nothing else is driven out. Other threads and devices see the bytes once it has returned.
void stream_copy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) noexcept;

}  // namespace framewire::base
