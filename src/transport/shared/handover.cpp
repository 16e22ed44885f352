#include <transport/shared/handover.hpp>
#include <utility>

namespace framewire::transport::shared {
namespace {

// The whole message. Which ring it is stands in the memory itself.
constexpr std::array<std::byte, 4> kRing{std::byte{'R'}, std::byte{'I'}, std::byte{'N'},
                                         std::byte{'G'}};

}  // namespace

Result<Rings> exchange_rings(const LocalPeer& peer, PacketRingReader ours, const RingKey& theirs,
                             base::Clock::time_point deadline) {
  const std::array<int, 1> file{ours.fd()};
  if (auto sent = peer.send(kRing, file); !sent) return fail(sent.error());
  ours.close_file();
  std::array<std::byte, kRing.size()> said;
  const auto message = peer.receive(said, deadline);
  if (!message) return fail(message.error());
  if (said != kRing || !message->files[0].valid() || message->files[1].valid()) {
    return fail(StatusCode::kInvalidInput, "the peer hands over something other than its ring");
  }
  auto outgoing = PacketRingWriter::open(message->files[0], theirs);
  if (!outgoing) return fail(outgoing.error());
  return Rings{std::move(ours), std::move(*outgoing)};
}

Result<Rings> exchange_rings(const LocalPeer& peer, const RingKey& ours, const RingKey& theirs,
                             base::Clock::time_point deadline) {
  auto incoming = PacketRingReader::make(ours);
  if (!incoming) return fail(incoming.error());
  return exchange_rings(peer, std::move(*incoming), theirs, deadline);
}

}  // namespace framewire::transport::shared
