// A program of somebody else's that uses UCX as its manual says, with one-sided reads and writes:
// the attacker, and the careless target that shows what an attack does where nothing stops it.
#pragma once

#include <ucp/api/ucp.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <transport/ucx/api.hpp>
#include <transport/ucx/fabric_address.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::testing {

/// What UCX is told, without the prefix UCX_.
using UcxSettings = std::vector<std::pair<std::string, std::string>>;

/// A context with UCP_FEATURE_RMA, its worker, and at most one endpoint. One thread.
class OneSided {
 public:
  /// @param client_id    shown where a socket address is dialled
  /// @param patience_ms  how long an operation may take before it is given up, at least
  /// @return unsupported where UCX, or a lane in these settings, is not there
  [[nodiscard]] static Result<std::unique_ptr<OneSided>> open(const UcxSettings& settings,
                                                              std::uint64_t client_id = 0,
                                                              int patience_ms = 0);
  ~OneSided();
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const;
  /// Makes memory known to UCX, and its key fit to be sent. @param protection  UCP_MEM_MAP_PROT_…
  [[nodiscard]] std::vector<std::byte> map(std::span<std::byte> memory, unsigned protection = 0);
  void unmap();

  [[nodiscard]] bool reach(std::span<const std::byte> worker_address);
  [[nodiscard]] bool reach(const ucx::FabricAddress& address);
  /// Lets anyone in. @return where that is; the address given with a port
  [[nodiscard]] ucx::FabricAddress listen(const ucx::FabricAddress& address);
  /// @return whether the endpoint came up
  bool meet(const std::function<void()>& pump);
  /// Writes or reads a place that it has no right to, under a key of whatever origin, and waits
  /// until UCX calls it done, refused, or `rounds` of `pump` have passed.
  /// @return whether UCX called it done
  bool put(std::span<const std::byte> bytes, const void* place, std::span<const std::byte> key,
           const std::function<void()>& pump);
  bool get(std::span<std::byte> bytes, const void* place, std::span<const std::byte> key,
           const std::function<void()>& pump);
  void step() { api_.worker_progress(worker_); }

 private:
  struct Calls;
  OneSided(const ucx::Api& api, int patience_ms) : api_(api), patience_ms_(patience_ms) {}
  bool create(ucp_ep_params_t peer);
  bool settle(ucs_status_ptr_t request, const std::function<void()>& pump);
  [[nodiscard]] static const Calls* calls();

  const ucx::Api& api_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_listener_h listener_ = nullptr;
  ucp_ep_h ep_ = nullptr;
  std::vector<ucp_mem_h> mapped_;
  int patience_ms_;
  bool broken_ = false;
};

}  // namespace framewire::transport::testing
