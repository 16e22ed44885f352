#include "transport/ucx/port.hpp"
#include <fmt/format.h>
#include <sys/random.h>
#include <algorithm>
#include <utility>
#include "transport/ucx/link.hpp"

namespace framewire::transport::ucx {
namespace {

struct FreeConfig {
  const Api* api;
  void operator()(ucp_config_t* config) const { api->config_release(config); }
};

// What UCX is told beyond its defaults and the user's environment.
Result<void> configure(const Api& api, ucp_config_t* config, Lanes lanes,
                       const std::string& device) {
  std::vector<std::pair<const char*, std::string>> settings;
  if (lanes == Lanes::kShared) {
    // Not sysv, whose segments the user's group may open. Shared memory tells of a dead peer only
    // if asked to.
    settings.emplace_back("TLS", "posix,cma");
    settings.emplace_back("MM_ERROR_HANDLING", "y");
  } else {
    if (device.empty()) {
      return fail(StatusCode::kInvalidInput,
                  "UCX's TCP needs a network device to be bound to, such as lo or eth0");
    }
    settings.emplace_back("TLS", "tcp");
    settings.emplace_back("NET_DEVICES", device);
  }
  // The receiver fetches: it never hands out a key to its memory.
  settings.emplace_back("RNDV_SCHEME", "get_zcopy");
  for (const auto& [name, value] : settings) {
    const ucs_status_t status = api.config_modify(config, name, value.c_str());
    if (status != UCS_OK) {
      return fail(StatusCode::kUnsupported,
                  fmt::format("UCX {} does not take {}={}", api.version, name, value));
    }
  }
  return {};
}

Result<std::unique_ptr<Handles>> open(const Api& api, Lanes lanes, const std::string& device) {
  ucp_config_t* raw = nullptr;
  if (api.config_read(nullptr, nullptr, &raw) != UCS_OK) {
    return fail(StatusCode::kInvalidInput, "UCX cannot read its settings; look at UCX_* variables");
  }
  const std::unique_ptr<ucp_config_t, FreeConfig> config(raw, FreeConfig{&api});
  if (auto set = configure(api, raw, lanes, device); !set) return fail(set.error());
  auto handles = std::make_unique<Handles>();
  handles->api = &api;
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM;
  params.estimated_num_eps = 1;
  ucs_status_t status =
      api.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, raw, &handles->context);
  if (status == UCS_OK) {
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    status = api.worker_create(handles->context, &worker, &handles->worker);
  }
  if (status != UCS_OK) {
    return fail(StatusCode::kUnsupported,
                fmt::format("UCX {} does not start: {}", api.version, api.status_string(status)));
  }
  return handles;
}

class UcxPort final : public Port {
 public:
  UcxPort(std::unique_ptr<Handles> handles, MacKey key, std::vector<std::byte> address,
          std::string name)
      : handles_(std::move(handles)),
        key_(key),
        address_(std::move(address)),
        name_(std::move(name)) {}

  std::vector<std::byte> blob() const override {
    std::vector<std::byte> blob(key_.begin(), key_.end());
    blob.insert(blob.end(), address_.begin(), address_.end());
    return blob;
  }

  Result<std::unique_ptr<Link>> join(std::span<const std::byte> peer_blob,
                                     std::unique_ptr<Lifeline> lifeline) override {
    Keys keys;
    keys.incoming = key_;
    if (peer_blob.size() <= keys.outgoing.size()) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("a UCX address of {} bytes", peer_blob.size()));
    }
    std::copy_n(peer_blob.begin(), keys.outgoing.size(), keys.outgoing.begin());
    // UCX trusts that an address is whole; the peer that gave it has been authenticated.
    const std::vector<std::byte> address(peer_blob.begin() + 16, peer_blob.end());
    auto link = std::make_unique<UcxLink>(std::move(handles_), keys, std::move(lifeline), name_);
    if (auto joined = link->connect(address.data()); !joined) return fail(joined.error());
    return link;
  }

 private:
  std::unique_ptr<Handles> handles_;
  MacKey key_;
  std::vector<std::byte> address_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Port>> make_port(Lanes lanes, const std::string& device) {
  const auto& api = Api::get();
  if (!api) return fail(api.error());
  auto handles = open(*api, lanes, device);
  if (!handles) return fail(handles.error());
  MacKey key;
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return fail(StatusCode::kBusy, "the system has no random bytes for a key");
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (api->worker_get_address((*handles)->worker, &address, &bytes) != UCS_OK) {
    return fail(StatusCode::kUnsupported, "UCX has no address for its worker");
  }
  const auto* from = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(from, from + bytes);
  api->worker_release_address((*handles)->worker, address);
  const char* name = lanes == Lanes::kShared ? "ucx shared memory" : "ucx tcp";
  return std::make_unique<UcxPort>(std::move(*handles), key, std::move(copy), name);
}

}  // namespace framewire::transport::ucx
