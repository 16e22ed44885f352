#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>
#include <transport/ucx/context.hpp>

namespace framewire::transport::ucx {
namespace {

struct FreeConfig {
  const Api* api;
  void operator()(ucp_config_t* config) const { api->config_release(config); }
};

ucs_status_t start(const Api& api, const ucp_config_t* config, std::uint64_t client_id,
                   Handles& handles) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM;
  params.estimated_num_eps = 1;
  const ucs_status_t status =
      api.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &handles.context);
  if (status != UCS_OK) return status;
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_CLIENT_ID;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker.client_id = client_id;
  return api.worker_create(handles.context, &worker, &handles.worker);
}

}  // namespace

Result<std::vector<std::pair<const char*, std::string>>> settings_of(Lanes lanes,
                                                                     const std::string& device,
                                                                     bool cuda) {
  std::vector<std::pair<const char*, std::string>> settings;
  // Copies device memory within this process, and finds the dma-buf of an allocation for the card.
  const std::string copier = cuda ? ",cuda_copy" : "";
  // The receiver fetches: it never hands out a key to its memory. Only a card fetches from device
  // memory; lanes without one, which tests use, have ways of their own.
  if (!cuda || lanes == Lanes::kVerbs) settings.emplace_back("RNDV_SCHEME", "get_zcopy");
  if (device.empty()) {
    return fail(StatusCode::kInvalidInput,
                lanes == Lanes::kTcp
                    ? "UCX's TCP needs a network device to be bound to, such as lo or eth0"
                    : "RDMA needs a device and port to be bound to, such as mlx5_0:1");
  }
  settings.emplace_back("NET_DEVICES", device);
  if (lanes == Lanes::kTcp) {
    settings.emplace_back("TLS", "tcp" + copier);
    // A segment of UCX's usual 8 KiB holds no message of as much with its head.
    settings.emplace_back("TCP_TX_SEG_SIZE", "64k");
    settings.emplace_back("TCP_RX_SEG_SIZE", "64k");
    return settings;
  }
  settings.emplace_back("TLS", "rc_verbs,rc_mlx5" + copier);
  settings.emplace_back("SOCKADDR_TLS_PRIORITY", "rdmacm");
  // A registration must end with the transfer that it was made for: one that UCX keeps leaves the
  // card open to its key. UCX has had two caches, and 1.13 takes the card's setting by a name other
  // than that of its variable. A name that it lacks UCX stores and ignores, so the tests look.
  settings.emplace_back("RCACHE_ENABLE", "n");
  settings.emplace_back("IB_REG_METHODS", "direct");
  settings.emplace_back("REG_METHODS", "direct");
  return settings;
}

Result<std::unique_ptr<Handles>> open_context(const Api& api, Lanes lanes,
                                              const std::string& device, std::uint64_t client_id,
                                              bool cuda) {
  const auto settings = settings_of(lanes, device, cuda);
  if (!settings) return fail(settings.error());
  ucp_config_t* raw = nullptr;
  if (api.config_read(nullptr, nullptr, &raw) != UCS_OK) {
    return fail(StatusCode::kInvalidInput, "UCX cannot read its settings; look at UCX_* variables");
  }
  const std::unique_ptr<ucp_config_t, FreeConfig> config(raw, FreeConfig{&api});
  for (const auto& [name, value] : *settings) {
    if (api.config_modify(raw, name, value.c_str()) != UCS_OK) {
      return fail(StatusCode::kUnsupported,
                  fmt::format("UCX {} does not take {}={}", api.version, name, value));
    }
  }
  auto handles = std::make_unique<Handles>();
  handles->api = &api;
  if (const ucs_status_t status = start(api, raw, client_id, *handles); status != UCS_OK) {
    return fail(StatusCode::kUnsupported,
                fmt::format("UCX {} does not start{}: {}", api.version,
                            device.empty() ? "" : " on " + device, api.status_string(status)));
  }
  return handles;
}

// An endpoint's description has a line "#   lane[0]:  2:rc_verbs/mlx5_0:1.0 md[1] …" for each lane;
// 1.13 has no other way to ask.
std::string transport_of(const Api& api, ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const memory = open_memstream(&text, &length);
  if (memory == nullptr) return {};
  api.ep_print_info(endpoint, memory);
  std::fclose(memory);
  const std::string whole(text, length);
  std::free(text);
  const std::size_t lane = whole.find("lane[0]:");
  if (lane == std::string::npos) return {};
  const std::size_t slash = whole.find('/', lane);
  const std::size_t colon = whole.rfind(':', slash);
  if (slash == std::string::npos || colon < lane) return {};
  return whole.substr(colon + 1, slash - colon - 1);
}

}  // namespace framewire::transport::ucx
