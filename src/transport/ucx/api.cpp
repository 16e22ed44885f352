#include <dlfcn.h>
#include <fmt/format.h>
#include <transport/ucx/api.hpp>

namespace framewire::transport::ucx {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* ucp, void* ucs, Api& api) {
  return find(ucp, "ucp_get_version", api.get_version) &&
         find(ucp, "ucp_init_version", api.init_version) && find(ucp, "ucp_cleanup", api.cleanup) &&
         find(ucp, "ucp_config_read", api.config_read) &&
         find(ucp, "ucp_config_modify", api.config_modify) &&
         find(ucp, "ucp_config_release", api.config_release) &&
         find(ucp, "ucp_context_query", api.context_query) &&
         find(ucp, "ucp_mem_map", api.mem_map) && find(ucp, "ucp_mem_unmap", api.mem_unmap) &&
         find(ucp, "ucp_rkey_pack", api.rkey_pack) &&
         find(ucp, "ucp_rkey_buffer_release", api.rkey_buffer_release) &&
         find(ucp, "ucp_worker_create", api.worker_create) &&
         find(ucp, "ucp_worker_destroy", api.worker_destroy) &&
         find(ucp, "ucp_worker_progress", api.worker_progress) &&
         find(ucp, "ucp_worker_query", api.worker_query) &&
         find(ucp, "ucp_worker_get_address", api.worker_get_address) &&
         find(ucp, "ucp_worker_release_address", api.worker_release_address) &&
         find(ucp, "ucp_worker_set_am_recv_handler", api.set_am_recv_handler) &&
         find(ucp, "ucp_ep_create", api.ep_create) && find(ucp, "ucp_ep_close_nbx", api.ep_close) &&
         find(ucp, "ucp_ep_flush_nbx", api.ep_flush) &&
         find(ucp, "ucp_ep_print_info", api.ep_print_info) &&
         find(ucp, "ucp_listener_create", api.listener_create) &&
         find(ucp, "ucp_listener_destroy", api.listener_destroy) &&
         find(ucp, "ucp_listener_query", api.listener_query) &&
         find(ucp, "ucp_listener_reject", api.listener_reject) &&
         find(ucp, "ucp_conn_request_query", api.conn_request_query) &&
         find(ucp, "ucp_am_send_nbx", api.am_send) &&
         find(ucp, "ucp_am_recv_data_nbx", api.am_recv_data) &&
         find(ucp, "ucp_request_check_status", api.request_check_status) &&
         find(ucp, "ucp_request_free", api.request_free) &&
         find(ucs, "ucs_status_string", api.status_string);
}

// UCX reports broken connections on standard output, which is the program's; we report them as
// statuses. A level set in the environment is the user's wish.
void quieten(const Api& api) {
  const bool ours = api.set_global != nullptr && getenv("UCX_LOG_LEVEL") == nullptr;
  if (ours) api.set_global("LOG_LEVEL", "fatal");
}

Result<Api> load_api() {
  void* ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  void* ucs = dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL);
  if (ucp == nullptr || ucs == nullptr) {
    return fail(StatusCode::kUnsupported,
                "no UCX on this machine (libucp.so.0); its packages are libucx0 or ucx");
  }
  Api api;
  if (!find_all(ucp, ucs, api)) {
    return fail(StatusCode::kUnsupported, "the UCX on this machine is too old; 1.13 or newer");
  }
  static_cast<void>(find(ucs, "ucs_global_opts_set_value", api.set_global));
  quieten(api);
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  api.get_version(&major, &minor, &release);
  api.version = fmt::format("{}.{}.{}", major, minor, release);
  return api;
}

}  // namespace

const Result<Api>& Api::get() {
  static const Result<Api> api = load_api();
  return api;
}

}  // namespace framewire::transport::ucx
