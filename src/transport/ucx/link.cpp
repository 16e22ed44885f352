#include <fmt/format.h>
#include <sched.h>
#include <algorithm>
#include <base/clock.hpp>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/ucx/link.hpp>
#include <utility>

namespace framewire::transport::ucx {
namespace {

constexpr unsigned kMessageId = 0;
// A look at the control connection is a system call; a poll of UCX is not.
constexpr unsigned kRoundsPerLook = 4096;
constexpr double kSpin_us = 50;
constexpr int kLastLooks = 64;

}  // namespace

UcxLink::UcxLink(std::unique_ptr<Handles> handles, const Keys& keys,
                 std::unique_ptr<Lifeline> lifeline, std::string name, Direct direct)
    : handles_(std::move(handles)),
      api_(*handles_->api),
      keys_(keys),
      lifeline_(std::move(lifeline)),
      name_(std::move(name)),
      direct_(std::move(direct)) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = message_callback;
  handler.arg = this;
  api_.set_am_recv_handler(handles_->worker, &handler);
}

UcxLink::~UcxLink() {
  close();
  const auto start = base::Clock::now();
  // UCX 1.22 frees twice what it has cancelled but not reported when its worker ends.
  while ((closing_ != nullptr || in_work_ > 0) && base::elapsed_us(start) < 500'000) progress();
  // Destroying the worker ends whatever is left, and with it all access to memory of ours.
  handles_.reset();
  for (Work& work : works_) {
    if (work.busy) end_work(work, false);
  }
}

Result<void> UcxLink::connect(ucp_ep_params_t peer) {
  peer.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  peer.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  peer.err_handler.cb = error_callback;
  peer.err_handler.arg = this;
  const ucs_status_t status = api_.ep_create(handles_->worker, &peer, &ep_);
  if (status == UCS_OK) return {};
  ep_ = nullptr;
  return fail(StatusCode::kPeerLost, fmt::format("UCX cannot reach the peer over {}: {}", name_,
                                                 api_.status_string(status)));
}

Result<void> UcxLink::meet(const std::string& device, base::Clock::time_point deadline) {
  const ucp_request_param_t param{};
  // Nothing has been sent yet; a flush is done as soon as the endpoint is connected.
  const ucs_status_ptr_t request = api_.ep_flush(ep_, &param);
  ucs_status_t status = UCS_PTR_STATUS(request);
  if (UCS_PTR_IS_PTR(request)) {
    status = UCS_INPROGRESS;
    while (status == UCS_INPROGRESS && !lost_ && base::Clock::now() < deadline) {
      if (api_.worker_progress(handles_->worker) == 0) nap();
      if (auto alive = lifeline_->check(); !alive) lost_ = alive.error();
      status = api_.request_check_status(request);
    }
    api_.request_free(request);
  }
  if (status == UCS_INPROGRESS && !lost_) {
    return fail(StatusCode::kDeadline, fmt::format("the peer does not answer over {}", name_));
  }
  if (lost_) return fail(*lost_);
  if (status == UCS_OK) {
    const std::string transport = transport_of(api_, ep_);
    if (!transport.empty()) name_ = fmt::format("ucx {} on {}", transport, device);
    return {};
  }
  return fail(StatusCode::kPeerLost, fmt::format("UCX cannot reach the peer over {}: {}", name_,
                                                 api_.status_string(status)));
}

UcxLink::Work& UcxLink::take_work(LinkOp op, bool receive) {
  if (free_.empty()) free_.push_back(&works_.emplace_back());
  Work& work = *free_.back();
  free_.pop_back();
  work.link = this;
  work.op = op;
  work.receive = receive;
  work.busy = true;
  ++in_work_;
  return work;
}

void UcxLink::end_work(Work& work, bool ok) {
  work.busy = false;
  --in_work_;
  free_.push_back(&work);
  if (work.batch) {
    work.batch->clear();
    spare_.push_back(std::move(work.batch));
  }
  if (work.op == kNoOp || sink_ == nullptr) return;
  if (work.receive) {
    sink_->on_received(work.op, ok);
  } else {
    sink_->on_sent(work.op, ok);
  }
}

Result<void> UcxLink::send(std::span<const std::byte> head, const std::byte* payload,
                           std::uint64_t payload_bytes, LinkOp op) {
  if (ep_ == nullptr) return fail(StatusCode::kPeerLost, "the connection is closed");
  const std::span bytes(payload, static_cast<std::size_t>(payload_bytes));
  // The first packet does not wait. Others that follow at once go together, and if there is room
  // for no more, those that are waiting go first.
  bool added = sent_ && batch_->add(head, payload, payload_bytes);
  if (!added && !batch_->empty()) {
    if (auto gone = send_batch(); !gone) return gone;
    added = batch_->add(head, payload, payload_bytes);
  }
  if (added) {
    if (op != kNoOp) sink_->on_sent(op, true);
    return {};
  }
  sent_ = true;
  Work& work = take_work(op, false);
  std::memcpy(work.head.data(), head.data(), head.size());
  return post(work, {work.head.data(), head.size(), bytes.data(), bytes.size()});
}

// Device memory is never sent along with its head, nor is anything that the peer's card is to put
// there: what came along would be in memory of the host, and be copied by it.
Result<void> UcxLink::carry(std::span<const std::byte> head, const Payload& payload) {
  const bool fetched = payload.device != nullptr || (payload.in_parts && direct_.peer);
  if (!fetched || payload.bytes == 0) return send(head, payload.data, payload.bytes, payload.op);
  if (ep_ == nullptr) return fail(StatusCode::kPeerLost, "the connection is closed");
  if (payload.device != nullptr && !reaches(*payload.device)) {
    return fail(StatusCode::kInternal, "a payload on a device that UCX was not asked about");
  }
  sent_ = true;
  Work& work = take_work(payload.op, false);
  std::memcpy(work.head.data(), head.data(), head.size());
  return post(work, {work.head.data(), head.size(), payload.data,
                     static_cast<std::size_t>(payload.bytes), payload.device, true});
}

Result<void> UcxLink::send_batch() {
  Work& work = take_work(kNoOp, false);
  Batch& batch = *batch_;
  work.batch = std::move(batch_);
  if (spare_.empty()) spare_.push_back(std::make_unique<Batch>());
  batch_ = std::move(spare_.back());
  spare_.pop_back();
  return post(work, {batch.heads().data(), batch.heads().size(), batch.payloads().data(),
                     batch.payloads().size()});
}

template <typename Call>
ucs_status_ptr_t UcxLink::run(const DeviceUse* device, Call&& call) {
  if (device == nullptr) return call();
  ucs_status_ptr_t request = nullptr;
  device->devices->run_on(device->device, [&] { request = call(); });
  return request;
}

Result<void> UcxLink::post(Work& work, const Message& message) {
  std::byte* const proof = message.head + message.head_bytes;
  store(proof, siphash(keys_.outgoing, {message.head, message.head_bytes}));
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = send_callback;
  param.user_data = &work;
  param.memory_type = type_of(message.device);
  if (message.fetched) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_RNDV;
  }
  const ucs_status_ptr_t request = run(message.device, [&] {
    return api_.am_send(ep_, kMessageId, message.head, message.head_bytes + kProofBytes,
                        message.payload, message.payload_bytes, &param);
  });
  if (request == nullptr) {
    end_work(work, true);
    return {};
  }
  if (!UCS_PTR_IS_ERR(request)) return {};
  work.op = kNoOp;
  end_work(work, false);
  return fail(StatusCode::kPeerLost,
              fmt::format("UCX cannot send: {}", api_.status_string(UCS_PTR_STATUS(request))));
}

