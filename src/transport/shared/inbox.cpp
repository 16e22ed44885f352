#include <cstring>
#include <transport/shared/bulk_copy.hpp>
#include <transport/shared/inbox.hpp>
#include <utility>

namespace framewire::transport::shared {

struct Inbox::Taker {
  Inbox& inbox;
  LinkSink& sink;
  const char* wrong = nullptr;

  void take(std::span<const std::byte> head, std::span<const std::byte> payload,
            std::uint64_t total_bytes) {
    if (over()) return;
    if (payload.size() > total_bytes || (payload.empty() && total_bytes > 0)) {
      return refuse("the peer's parts make no payload");
    }
    const bool whole = payload.size() == total_bytes;
    if (!whole && inbox.begun_.size() == RingLayout::kMaxBegun) {
      return refuse("the peer begins more payloads than it may");
    }
    const Placement placement = sink.on_packet(head, total_bytes);
    if (total_bytes == 0) return;
    Begun begun{placement, total_bytes, total_bytes >= kBeyondCaches};
    const bool good = place(begun, payload);
    // Where the sink has closed this meanwhile, the placement ends all the same: see give_up().
    if (!good || inbox.closed_ || !whole) {
      inbox.begun_.push_back(begun);
    } else {
      end(begun);
    }
  }
  void take_more(std::span<const std::byte> part) {
    if (over()) return;
    if (inbox.begun_.empty() || part.empty() || part.size() > inbox.begun_.front().left) {
      return refuse("the peer's parts make no payload");
    }
    Begun& begun = inbox.begun_.front();
    if (!place(begun, part) || begun.left > 0) return;
    const Begun ended = begun;
    inbox.begun_.pop_front();
    end(ended);
  }
  void take_short(const ShortPut& put, std::span<const std::byte> payload) {
    if (!over()) sink.on_short(put, payload);
  }

  [[nodiscard]] bool over() const { return inbox.closed_ || wrong != nullptr; }
  void refuse(const char* why) { wrong = why; }
  bool place(Begun& begun, std::span<const std::byte> part) {
    if (inbox.closed_) return false;
    if (begun.placement.device != nullptr) {
      refuse("the peer sends along what a card here must fetch");
      return false;
    }
    begun.left -= part.size();
    if (begun.placement.to == nullptr) return true;
    if (begun.past_caches) {
      copy_past_caches(begun.placement.to, part.data(), part.size());
    } else {
      std::memcpy(begun.placement.to, part.data(), part.size());
    }
    begun.placement.to += part.size();
    return true;
  }
  void end(const Begun& begun) {
    if (begun.placement.to != nullptr) sink.on_received(begun.placement.op, true);
  }
};

void Inbox::give_up(LinkSink& sink) {
  while (!begun_.empty()) {
    const Placement placement = begun_.front().placement;
    begun_.pop_front();
    if (placement.to != nullptr) sink.on_received(placement.op, false);
  }
}

Result<int> Inbox::drain(int most, LinkSink& sink) {
  if (closed_) return 0;
  Taker taker{*this, sink};
  const int count = ring_.drain(most, taker);
  if (taker.wrong == nullptr && count >= 0) return count;
  close();
  give_up(sink);
  return fail(StatusCode::kInvalidInput, taker.wrong != nullptr
                                             ? taker.wrong
                                             : "the peer's packets have sizes that cannot be");
}

}  // namespace framewire::transport::shared
