// UCX contexts as we use them.
#pragma once

#include <time.h>
#include <ucp/api/ucp.h>
#include <memory>
#include <string>
#include <transport/ucx/api.hpp>
#include <transport/ucx/port.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::ucx {

/// Owns what UCX has created; ends it in order.
struct Handles {
  const Api* api = nullptr;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (worker != nullptr) api->worker_destroy(worker);
    if (context != nullptr) api->cleanup(context);
  }
};

/// What UCX is told beyond its defaults and the user's environment; names without "UCX_".
/// @param cuda  for CUDA memory, too, which a UCX without it does not start with
/// @return invalid_input where the lanes need a device and none is named
[[nodiscard]] Result<std::vector<std::pair<const char*, std::string>>> settings_of(
    Lanes lanes, const std::string& device, bool cuda = false);

/// A context with UCP_FEATURE_AM and nothing else, and its worker.
/// @param client_id  shown to whoever the worker connects to by socket address
/// @return as settings_of(); unsupported where UCX does not start so
[[nodiscard]] Result<std::unique_ptr<Handles>> open_context(const Api& api, Lanes lanes,
                                                            const std::string& device,
                                                            std::uint64_t client_id = 0,
                                                            bool cuda = false);

/// The transport of UCX's that an endpoint has taken, "rc_verbs" say; "" where UCX does not tell.
[[nodiscard]] std::string transport_of(const Api& api, ucp_ep_h endpoint);

/// A short sleep between two looks: UCX's wake-up feature would slow every message down for the
/// sake of sleeping well.
inline void nap() {
  const timespec brief{0, 50'000};
  nanosleep(&brief, nullptr);
}

}  // namespace framewire::transport::ucx
