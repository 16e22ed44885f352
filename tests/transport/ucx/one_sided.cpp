#include <dlfcn.h>
#include <base/clock.hpp>
#include <chrono>
#include <cstring>
#include <tests/transport/ucx/one_sided.hpp>

namespace framewire::transport::testing {

// What Framewire itself has no use for.
struct OneSided::Calls {
  decltype(&::ucp_mem_map) mem_map;
  decltype(&::ucp_mem_unmap) mem_unmap;
  decltype(&::ucp_rkey_pack) rkey_pack;
  decltype(&::ucp_rkey_buffer_release) rkey_buffer_release;
  decltype(&::ucp_ep_rkey_unpack) rkey_unpack;
  decltype(&::ucp_rkey_destroy) rkey_destroy;
  decltype(&::ucp_put_nbx) put;
  decltype(&::ucp_get_nbx) get;
  decltype(&::ucp_ep_flush_nbx) flush;
};

namespace {

// What is not done after so many rounds will not be: the control needs some hundreds.
constexpr int kRounds = 20'000;

template <typename Function>
bool find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(dlopen("libucp.so.0", RTLD_NOW), name));
  return function != nullptr;
}

}  // namespace

const OneSided::Calls* OneSided::calls() {
  static Calls calls{};
  static const bool complete =
      find("ucp_mem_map", calls.mem_map) && find("ucp_mem_unmap", calls.mem_unmap) &&
      find("ucp_rkey_pack", calls.rkey_pack) &&
      find("ucp_rkey_buffer_release", calls.rkey_buffer_release) &&
      find("ucp_ep_rkey_unpack", calls.rkey_unpack) &&
      find("ucp_rkey_destroy", calls.rkey_destroy) && find("ucp_put_nbx", calls.put) &&
      find("ucp_get_nbx", calls.get) && find("ucp_ep_flush_nbx", calls.flush);
  return complete ? &calls : nullptr;
}

Result<std::unique_ptr<OneSided>> OneSided::open(const UcxSettings& settings,
                                                 std::uint64_t client_id, int patience_ms) {
  const auto& api = ucx::Api::get();
  if (!api) return fail(api.error());
  if (calls() == nullptr) return fail(StatusCode::kUnsupported, "no one-sided calls in this UCX");
  std::unique_ptr<OneSided> self(new OneSided(*api, patience_ms));
  ucp_config_t* config = nullptr;
  if (api->config_read(nullptr, nullptr, &config) != UCS_OK) {
    return fail(StatusCode::kUnsupported, "UCX cannot read its settings");
  }
  for (const auto& [name, value] : settings) {
    api->config_modify(config, name.c_str(), value.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM;
  ucs_status_t status =
      api->init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &self->context_);
  api->config_release(config);
  if (status == UCS_OK) {
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_CLIENT_ID;
    worker.client_id = client_id;
    status = api->worker_create(self->context_, &worker, &self->worker_);
  }
  if (status != UCS_OK) return fail(StatusCode::kUnsupported, api->status_string(status));
  return self;
}

OneSided::~OneSided() {
  if (ep_ != nullptr) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t request = api_.ep_close(ep_, &param);
    if (UCS_PTR_IS_PTR(request)) {
      for (int i = 0; i < kRounds && api_.request_check_status(request) == UCS_INPROGRESS; ++i) {
        step();
      }
      api_.request_free(request);
    }
  }
  unmap();
  if (listener_ != nullptr) api_.listener_destroy(listener_);
  if (worker_ != nullptr) api_.worker_destroy(worker_);
  if (context_ != nullptr) api_.cleanup(context_);
}

std::vector<std::byte> OneSided::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  api_.worker_get_address(worker_, &address, &bytes);
  const auto* from = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(from, from + bytes);
  api_.worker_release_address(worker_, address);
  return copy;
}

