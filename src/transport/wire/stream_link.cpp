#include <poll.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <transport/packet.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/stream_link.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::wire {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;
constexpr std::uint64_t kCopied = 16 * 1024;
// What one progress() may read, so that a fast peer does not keep it from everything else.
constexpr std::size_t kReadAtOnce = 1024 * 1024;
// A notice is sent while fewer packets than this wait.
constexpr std::size_t kReady = 8;

// Packets on their way out. Heads and small payloads are gathered into one buffer, so that many
// small packets are one write; a large payload is written from where it lies.
class StreamOutbox {
 public:
  struct Item {
    std::array<std::byte, kMaxPacketHead + kFrameHeadBytes> head;
    std::size_t head_bytes = 0;
    const std::byte* payload = nullptr;
    std::uint64_t payload_bytes = 0;
    LinkOp op = kNoOp;
  };

  StreamOutbox() : buffer_(kBuffer) {}

  void add(std::span<const std::byte> head, const std::byte* payload, std::uint64_t payload_bytes,
           LinkOp op) {
    Item& item = items_.emplace_back();
    encode({FrameType::kPacket, static_cast<std::uint32_t>(head.size()), payload_bytes},
           std::span(item.head).first<kFrameHeadBytes>());
    std::memcpy(item.head.data() + kFrameHeadBytes, head.data(), head.size());
    item.head_bytes = kFrameHeadBytes + head.size();
    item.payload = payload;
    item.payload_bytes = payload_bytes;
    item.op = op;
  }
  [[nodiscard]] std::size_t waiting() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty() && begin_ == end_ && direct_.empty(); }

  /// What to write next; empty where there is nothing.
  std::span<const std::byte> next(LinkSink& sink) {
    if (begin_ == end_ && direct_.empty()) gather(sink);
    if (begin_ < end_) return std::span(buffer_).subspan(begin_, end_ - begin_);
    return direct_;
  }
  void written(std::size_t count, LinkSink& sink) {
    if (begin_ < end_) {
      begin_ += count;
      return;
    }
    direct_ = direct_.subspan(count);
    if (direct_.empty() && direct_op_ != kNoOp) {
      sink.on_sent(std::exchange(direct_op_, kNoOp), true);
    }
  }
  void drop(LinkSink& sink) {
    direct_ = {};
    begin_ = end_ = 0;
    if (direct_op_ != kNoOp) sink.on_sent(std::exchange(direct_op_, kNoOp), false);
    for (const Item& item : std::exchange(items_, {})) {
      if (item.op != kNoOp) sink.on_sent(item.op, false);
    }
  }

 private:
  void append(const std::byte* from, std::size_t count) {
    std::memcpy(buffer_.data() + end_, from, count);
    end_ += count;
  }

  void gather(LinkSink& sink) {
    begin_ = end_ = 0;
    while (!items_.empty() && direct_.empty()) {
      const Item& item = items_.front();
      const bool copied = item.payload_bytes <= kCopied;
      const std::size_t room = item.head_bytes + (copied ? item.payload_bytes : 0);
      if (end_ + room > buffer_.size()) return;
      append(item.head.data(), item.head_bytes);
      const LinkOp op = item.op;
      if (copied) {
        if (item.payload_bytes > 0) append(item.payload, item.payload_bytes);
      } else {
        direct_ = {item.payload, static_cast<std::size_t>(item.payload_bytes)};
        direct_op_ = op;
      }
      items_.pop_front();
      if (copied && op != kNoOp) sink.on_sent(op, true);
    }
  }

  std::deque<Item> items_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::span<const std::byte> direct_;
  LinkOp direct_op_ = kNoOp;
};

