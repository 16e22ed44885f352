// Whether UCX and the card under it take device memory, tried before anything depends on it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <transport/ucx/context.hpp>
#include <transport/ucx/port.hpp>

namespace framewire::transport::ucx {

/// Device memory that a link sends from and receives into; what one connection has found out.
struct Direct {
  DeviceMemory* devices = nullptr;  ///< null: host memory only
  int device = -1;
  ucs_memory_type_t type = UCS_MEMORY_TYPE_CUDA;
  std::string why;    ///< there is none
  bool peer = false;  ///< so does the peer, it says
};

/// Whether a key as ucp_rkey_pack() has packed it is a key to anything. Source: UCX,
/// src/ucp/core/ucp_rkey.c: a map of memory domains in 64 bits, the kind of memory in 8, and for
/// each domain in the map the length of its key, in 8, and the key. That of one that copies only is
/// empty.
[[nodiscard]] bool holds_key(std::span<const std::byte> packed);

/// Whether a card of the context registers that memory, so that it can read and write it. For
/// memory of a device, that device should be current.
[[nodiscard]] bool registers(const Handles& handles, const std::byte* memory, std::size_t bytes,
                             ucs_memory_type_t type);

/// As open_context(), for device memory where all of it works, else without. @param direct  says
/// which, and why
[[nodiscard]] Result<std::unique_ptr<Handles>> open_direct(const Api& api, Lanes lanes,
                                                           const std::string& device,
                                                           std::uint64_t client_id,
                                                           const DirectWish& wish, Direct& direct);

}  // namespace framewire::transport::ucx