void UcxLink::send_callback(void* request, ucs_status_t status, void* data) {
  Work& work = *static_cast<Work*>(data);
  UcxLink& link = *work.link;
  link.end_work(work, status == UCS_OK);
  link.api_.request_free(request);
}

void UcxLink::receive_callback(void* request, ucs_status_t status, std::size_t, void* data) {
  Work& work = *static_cast<Work*>(data);
  UcxLink& link = *work.link;
  link.end_work(work, status == UCS_OK);
  link.api_.request_free(request);
}

ucs_status_t UcxLink::message_callback(void* self, const void* header, std::size_t header_bytes,
                                       void* data, std::size_t bytes,
                                       const ucp_am_recv_param_t* param) {
  return static_cast<UcxLink*>(self)->on_message(header, header_bytes, data, bytes, param);
}

// UCX delivers what anyone sends who reaches the worker: only what carries the peer's proof is
// read.
ucs_status_t UcxLink::on_message(const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* param) {
  const auto* from = static_cast<const std::byte*>(header);
  if (ep_ == nullptr || header_bytes < kMinPacketHead + kProofBytes) return UCS_OK;
  const std::span head(from, header_bytes - kProofBytes);
  if (siphash(keys_.incoming, head) != load<std::uint64_t>(from + head.size())) {
    return UCS_OK;
  }
  const bool whole = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  const auto* payload = static_cast<const std::byte*>(data);
  if (head[0] == kBatchKind) {
    on_batch(head, {payload, whole ? bytes : 0});
  } else if (sink_ == nullptr) {
    keep_for_later(head, bytes);
  } else if (whole) {
    on_packet(head, {payload, bytes});
  } else {
    const Placement placement = sink_->on_packet(head, bytes);
    if (placement.to != nullptr) return fetch(data, bytes, placement);
  }
  return UCS_OK;
}

void UcxLink::on_packet(std::span<const std::byte> head, std::span<const std::byte> payload) {
  const Placement placement = sink_->on_packet(head, payload.size());
  if (placement.to == nullptr) return;
  if (placement.device != nullptr) {
    if (!lost_) {
      lost_ = Status(StatusCode::kInvalidInput, "the peer sends along what a card here must fetch");
    }
    return sink_->on_received(placement.op, false);
  }
  std::memcpy(placement.to, payload.data(), payload.size());
  sink_->on_received(placement.op, true);
}

