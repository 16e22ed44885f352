#include <fmt/format.h>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/ucx/direct.hpp>

namespace framewire::transport::ucx {
namespace {

// As much as a slot of a connection's, whose registrations are what it is about.
constexpr std::size_t kTrialBytes = std::size_t{512} << 10;

bool knows_cuda(const Handles& handles) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  return handles.api->context_query(handles.context, &attributes) == UCS_OK &&
         (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

// Why the card does not read and write memory of the device; empty if it does.
std::string try_card(const Handles& handles, const std::string& card, const DirectWish& wish) {
  auto memory = wish.devices->allocate(wish.device, kTrialBytes);
  if (!memory) return memory.error().message();
  const bool good = registers(handles, *memory, kTrialBytes, UCS_MEMORY_TYPE_CUDA);
  wish.devices->release(wish.device, *memory);
  if (!good) {
    return fmt::format(
        "{} does not register memory of GPU {}: that takes the module nvidia_peermem, or dma-buf "
        "in kernel, driver and UCX; framewire doctor says what is missing",
        card, wish.device);
  }
  auto ordered = wish.devices->settle_writes(wish.device);
  return ordered ? std::string() : ordered.error().message();
}

// The context for it, or why there is none.
Result<std::unique_ptr<Handles>> try_cuda(const Api& api, Lanes lanes, const std::string& device,
                                          std::uint64_t client_id, const DirectWish& wish) {
  // UCX's cache of memory types hears of allocations through hooks, and takes what it has not heard
  // of for the host's, whatever a request says: of the runtime that is linked into this program it
  // hears nothing. Without it UCX asks the driver.
  if (api.set_global == nullptr || api.set_global("MEMTYPE_CACHE", "n") != UCS_OK) {
    return fail(StatusCode::kUnsupported,
                fmt::format("UCX {} does not take MEMTYPE_CACHE=n", api.version));
  }
  auto handles = open_context(api, lanes, device, client_id, true);
  if (!handles) return handles;
  std::string why;
  if (!knows_cuda(**handles)) {
    why = fmt::format(
        "UCX {} here knows no CUDA memory: install one that is built with CUDA, and its "
        "libuct_cuda",
        api.version);
  } else if (wish.proof == DirectWish::Proof::kCard) {
    why = try_card(**handles, device, wish);
  }
  if (!why.empty()) return fail(StatusCode::kUnsupported, why);
  return handles;
}

}  // namespace

bool holds_key(std::span<const std::byte> packed) {
  constexpr std::size_t kHeadBytes = 9;
  if (packed.size() < kHeadBytes) return false;
  auto domains = load<std::uint64_t>(packed.data());
  packed = packed.subspan(kHeadBytes);
  for (; domains != 0 && !packed.empty(); domains &= domains - 1) {
    if (packed[0] != std::byte{0}) return std::to_integer<std::size_t>(packed[0]) < packed.size();
    packed = packed.subspan(1);
  }
  return false;
}

bool registers(const Handles& handles, const std::byte* memory, std::size_t bytes,
               ucs_memory_type_t type) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = const_cast<std::byte*>(memory);
  params.length = bytes;
  params.memory_type = type;
  ucp_mem_h mapped = nullptr;
  if (handles.api->mem_map(handles.context, &params, &mapped) != UCS_OK) return false;
  void* key = nullptr;
  std::size_t key_bytes = 0;
  bool found = false;
  if (handles.api->rkey_pack(handles.context, mapped, &key, &key_bytes) == UCS_OK) {
    found = holds_key({static_cast<const std::byte*>(key), key_bytes});
    handles.api->rkey_buffer_release(key);
  }
  handles.api->mem_unmap(handles.context, mapped);
  return found;
}

Result<std::unique_ptr<Handles>> open_direct(const Api& api, Lanes lanes, const std::string& device,
                                             std::uint64_t client_id, const DirectWish& wish,
                                             Direct& direct) {
  direct.device = wish.device;
  if (wish.devices == nullptr) {
    if (lanes == Lanes::kVerbs) direct.why = "this end names no GPU that its card should work with";
  } else if (wish.device < 0 || wish.device >= wish.devices->count()) {
    direct.why =
        fmt::format("found GPU {}; this machine has {}", wish.device, wish.devices->count());
  } else if (wish.proof == DirectWish::Proof::kHost) {
    direct.devices = wish.devices;
    direct.type = UCS_MEMORY_TYPE_HOST;
  } else {
    Result<std::unique_ptr<Handles>> handles = fail(StatusCode::kUnsupported, "");
    wish.devices->run_on(wish.device,
                         [&] { handles = try_cuda(api, lanes, device, client_id, wish); });
    if (handles) direct.devices = wish.devices;
    if (handles) return handles;
    direct.why = handles.error().message();
  }
  return open_context(api, lanes, device, client_id);
}

}  // namespace framewire::transport::ucx