std::vector<std::byte> OneSided::map(std::span<std::byte> memory, unsigned protection) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  if (protection != 0) params.field_mask |= UCP_MEM_MAP_PARAM_FIELD_PROT;
  params.address = memory.data();
  params.length = memory.size();
  params.prot = protection;
  ucp_mem_h mapped = nullptr;
  if (calls()->mem_map(context_, &params, &mapped) != UCS_OK) return {};
  mapped_.push_back(mapped);
  void* key = nullptr;
  std::size_t bytes = 0;
  if (calls()->rkey_pack(context_, mapped, &key, &bytes) != UCS_OK) return {};
  const auto* from = static_cast<const std::byte*>(key);
  std::vector<std::byte> copy(from, from + bytes);
  calls()->rkey_buffer_release(key);
  return copy;
}

void OneSided::unmap() {
  for (ucp_mem_h mapped : mapped_) calls()->mem_unmap(context_, mapped);
  mapped_.clear();
}

bool OneSided::create(ucp_ep_params_t peer) {
  peer.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  peer.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  peer.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t) {
    static_cast<OneSided*>(self)->broken_ = true;
  };
  peer.err_handler.arg = this;
  return api_.ep_create(worker_, &peer, &ep_) == UCS_OK;
}

bool OneSided::reach(std::span<const std::byte> worker_address) {
  ucp_ep_params_t peer{};
  peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  peer.address = reinterpret_cast<const ucp_address_t*>(worker_address.data());
  return create(peer);
}

bool OneSided::reach(const ucx::FabricAddress& address) {
  ucp_ep_params_t peer{};
  peer.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
  peer.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER | UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID;
  peer.sockaddr = {address.get(), address.bytes()};
  return create(peer);
}

ucx::FabricAddress OneSided::listen(const ucx::FabricAddress& address) {
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {address.get(), address.bytes()};
  params.conn_handler.cb = [](ucp_conn_request_h request, void* self) {
    ucp_ep_params_t peer{};
    peer.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    peer.conn_request = request;
    static_cast<OneSided*>(self)->create(peer);
  };
  params.conn_handler.arg = this;
  ucx::FabricAddress where;
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  if (api_.listener_create(worker_, &params, &listener_) == UCS_OK &&
      api_.listener_query(listener_, &attributes) == UCS_OK) {
    where.storage = attributes.sockaddr;
  }
  return where;
}

bool OneSided::meet(const std::function<void()>& pump) {
  const ucp_request_param_t param{};
  return settle(calls()->flush(ep_, &param), pump) && !broken_;
}

bool OneSided::settle(ucs_status_ptr_t request, const std::function<void()>& pump) {
  if (!UCS_PTR_IS_PTR(request)) return request == nullptr;
  const auto end = base::Clock::now() + std::chrono::milliseconds(patience_ms_);
  for (int i = 0; api_.request_check_status(request) == UCS_INPROGRESS; ++i) {
    if (i > kRounds && base::Clock::now() > end) break;
    step();
    pump();
  }
  const bool done = api_.request_check_status(request) == UCS_OK;
  api_.request_free(request);
  return done;
}

bool OneSided::put(std::span<const std::byte> bytes, const void* place,
                   std::span<const std::byte> key, const std::function<void()>& pump) {
  ucp_rkey_h rkey = nullptr;
  if (calls()->rkey_unpack(ep_, key.data(), &rkey) != UCS_OK) return false;
  const ucp_request_param_t param{};
  const bool sent = settle(calls()->put(ep_, bytes.data(), bytes.size(),
                                        reinterpret_cast<std::uint64_t>(place), rkey, &param),
                           pump);
  // A put that is done has only left; a flush means that it has been answered.
  const bool done = settle(calls()->flush(ep_, &param), pump);
  calls()->rkey_destroy(rkey);
  return sent && done && !broken_;
}

bool OneSided::get(std::span<std::byte> bytes, const void* place, std::span<const std::byte> key,
                   const std::function<void()>& pump) {
  ucp_rkey_h rkey = nullptr;
  if (calls()->rkey_unpack(ep_, key.data(), &rkey) != UCS_OK) return false;
  const ucp_request_param_t param{};
  const bool done = settle(calls()->get(ep_, bytes.data(), bytes.size(),
                                        reinterpret_cast<std::uint64_t>(place), rkey, &param),
                           pump);
  calls()->rkey_destroy(rkey);
  return done && !broken_;
}

}  // namespace framewire::transport::testing
