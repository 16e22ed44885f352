// Packets as UCX active messages: small ones eager, large ones by rendezvous into a place of ours.
#pragma once

#include <ucp/api/ucp.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <transport/batch.hpp>
#include <transport/link.hpp>
#include <transport/packet.hpp>
#include <transport/ucx/context.hpp>
#include <transport/ucx/direct.hpp>
#include <transport/ucx/siphash.hpp>
#include <vector>

namespace framewire::transport::ucx {

struct Keys {
  MacKey incoming;
  MacKey outgoing;
};

class UcxLink final : public Link {
 public:
  UcxLink(std::unique_ptr<Handles> handles, const Keys& keys, std::unique_ptr<Lifeline> lifeline,
          std::string name, Direct direct = {});
  ~UcxLink() override;

  /// @param peer  how to reach the peer; errors are handled here
  /// @return peer_lost, with UCX's reason
  [[nodiscard]] Result<void> connect(ucp_ep_params_t peer);
  /// Works until the peer has answered, and names the path by the transport that was taken.
  /// @return peer_lost, deadline
  [[nodiscard]] Result<void> meet(const std::string& device, base::Clock::time_point deadline);

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool reaches(const DeviceUse& use) const override {
    return use.devices == direct_.devices && use.device == direct_.device;
  }
  bool ready() const override { return ep_ != nullptr && in_work_ < kMaxNotices; }
  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override;
  Result<void> carry(std::span<const std::byte> head, const Payload& payload) override;
  bool progress() override;
  void wait(int timeout_ms) override;
  void close() override;
  PathReport path() const override;

 private:
  static constexpr std::size_t kMaxNotices = 1024;
  static constexpr std::size_t kProofBytes = Batch::kProofBytes;
  // One operation that UCX has not completed: its head must stay, and its memory is touched.
  struct Work {
    UcxLink* link = nullptr;
    LinkOp op = kNoOp;
    bool receive = false;
    bool busy = false;
    std::unique_ptr<Batch> batch;  ///< sent in place of head and payload
    std::array<std::byte, kMaxPacketHead + kProofBytes> head;
  };
  struct Message {
    std::byte* head;  ///< room for the proof follows
    std::size_t head_bytes;
    const std::byte* payload;
    std::size_t payload_bytes;
    const DeviceUse* device = nullptr;
    bool fetched = false;  ///< the receiver fetches the payload, however small
  };

  Work& take_work(LinkOp op, bool receive);
  void end_work(Work& work, bool ok);
  [[nodiscard]] Result<void> post(Work& work, const Message& message);
  /// Calls UCX, with the payload's device current where it has one.
  template <typename Call>
  [[nodiscard]] ucs_status_ptr_t run(const DeviceUse* device, Call&& call);
  [[nodiscard]] ucs_memory_type_t type_of(const DeviceUse* device) const {
    return device != nullptr ? direct_.type : UCS_MEMORY_TYPE_HOST;
  }
  [[nodiscard]] Result<void> send_batch();
  [[nodiscard]] ucs_status_t on_message(const void* header, std::size_t header_bytes, void* data,
                                        std::size_t bytes, const ucp_am_recv_param_t* param);
  void on_packet(std::span<const std::byte> head, std::span<const std::byte> payload);
  void on_batch(std::span<const std::byte> heads, std::span<const std::byte> payloads);
  [[nodiscard]] ucs_status_t fetch(void* descriptor, std::size_t bytes, const Placement& placement);
  void keep_for_later(std::span<const std::byte> head, std::size_t payload_bytes);
  void report_lost();

  static ucs_status_t message_callback(void* self, const void* header, std::size_t header_bytes,
                                       void* data, std::size_t bytes,
                                       const ucp_am_recv_param_t* param);
  static void send_callback(void* request, ucs_status_t status, void* work);
  static void receive_callback(void* request, ucs_status_t status, std::size_t bytes, void* work);
  static void error_callback(void* self, ucp_ep_h ep, ucs_status_t status);

  std::unique_ptr<Handles> handles_;
  const Api& api_;
  Keys keys_;
  std::unique_ptr<Lifeline> lifeline_;
  std::string name_;
  Direct direct_;
  LinkSink* sink_ = nullptr;
  std::vector<std::vector<std::byte>> early_;  ///< heads that came while we were still meeting
  ucp_ep_h ep_ = nullptr;
  void* closing_ = nullptr;
  std::deque<Work> works_;  ///< stable addresses; grows to what has been in work at once
  std::vector<Work*> free_;
  std::size_t in_work_ = 0;
  /// Packets that wait for the next progress(): all but the first that are sent after one.
  std::unique_ptr<Batch> batch_ = std::make_unique<Batch>();
  std::vector<std::unique_ptr<Batch>> spare_;
  bool sent_ = false;  ///< since the last progress()
  unsigned rounds_ = 0;
  std::optional<Status> lost_;  ///< found in a callback, told from progress()
  bool told_ = false;
};

}  // namespace framewire::transport::ucx
