#include "transport/shared/inbox.hpp"
#include <cstring>
#include <utility>

namespace framewire::transport::shared {

struct Inbox::Taker {
  Inbox& inbox;
  LinkSink& sink;
  const char* wrong = nullptr;

  void take(std::span<const std::byte> head, std::span<const std::byte> payload,
            std::uint64_t total_bytes) {
    if (!may_begin()) return;
    const Placement placement = sink.on_packet(head, total_bytes);
    if (total_bytes == 0) return;
    inbox.placement_ = placement;
    inbox.left_ = total_bytes;
    take_more(payload);
  }
  void take_more(std::span<const std::byte> part) {
    if (inbox.closed_ || wrong != nullptr) return;
    if (part.empty() || part.size() > inbox.left_) wrong = "the peer's parts make no payload";
    if (inbox.placement_.device != nullptr) {
      wrong = "the peer sends along what a card here must fetch";
    }
    if (wrong != nullptr) return inbox.give_up(sink);
    if (inbox.placement_.to != nullptr) {
      std::memcpy(inbox.placement_.to, part.data(), part.size());
      inbox.placement_.to += part.size();
    }
    inbox.left_ -= part.size();
    if (inbox.left_ == 0 && inbox.placement_.to != nullptr) inbox.end(sink, true);
  }
  void take_short(const ShortPut& put, std::span<const std::byte> payload) {
    if (may_begin()) sink.on_short(put, payload);
  }
  bool may_begin() {
    if (inbox.closed_ || wrong != nullptr) return false;
    if (inbox.left_ == 0) return true;
    wrong = "the peer begins a packet within another's payload";
    inbox.give_up(sink);
    return false;
  }
};

void Inbox::end(LinkSink& sink, bool ok) {
  const Placement over = std::exchange(placement_, {});
  left_ = 0;
  sink.on_received(over.op, ok);
}

Result<int> Inbox::drain(std::uint16_t heard, int most, LinkSink& sink) {
  Taker taker{*this, sink};
  const int count = ring_.drain(heard, most, taker);
  if (taker.wrong == nullptr && count >= 0) return count;
  close();
  return fail(StatusCode::kInvalidInput, taker.wrong != nullptr
                                             ? taker.wrong
                                             : "the peer's packets have sizes that cannot be");
}

}  // namespace framewire::transport::shared
