#include <fmt/format.h>
#include <algorithm>
#include <base/random.hpp>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/ucx/direct.hpp>
#include <transport/ucx/fabric_address.hpp>
#include <transport/ucx/fabric_port.hpp>
#include <transport/ucx/link.hpp>
#include <utility>

namespace framewire::transport::ucx {
namespace {

// Blob: key (16), the number to show when dialling (8), whether our card reads and writes device
// memory (1), where to dial (listening side only).
constexpr std::size_t kDirectAt = sizeof(MacKey) + sizeof(std::uint64_t);
constexpr std::size_t kFabricHeadBytes = kDirectAt + 1;

class FabricPort final : public Port {
 public:
  FabricPort(const Api& api, std::string device, const MacKey& key, std::uint64_t number,
             std::unique_ptr<Handles> handles, Direct direct)
      : api_(api),
        device_(std::move(device)),
        key_(key),
        number_(number),
        handles_(std::move(handles)),
        direct_(std::move(direct)) {}
  ~FabricPort() override { stop_listening(); }

  Result<void> listen();
  std::vector<std::byte> blob() const override;
  Result<std::unique_ptr<Link>> join(std::span<const std::byte> peer_blob,
                                     std::unique_ptr<Lifeline> lifeline,
                                     base::Clock::time_point deadline) override;

 private:
  Result<void> await_request(std::uint64_t number, Lifeline& lifeline,
                             base::Clock::time_point deadline);
  void judge(std::uint64_t number);
  void stop_listening();

  const Api& api_;
  std::string device_;
  MacKey key_;
  std::uint64_t number_;
  std::unique_ptr<Handles> handles_;
  Direct direct_;
  ucp_listener_h listener_ = nullptr;
  FabricAddress address_;
  std::vector<ucp_conn_request_h> asking_;
  ucp_conn_request_h accepted_ = nullptr;
};

Result<void> FabricPort::listen() {
  auto address = address_of(device_);
  if (!address) return fail(address.error());
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {address->get(), address->bytes()};
  params.conn_handler.cb = [](ucp_conn_request_h request, void* self) {
    static_cast<FabricPort*>(self)->asking_.push_back(request);
  };
  params.conn_handler.arg = this;
  ucs_status_t status = api_.listener_create(handles_->worker, &params, &listener_);
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  if (status == UCS_OK) status = api_.listener_query(listener_, &attributes);
  if (status != UCS_OK) {
    return fail(StatusCode::kUnsupported,
                fmt::format("UCX {} cannot listen on {}: {}", api_.version, device_,
                            api_.status_string(status)));
  }
  address_.storage = attributes.sockaddr;
  return {};
}

std::vector<std::byte> FabricPort::blob() const {
  std::vector<std::byte> blob(kFabricHeadBytes);
  std::copy(key_.begin(), key_.end(), blob.begin());
  store(blob.data() + sizeof(MacKey), number_);
  blob[kDirectAt] = static_cast<std::byte>(direct_.devices != nullptr);
  if (listener_ != nullptr) {
    const auto address = encode(address_);
    blob.insert(blob.end(), address.begin(), address.end());
  }
  return blob;
}

Result<std::unique_ptr<Link>> FabricPort::join(std::span<const std::byte> peer_blob,
                                               std::unique_ptr<Lifeline> lifeline,
                                               base::Clock::time_point deadline) {
  if (peer_blob.size() < kFabricHeadBytes) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a greeting of {} bytes for RDMA", peer_blob.size()));
  }
  Keys keys;
  keys.incoming = key_;
  std::copy_n(peer_blob.begin(), keys.outgoing.size(), keys.outgoing.begin());
  ucp_ep_params_t peer{};
  FabricAddress address;
  if (listener_ != nullptr) {
    const auto number = load<std::uint64_t>(peer_blob.data() + sizeof(MacKey));
    auto met = await_request(number, *lifeline, deadline);
    if (!met) return fail(met.error());
    peer.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    peer.conn_request = std::exchange(accepted_, nullptr);
  } else {
    auto where = decode_address(peer_blob.subspan(kFabricHeadBytes));
    if (!where) return fail(where.error());
    address = *where;
    peer.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    peer.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER | UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID;
    peer.sockaddr = {address.get(), address.bytes()};
  }
  direct_.peer = peer_blob[kDirectAt] != std::byte{0};
  // The listener ends before its worker goes to the link.
  auto link = std::make_unique<UcxLink>(std::move(handles_), keys, std::move(lifeline),
                                        "ucx rdma on " + device_, std::move(direct_));
  auto joined = link->connect(peer);
  stop_listening();
  if (joined) joined = link->meet(device_, deadline);
  if (!joined) return fail(joined.error());
  return link;
}

Result<void> FabricPort::await_request(std::uint64_t number, Lifeline& lifeline,
                                       base::Clock::time_point deadline) {
  while (accepted_ == nullptr) {
    const bool moved = api_.worker_progress(handles_->worker) != 0;
    judge(number);
    if (auto alive = lifeline.check(); !alive) return alive;
    if (base::Clock::now() > deadline) {
      return fail(StatusCode::kDeadline,
                  fmt::format("the peer has not connected over RDMA to {}", device_));
    }
    if (!moved && accepted_ == nullptr) nap();
  }
  return {};
}

// Takes the first that shows the number, and rejects the others; 0 is what those show who know
// none.
void FabricPort::judge(std::uint64_t number) {
  for (ucp_conn_request_h request : std::exchange(asking_, {})) {
    ucp_conn_request_attr_t attributes{};
    attributes.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID;
    const bool known = number != 0 && api_.conn_request_query(request, &attributes) == UCS_OK &&
                       attributes.client_id == number;
    if (known && accepted_ == nullptr) {
      accepted_ = request;
    } else {
      api_.listener_reject(listener_, request);
    }
  }
}

void FabricPort::stop_listening() {
  if (listener_ == nullptr) return;
  judge(0);
  if (accepted_ != nullptr) api_.listener_reject(listener_, std::exchange(accepted_, nullptr));
  api_.listener_destroy(std::exchange(listener_, nullptr));
}

}  // namespace

Result<std::unique_ptr<Port>> make_fabric_port(const Api& api, const std::string& device,
                                               PortSide side, const MacKey& key,
                                               const DirectWish& wish) {
  const auto number = base::random_number<std::uint64_t>();
  if (!number) return fail(number.error());
  Direct direct;
  auto handles = open_direct(api, Lanes::kVerbs, device, *number, wish, direct);
  if (!handles) return fail(handles.error());
  auto port = std::make_unique<FabricPort>(api, device, key, *number, std::move(*handles),
                                           std::move(direct));
  if (side == PortSide::kListens) {
    if (auto listening = port->listen(); !listening) return fail(listening.error());
  }
  return port;
}

}  // namespace framewire::transport::ucx
