#include <topology/library.hpp>
#include <topology/verbs_loop.hpp>
#ifdef FRAMEWIRE_HAS_VERBS
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <vector>
#endif

namespace framewire::topology {

#ifdef FRAMEWIRE_HAS_VERBS
namespace {

constexpr std::size_t kBytes = 4096;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct Calls {
  explicit Calls(Library& library)
      : query_port(library.find<decltype(::ibv_query_port)>("ibv_query_port")),
        query_gid(library.find<decltype(::ibv_query_gid)>("ibv_query_gid")),
        alloc_pd(library.find<decltype(::ibv_alloc_pd)>("ibv_alloc_pd")),
        dealloc_pd(library.find<decltype(::ibv_dealloc_pd)>("ibv_dealloc_pd")),
        reg_mr(library.find<ibv_mr*(ibv_pd*, void*, std::size_t, int)>("ibv_reg_mr")),
        dereg_mr(library.find<decltype(::ibv_dereg_mr)>("ibv_dereg_mr")),
        create_cq(library.find<decltype(::ibv_create_cq)>("ibv_create_cq")),
        destroy_cq(library.find<decltype(::ibv_destroy_cq)>("ibv_destroy_cq")),
        create_qp(library.find<decltype(::ibv_create_qp)>("ibv_create_qp")),
        modify_qp(library.find<decltype(::ibv_modify_qp)>("ibv_modify_qp")),
        destroy_qp(library.find<decltype(::ibv_destroy_qp)>("ibv_destroy_qp")) {}

  [[nodiscard]] bool complete() const {
    return query_port && query_gid && alloc_pd && dealloc_pd && reg_mr && dereg_mr && create_cq &&
           destroy_cq && create_qp && modify_qp && destroy_qp;
  }

  decltype(&::ibv_query_port) query_port;
  decltype(&::ibv_query_gid) query_gid;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int);
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
};

// Everything that the loop makes; destroyed in reverse order.
struct Loop {
  explicit Loop(const Calls& all) : calls(all), memory(3 * kBytes) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    for (ibv_qp* pair : pairs) {
      if (pair != nullptr) calls.destroy_qp(pair);
    }
    if (queue != nullptr) calls.destroy_cq(queue);
    if (region != nullptr) calls.dereg_mr(region);
    if (domain != nullptr) calls.dealloc_pd(domain);
  }

  const Calls& calls;
  std::vector<unsigned char> memory;  ///< what is sent, where it lands, what is read back
  ibv_pd* domain = nullptr;
  ibv_mr* region = nullptr;
  ibv_cq* queue = nullptr;
  std::array<ibv_qp*, 2> pairs{};
};

struct LoopPort {
  std::uint8_t port = 0;
  ibv_port_attr attributes{};
  int gid_index = 0;
  ibv_gid gid{};
};

// Finds the address to send from. On Ethernet it must be of RoCE v2, which the kernel's files tell.
// An address of IPv4 is taken before those of IPv6, which the kernel may still be checking.
bool find_address(const Calls& calls, ibv_context* context, const std::string& name,
                  LoopPort& place) {
  if (place.attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
    return calls.query_gid(context, place.port, 0, &place.gid) == 0;
  }
  bool found = false;
  for (int i = 0; i < place.attributes.gid_tbl_len; ++i) {
    std::ifstream file(
        fmt::format("/sys/class/infiniband/{}/ports/{}/gid_attrs/types/{}", name, place.port, i));
    std::string type;
    ibv_gid gid{};
    if (!std::getline(file, type) || type != "RoCE v2") continue;
    if (calls.query_gid(context, place.port, i, &gid) != 0) continue;
    constexpr std::array<std::uint8_t, 12> kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool ipv4 = std::equal(kIpv4.begin(), kIpv4.end(), gid.raw);
    if (found && !ipv4) continue;
    place.gid = gid;
    place.gid_index = i;
    found = true;
    if (ipv4) break;
  }
  return found;
}

bool find_port(const Calls& calls, ibv_context* context, const std::string& name, LoopPort& place) {
  for (std::uint8_t port = 1; port < 16; ++port) {
    place.attributes = {};
    place.port = port;
    auto* answer = reinterpret_cast<_compat_ibv_port_attr*>(&place.attributes);
    if (calls.query_port(context, port, answer) != 0) return false;
    if (place.attributes.state != IBV_PORT_ACTIVE) continue;
    if (find_address(calls, context, name, place)) return true;
  }
  return false;
}

