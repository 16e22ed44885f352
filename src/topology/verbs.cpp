// libibverbs as its manual pages document it, loaded at run time.
#include <fmt/format.h>
#include <cerrno>
#include <cstring>
#include <topology/library.hpp>
#include <topology/library_facts.hpp>
#include <topology/verbs_loop.hpp>
#include <utility>

namespace framewire::topology {
namespace {

using IbvDeviceHandle = struct IbvDevice*;
using IbvContextHandle = struct IbvContext*;
using Domain = struct IbvDomain*;

struct Verbs {
  explicit Verbs(Library& library)
      : list(library.find<IbvDeviceHandle*(int*)>("ibv_get_device_list")),
        free_list(library.find<void(IbvDeviceHandle*)>("ibv_free_device_list")),
        name(library.find<const char*(IbvDeviceHandle)>("ibv_get_device_name")),
        open(library.find<IbvContextHandle(IbvDeviceHandle)>("ibv_open_device")),
        close(library.find<int(IbvContextHandle)>("ibv_close_device")),
        allocate(library.find<Domain(IbvContextHandle)>("ibv_alloc_pd")),
        free(library.find<int(Domain)>("ibv_dealloc_pd")),
        register_dmabuf(
            library.find<void*(Domain, std::uint64_t, std::size_t, std::uint64_t, int, int)>(
                "ibv_reg_dmabuf_mr")) {}

  [[nodiscard]] bool complete() const {
    return list && free_list && name && open && close && allocate && free;
  }

  IbvDeviceHandle* (*list)(int*);
  void (*free_list)(IbvDeviceHandle*);
  const char* (*name)(IbvDeviceHandle);
  IbvContextHandle (*open)(IbvDeviceHandle);
  int (*close)(IbvContextHandle);
  Domain (*allocate)(IbvContextHandle);
  int (*free)(Domain);
  void* (*register_dmabuf)(Domain, std::uint64_t, std::size_t, std::uint64_t, int, int);
};

void try_dmabuf(const Verbs& verbs, Domain domain, VerbsDevice& device) {
  if (verbs.register_dmabuf == nullptr) {
    device.dmabuf = false;
    device.evidence = "this libibverbs has no ibv_reg_dmabuf_mr, which came with rdma-core 34";
    return;
  }
  constexpr std::size_t kPageBytes = 4096;
  errno = 0;
  // No memory can be registered with a file descriptor of -1, so there is nothing to undo.
  (void)verbs.register_dmabuf(domain, 0, kPageBytes, 0, 0, -1);
  const int code = errno;
  device.evidence = fmt::format("ibv_reg_dmabuf_mr with no file: {}", std::strerror(code));
  if (code == EBADF) device.dmabuf = true;
  if (code == EOPNOTSUPP || code == EPROTONOSUPPORT) device.dmabuf = false;
}

VerbsDevice read_device(Library& library, const Verbs& verbs, IbvDeviceHandle handle) {
  VerbsDevice device;
  device.name = verbs.name(handle);
  errno = 0;
  const IbvContextHandle context = verbs.open(handle);
  if (context == nullptr) {
    device.evidence = fmt::format("ibv_open_device: {}", std::strerror(errno));
    return device;
  }
  if (const Domain domain = verbs.allocate(context); domain != nullptr) {
    try_dmabuf(verbs, domain, device);
    (void)verbs.free(domain);
  } else {
    device.evidence = fmt::format("ibv_alloc_pd: {}", std::strerror(errno));
  }
  LoopResult loop = try_loop(library, context, device.name);
  device.loops = loop.works;
  device.loop_evidence = std::move(loop.evidence);
  (void)verbs.close(context);
  return device;
}

}  // namespace

VerbsFacts ask_verbs() {
  VerbsFacts facts;
  facts.library.asked = true;
  Library library("libibverbs.so.1");
  const Verbs verbs(library);
  facts.library.loaded = library.loaded() && verbs.complete();
  if (!facts.library.loaded) {
    facts.library.evidence = library.error();
    return facts;
  }
  int count = 0;
  errno = 0;
  IbvDeviceHandle* const list = verbs.list(&count);
  if (list == nullptr) {
    facts.library.evidence = fmt::format("ibv_get_device_list: {}", std::strerror(errno));
    return facts;
  }
  facts.library.working = true;
  for (int i = 0; i < count; ++i) facts.devices.push_back(read_device(library, verbs, list[i]));
  verbs.free_list(list);
  facts.library.evidence = fmt::format("libibverbs.so.1: {} devices", facts.devices.size());
  return facts;
}

}  // namespace framewire::topology
