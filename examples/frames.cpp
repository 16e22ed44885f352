// frames < photo.jpg > received.jpg: a thread makes the photograph small and sends it three times,
// as frames of a video; another receives them in order. The last one goes to standard output.
#include <cstring>
#include <framewire/frames.hpp>
#include <framewire/resizer.hpp>
#include <future>
#include <iostream>
#include <iterator>

namespace fw = framewire;
using fw::frames::FrameReceiver;
using fw::frames::FrameSender;

namespace {

constexpr int kFrames = 3;

fw::Result<void> send(fw::transport::Channel channel, const std::vector<std::uint8_t>& jpeg) {
  fw::ResizeOptions options;
  options.width_px = options.height_px = 480;
  const auto small = fw::Resizer().resize(jpeg, options);
  if (!small) return fw::fail(small.error());
  const auto memory = fw::transport::Region::allocate_host(small->bytes.size());
  if (!memory) return fw::fail(memory.error());
  std::memcpy(memory->data(), small->bytes.data(), small->bytes.size());
  auto sender = FrameSender::make(std::move(channel));
  if (!sender) return fw::fail(sender.error());
  for (int i = 0; i < kFrames; ++i) {
    fw::frames::OutgoingFrame frame;
    frame.header.width_px = small->report.output.width_px;
    frame.header.height_px = small->report.output.height_px;
    frame.header.payload_bytes = small->bytes.size();
    frame.memory = *memory;  // not copied: it stays as it is until the frame is there
    if (auto ok = sender->send(std::move(frame)); !ok) return ok;
  }
  return sender->close();
}

fw::Result<std::vector<std::uint8_t>> receive(fw::transport::Channel channel) {
  fw::frames::ReceiverOptions options;
  options.slots = 2;
  options.slot_bytes = std::uint64_t{64} << 20;
  const auto memory = fw::transport::Region::allocate_host(
      options.slots * FrameReceiver::slot_pitch(options.slot_bytes));
  if (!memory) return fw::fail(memory.error());
  auto receiver = FrameReceiver::make(std::move(channel), *memory, options);
  if (!receiver) return fw::fail(receiver.error());
  std::vector<std::uint8_t> last;
  for (int i = 0;; ++i) {
    const auto frame = receiver->next(10'000);
    if (!frame) return fw::fail(frame.error());
    if (!*frame) {  // the sender has finished
      if (i == kFrames) return last;
      return fw::fail(fw::StatusCode::kInternal, "frames are missing");
    }
    const std::byte* const payload = receiver->memory().data() + (*frame)->offset_bytes;
    last.assign(reinterpret_cast<const std::uint8_t*>(payload),
                reinterpret_cast<const std::uint8_t*>(payload) + (*frame)->header.payload_bytes);
    if (auto ok = receiver->release(**frame); !ok) return fw::fail(ok.error());  // lent again
  }
}

}  // namespace

int main() {
  const std::vector<std::uint8_t> jpeg(std::istreambuf_iterator<char>(std::cin), {});
  // Between processes: connect() and Listener, as in send.cpp.
  auto ends = fw::transport::connect_loopback();
  if (!ends) return std::cerr << ends.error().to_string() << '\n', 1;
  auto sender = std::async(std::launch::async, send, std::move(ends->first), std::cref(jpeg));
  const auto received = receive(std::move(ends->second));
  const auto sent = sender.get();
  if (!sent) return std::cerr << sent.error().to_string() << '\n', 1;
  if (!received) return std::cerr << received.error().to_string() << '\n', 1;
  std::cout.write(reinterpret_cast<const char*>(received->data()), std::ssize(*received));
  return std::cout.flush() ? 0 : 1;
}