bool make(Loop& loop, ibv_context* context) {
  loop.domain = loop.calls.alloc_pd(context);
  if (loop.domain == nullptr) return false;
  loop.region = loop.calls.reg_mr(loop.domain, loop.memory.data(), loop.memory.size(), kAccess);
  loop.queue = loop.calls.create_cq(context, 16, nullptr, nullptr, 0);
  if (loop.region == nullptr || loop.queue == nullptr) return false;
  for (ibv_qp*& pair : loop.pairs) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = loop.queue;
    wanted.cap = {4, 4, 1, 1, 0};
    wanted.qp_type = IBV_QPT_RC;
    pair = loop.calls.create_qp(loop.domain, &wanted);
    if (pair == nullptr) return false;
  }
  return true;
}

// InfiniBand Architecture Specification, volume 1, 10.3.1: reset, init, ready to receive, to send.
int join(const Calls& calls, ibv_qp* pair, const ibv_qp* other, const LoopPort& place) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = place.port;
  to.qp_access_flags = kAccess;
  int failed = calls.modify_qp(
      pair, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (failed != 0) return failed;
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = place.attributes.active_mtu;
  to.dest_qp_num = other->qp_num;
  to.max_dest_rd_atomic = 1;
  to.min_rnr_timer = 12;
  to.ah_attr.port_num = place.port;
  to.ah_attr.dlid = place.attributes.lid;
  to.ah_attr.is_global = place.attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
  to.ah_attr.grh.dgid = place.gid;
  to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(place.gid_index);
  to.ah_attr.grh.hop_limit = 1;
  failed = calls.modify_qp(pair, &to,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (failed != 0) return failed;
  to.qp_state = IBV_QPS_RTS;
  to.timeout = 14;  // 4.096 µs · 2^14: 67 ms
  to.retry_cnt = to.rnr_retry = 6;
  to.max_rd_atomic = 1;
  return calls.modify_qp(pair, &to,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

// Copies by one RDMA operation. @return what went wrong; "" if nothing did
std::string transfer(Loop& loop, ibv_wr_opcode what, std::size_t here, std::size_t there) {
  const auto base = reinterpret_cast<std::uint64_t>(loop.memory.data());
  ibv_sge part{base + here, kBytes, loop.region->lkey};
  ibv_send_wr request{};
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = what;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = base + there;
  request.wr.rdma.rkey = loop.region->rkey;
  ibv_send_wr* refused = nullptr;
  if (const int code = ibv_post_send(loop.pairs[0], &request, &refused); code != 0) {
    return fmt::format("cannot be posted: {}", std::strerror(code));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  ibv_wc done{};
  int count = 0;
  while (count == 0 && std::chrono::steady_clock::now() < end) {
    count = ibv_poll_cq(loop.queue, 1, &done);
  }
  if (count <= 0) return "is not done within a second";
  return done.status == IBV_WC_SUCCESS ? "" : fmt::format("fails with status {}", int{done.status});
}

}  // namespace

LoopResult try_loop(Library& verbs, void* opened, const std::string& name) {
  auto* const context = static_cast<ibv_context*>(opened);
  const Calls calls(verbs);
  if (!calls.complete()) return {std::nullopt, verbs.error()};
  LoopPort place;
  if (!find_port(calls, context, name, place)) {
    return {std::nullopt, "no port is up, with an address"};
  }
  Loop loop(calls);
  errno = 0;
  if (!make(loop, context)) {
    return {false, fmt::format("queue pairs cannot be made: {}", std::strerror(errno))};
  }
  for (const std::size_t i : {0, 1}) {
    if (const int code = join(calls, loop.pairs[i], loop.pairs[1 - i], place); code != 0) {
      return {false, fmt::format("queue pairs cannot be joined: {}", std::strerror(code))};
    }
  }
  for (std::size_t i = 0; i < kBytes; ++i) {
    loop.memory[i] = static_cast<unsigned char>(i * 131 + (i >> 8) + 1);
  }
  if (auto wrong = transfer(loop, IBV_WR_RDMA_WRITE, 0, kBytes); !wrong.empty()) {
    return {false, "an RDMA write " + wrong};
  }
  if (auto wrong = transfer(loop, IBV_WR_RDMA_READ, 2 * kBytes, kBytes); !wrong.empty()) {
    return {false, "an RDMA read " + wrong};
  }
  const auto sent = loop.memory.begin();
  const bool whole = std::equal(sent, sent + kBytes, sent + kBytes) &&
                     std::equal(sent, sent + kBytes, sent + 2 * kBytes);
  return {whole, fmt::format("{} bytes of host memory written by port {}, read back, compared: {}",
                             kBytes, place.port, whole ? "alike" : "different")};
}

#else

LoopResult try_loop(Library&, void*, const std::string&) {
  return {std::nullopt, "not tried: this build had no headers of libibverbs"};
}

#endif

}  // namespace framewire::topology
