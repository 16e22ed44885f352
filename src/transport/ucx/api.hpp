// UCX as it is found at run time.
#pragma once

#include <ucp/api/ucp.h>
#include <framewire/status.hpp>
#include <string>

namespace framewire::transport::ucx {

/// The functions that we call, from whichever libucp.so.0 the loader finds: the build needs UCX's
/// headers only, and a program that moves no frames pays nothing for UCX's start-up.
struct Api {
  decltype(&::ucp_get_version) get_version = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_context_query) context_query = nullptr;
  decltype(&::ucp_mem_map) mem_map = nullptr;
  decltype(&::ucp_mem_unmap) mem_unmap = nullptr;
  decltype(&::ucp_rkey_pack) rkey_pack = nullptr;
  decltype(&::ucp_rkey_buffer_release) rkey_buffer_release = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_query) worker_query = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close = nullptr;
  decltype(&::ucp_ep_flush_nbx) ep_flush = nullptr;
  decltype(&::ucp_ep_print_info) ep_print_info = nullptr;
  decltype(&::ucp_listener_create) listener_create = nullptr;
  decltype(&::ucp_listener_destroy) listener_destroy = nullptr;
  decltype(&::ucp_listener_query) listener_query = nullptr;
  decltype(&::ucp_listener_reject) listener_reject = nullptr;
  decltype(&::ucp_conn_request_query) conn_request_query = nullptr;
  decltype(&::ucp_am_send_nbx) am_send = nullptr;
  decltype(&::ucp_am_recv_data_nbx) am_recv_data = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;
  /// ucs_global_opts_set_value(), which is no part of UCX's public headers; null where there
  /// is none.
  ucs_status_t (*set_global)(const char* name, const char* value) = nullptr;
  std::string version;

  /// Loads UCX once. Thread-safe; stays loaded.
  /// @return unsupported where there is none, or one older than the build's
  [[nodiscard]] static const Result<Api>& get();
};

}  // namespace framewire::transport::ucx
