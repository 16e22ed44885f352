#include <base/file_descriptor.hpp>
#include <new>
#include <transport/shared/packet_ring.hpp>
#include <utility>

namespace framewire::transport::shared {

Result<PacketRingReader> PacketRingReader::make(const RingKey& key) {
  auto memory = SealedMemory::make(sizeof(RingLayout));
  if (!memory) return fail(memory.error());
  PacketRingReader reader;
  reader.memory_ = std::move(*memory);
  reader.ring_ = new (reader.memory_.data()) RingLayout;  // zeroed, and stays so
  reader.ring_->magic = RingLayout::kMagic;
  reader.ring_->key = key;
  return reader;
}

Result<PacketRingWriter> PacketRingWriter::open(const base::FileDescriptor& file,
                                                const RingKey& key) {
  auto memory = SealedMemory::open(file, sizeof(RingLayout), true);
  if (!memory) return fail(memory.error());
  PacketRingWriter writer;
  writer.memory_ = std::move(*memory);
  writer.ring_ = reinterpret_cast<RingLayout*>(writer.memory_.data());
  if (writer.ring_->magic != RingLayout::kMagic || writer.ring_->key != key) {
    return fail(StatusCode::kInvalidInput, "the peer's memory holds no ring of this connection");
  }
  return writer;
}

}  // namespace framewire::transport::shared