class StreamLink final : public Link {
 public:
  explicit StreamLink(std::unique_ptr<ByteStream> stream)
      : stream_(std::move(stream)), kind_(stream_->kind()), buffer_(kBuffer) {}
  ~StreamLink() override { close(); }

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool ready() const override { return stream_ != nullptr && outbox_.waiting() < kReady; }
  PathReport path() const override { return {kind_, 0}; }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    if (!stream_) return fail(StatusCode::kPeerLost, "the connection is closed");
    outbox_.add(head, payload, payload_bytes, op);
    if (!sending_) write_some();
    return {};
  }

  bool progress() override {
    if (!stream_) return false;
    const bool wrote = write_some();
    return read_some() || wrote;
  }

  // A negative descriptor is none.
  void wait(int timeout_ms) override { wait_or_wake(timeout_ms, -1); }

  void wait_or_wake(int timeout_ms, int wake_fd) override {
    if (!stream_ || stream_->buffered()) return;
    const auto events = static_cast<short>(outbox_.empty() ? POLLIN : POLLIN | POLLOUT);
    std::array<pollfd, 2> items{{{stream_->fd(), events, 0}, {wake_fd, POLLIN, 0}}};
    ::poll(items.data(), items.size(), timeout_ms);
  }

  void close() override {
    if (!std::exchange(stream_, nullptr)) return;
    if (sink_ == nullptr) return;
    outbox_.drop(*sink_);
    if (into_.op != kNoOp) sink_->on_received(std::exchange(into_, {}).op, false);
  }

 private:
  void lose(const Status& status) {
    close();
    sink_->on_lost(status);
  }

  // Callbacks may send again, or close: then the loop above them goes on with what there is.
  bool write_some() {
    sending_ = true;
    bool moved = false;
    while (stream_) {
      const auto bytes = outbox_.next(*sink_);
      if (bytes.empty() || !stream_) break;
      const auto count = stream_->write(bytes);
      if (!count) {
        sending_ = false;
        lose(count.error());
        return true;
      }
      if (*count == 0) break;
      moved = true;
      outbox_.written(*count, *sink_);
    }
    sending_ = false;
    return moved;
  }

  bool read_some() {
    std::size_t total = 0;
    while (stream_ && total < kReadAtOnce) {
      // A large payload is read to its place, everything else into the buffer.
      const bool direct = begin_ == end_ && into_.to != nullptr && payload_left_ >= kBuffer;
      if (begin_ == end_) begin_ = end_ = 0;
      const auto room = direct ? std::span(into_.to, static_cast<std::size_t>(payload_left_))
                               : std::span(buffer_).subspan(end_);
      const auto count = stream_->read(room);
      if (!count) {
        lose(count.error());
        return true;
      }
      if (*count == 0) break;
      total += *count;
      if (direct) {
        took(*count);
      } else {
        end_ += *count;
        consume();
      }
    }
    return total > 0;
  }

  void took(std::uint64_t count) {
    if (into_.to != nullptr) into_.to += count;
    payload_left_ -= count;
    if (payload_left_ == 0 && into_.op != kNoOp) {
      sink_->on_received(std::exchange(into_, {}).op, true);
    }
    if (payload_left_ == 0) into_ = {};
  }

  // Handles what the buffer holds, and moves the beginning of an incomplete head to its front.
  void consume() {
    while (stream_ && begin_ < end_) {
      if (payload_left_ > 0) {
        const auto count = std::min<std::uint64_t>(payload_left_, end_ - begin_);
        if (into_.to != nullptr) std::memcpy(into_.to, buffer_.data() + begin_, count);
        begin_ += count;
        took(count);
      } else if (!take_head()) {
        break;
      }
    }
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
  }

  // @return false where more bytes are needed first, or the stream has ended
  bool take_head() {
    const auto bytes = std::span<const std::byte>(buffer_).subspan(begin_, end_ - begin_);
    if (bytes.size() < kFrameHeadBytes) return false;
    const auto head = decode_frame_head(bytes.first<kFrameHeadBytes>());
    if (!head || head->type != FrameType::kPacket) {
      lose(head ? Status(StatusCode::kInvalidInput, "a second greeting") : head.error());
      return false;
    }
    if (bytes.size() < kFrameHeadBytes + head->body_bytes) return false;
    begin_ += kFrameHeadBytes + head->body_bytes;
    payload_left_ = head->payload_bytes;
    const Placement into =
        sink_->on_packet(bytes.subspan(kFrameHeadBytes, head->body_bytes), head->payload_bytes);
    if (!stream_) {  // closed by the callback: nothing will be placed
      if (into.op != kNoOp) sink_->on_received(into.op, false);
      return false;
    }
    into_ = into;
    return true;
  }

  std::unique_ptr<ByteStream> stream_;
  std::string kind_;
  LinkSink* sink_ = nullptr;
  StreamOutbox outbox_;
  bool sending_ = false;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Placement into_;
  std::uint64_t payload_left_ = 0;
};

}  // namespace

std::unique_ptr<Link> make_stream_link(std::unique_ptr<ByteStream> stream) {
  return std::make_unique<StreamLink>(std::move(stream));
}

}  // namespace framewire::transport::wire