void UcxLink::on_batch(std::span<const std::byte> heads, std::span<const std::byte> payloads) {
  BatchReader reader(heads, payloads);
  while (const auto item = reader.next()) {
    if (ep_ == nullptr) return;  // closed on account of the packet before
    if (sink_ == nullptr) {
      keep_for_later(item->head, item->payload.size());
    } else {
      on_packet(item->head, item->payload);
    }
  }
  if (reader.whole() || lost_) return;
  lost_ = Status(StatusCode::kInvalidInput,
                 fmt::format("the peer sent {} bytes of heads with {} of payload that are no whole "
                             "packets",
                             heads.size(), payloads.size()));
}

// A peer that has met us sooner may already grant. It has no lease of ours, so no payload to send.
void UcxLink::keep_for_later(std::span<const std::byte> head, std::size_t payload_bytes) {
  if (payload_bytes == 0 && early_.size() < kMaxNotices) {
    early_.emplace_back(head.begin(), head.end());
  } else if (!lost_) {
    lost_ =
        Status(StatusCode::kPeerLost, "the peer sends before it can have been granted anything");
  }
}

ucs_status_t UcxLink::fetch(void* descriptor, std::size_t bytes, const Placement& placement) {
  if (ep_ == nullptr) {
    sink_->on_received(placement.op, false);
    return UCS_OK;
  }
  Work& work = take_work(placement.op, true);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv_am = receive_callback;
  param.user_data = &work;
  param.memory_type = type_of(placement.device);
  const ucs_status_ptr_t request = run(placement.device, [&] {
    return api_.am_recv_data(handles_->worker, descriptor, placement.to, bytes, &param);
  });
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    end_work(work, request == nullptr);
  }
  return UCS_INPROGRESS;
}

void UcxLink::error_callback(void* self, ucp_ep_h, ucs_status_t status) {
  UcxLink& link = *static_cast<UcxLink*>(self);
  if (link.lost_) return;
  link.lost_ = Status(StatusCode::kPeerLost,
                      fmt::format("UCX has lost the peer: {}", link.api_.status_string(status)));
}

void UcxLink::report_lost() {
  if (!lost_ || told_ || sink_ == nullptr) return;
  // What a peer has sent before it went is all here.
  if (lost_->code() == StatusCode::kPeerLost && ep_ != nullptr) {
    for (int i = 0; i < kLastLooks && api_.worker_progress(handles_->worker) != 0; ++i) {
    }
  }
  told_ = true;
  sink_->on_lost(*lost_);
}

bool UcxLink::progress() {
  ++rounds_;
  bool moved = false;
  if (!early_.empty() && sink_ != nullptr) {
    for (const auto& head : std::exchange(early_, {})) {
      static_cast<void>(sink_->on_packet(head, 0));
    }
    moved = true;
  }
  sent_ = false;
  if (ep_ != nullptr && !batch_->empty()) {
    if (auto gone = send_batch(); !gone && !lost_) lost_ = gone.error();
  }
  // Once: UCX takes several messages a call, and an empty call more would delay what has come.
  if (api_.worker_progress(handles_->worker) != 0) moved = true;
  if (rounds_ % kRoundsPerLook == 0 && ep_ != nullptr && !lost_) {
    if (auto alive = lifeline_->check(); !alive) lost_ = alive.error();
  }
  if (closing_ != nullptr && api_.request_check_status(closing_) != UCS_INPROGRESS) {
    api_.request_free(std::exchange(closing_, nullptr));
  }
  report_lost();
  return moved;
}

void UcxLink::wait(int timeout_ms) {
  const auto start = base::Clock::now();
  while (base::elapsed_us(start) < kSpin_us) {
    if (progress()) return;
    sched_yield();
  }
  // At least one look: on a busy machine a single yield may have taken all the time there was.
  while (true) {
    if (ep_ != nullptr && !lost_) {
      if (auto alive = lifeline_->check(); !alive) lost_ = alive.error();
    }
    if (progress() || lost_ || base::elapsed_us(start) >= timeout_ms * 1000.0) return;
    nap();
  }
}

PathReport UcxLink::path() const {
  PathReport path;
  path.name = name_;
  path.gpudirect = direct_.devices != nullptr;
  path.peer_gpudirect = direct_.peer;
  if (path.gpudirect) path.name += ", gpudirect";
  path.why_staged = direct_.why;
  return path;
}

void UcxLink::close() {
  if (ep_ == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = api_.ep_close(std::exchange(ep_, nullptr), &param);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) closing_ = request;
  lifeline_.reset();  // so that the peer knows, whatever UCX still delivers
}

}  // namespace framewire::transport::ucx
