#include <gpu/copy_streams.hpp>

namespace framewire::gpu {

Result<CopyStreams> CopyStreams::make() {
  CopyStreams made;
  for (auto& slot : made.slots_) {
    auto stream = Stream::make();
    if (!stream) return fail(stream.error());
    slot = std::make_unique<Slot>(std::move(*stream));
  }
  return made;
}

void CopyStreams::enqueue(CopyList& copies, const Event& copied, const Stream& stream) {
  Slot& slot = *slots_[next_->fetch_add(1) % slots_.size()];
  {
    const std::lock_guard lock(slot.mutex);
    copies.enqueue(slot.stream.get());
    (void)cudaEventRecord(copied.get(), slot.stream.get());
  }
  (void)cudaStreamWaitEvent(stream.get(), copied.get(), 0);
}

}  // namespace framewire::gpu
