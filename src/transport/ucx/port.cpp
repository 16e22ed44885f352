#include <fmt/format.h>
#include <algorithm>
#include <base/random.hpp>
#include <transport/bytes.hpp>
#include <transport/ucx/direct.hpp>
#include <transport/ucx/fabric_port.hpp>
#include <transport/ucx/link.hpp>
#include <transport/ucx/port.hpp>
#include <utility>

namespace framewire::transport::ucx {
namespace {

// Blob: key (16), whether device memory is read and written here (1), the worker's address.
constexpr std::size_t kPortHeadBytes = sizeof(MacKey) + 1;

// Lanes whose workers are reached by UCX's own addresses.
class WorkerPort final : public Port {
 public:
  WorkerPort(std::unique_ptr<Handles> handles, MacKey key, std::vector<std::byte> address,
             std::string device, Direct direct)
      : handles_(std::move(handles)),
        key_(key),
        address_(std::move(address)),
        device_(std::move(device)),
        direct_(std::move(direct)) {}

  std::vector<std::byte> blob() const override {
    std::vector<std::byte> blob(key_.begin(), key_.end());
    blob.push_back(static_cast<std::byte>(direct_.devices != nullptr));
    blob.insert(blob.end(), address_.begin(), address_.end());
    return blob;
  }

  Result<std::unique_ptr<Link>> join(std::span<const std::byte> peer_blob,
                                     std::unique_ptr<Lifeline> lifeline,
                                     base::Clock::time_point deadline) override {
    Keys keys;
    keys.incoming = key_;
    if (peer_blob.size() <= kPortHeadBytes) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("a UCX address of {} bytes", peer_blob.size()));
    }
    std::copy_n(peer_blob.begin(), keys.outgoing.size(), keys.outgoing.begin());
    // UCX trusts that an address is whole; the peer that gave it has been authenticated.
    const std::vector<std::byte> address(
        peer_blob.begin() + static_cast<std::ptrdiff_t>(kPortHeadBytes), peer_blob.end());
    direct_.peer = peer_blob[sizeof(MacKey)] != std::byte{0};
    auto link = std::make_unique<UcxLink>(std::move(handles_), keys, std::move(lifeline), "ucx tcp",
                                          std::move(direct_));
    ucp_ep_params_t peer{};
    peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    peer.address = reinterpret_cast<const ucp_address_t*>(address.data());
    auto joined = link->connect(peer);
    // A peer that leaves while UCX 1.13.1 still opens its lanes over TCP aborts this process.
    if (joined) joined = link->meet(device_, deadline);
    if (!joined) return fail(joined.error());
    return link;
  }

 private:
  std::unique_ptr<Handles> handles_;
  MacKey key_;
  std::vector<std::byte> address_;
  std::string device_;
  Direct direct_;
};

}  // namespace

Result<std::unique_ptr<Port>> make_port(Lanes lanes, const std::string& device, PortSide side,
                                        const DirectWish& wish) {
  const auto& api = Api::get();
  if (!api) return fail(api.error());
  MacKey key;
  if (auto random = base::fill_random(std::as_writable_bytes(std::span(key))); !random) {
    return fail(random.error());
  }
  if (lanes == Lanes::kVerbs) return make_fabric_port(*api, device, side, key, wish);
  Direct direct;
  auto handles = open_direct(*api, lanes, device, 0, wish, direct);
  if (!handles) return fail(handles.error());
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (api->worker_get_address((*handles)->worker, &address, &bytes) != UCS_OK) {
    return fail(StatusCode::kUnsupported, "UCX has no address for its worker");
  }
  const auto* from = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(from, from + bytes);
  api->worker_release_address((*handles)->worker, address);
  return std::make_unique<WorkerPort>(std::move(*handles), key, std::move(copy), device,
                                      std::move(direct));
}

}  // namespace framewire::transport::ucx
