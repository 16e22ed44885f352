// A link whose data travels on the very stream that was authenticated.
#pragma once

#include <memory>
#include <transport/link.hpp>
#include <transport/wire/stream.hpp>

namespace framewire::transport::wire {

/// Packets as frames on the stream. Over TLS nothing can be read, forged or replayed on the way.
/// Payloads of up to 16 KiB are copied once on each side, larger ones go straight to and from the
/// socket.
[[nodiscard]] std::unique_ptr<Link> make_stream_link(std::unique_ptr<ByteStream> stream);

}  // namespace framewire::transport::wire
