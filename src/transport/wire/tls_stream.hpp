// A TLS connection over a socket of ours.
#pragma once

#include <openssl/ssl.h>
#include <base/file_descriptor.hpp>
#include <memory>
#include <string>
#include <transport/wire/stream.hpp>

namespace framewire::transport::wire {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};
using SslHandle = std::unique_ptr<SSL, FreeSsl>;

/// Has the connection read and write that socket, which must outlive it.
/// @return whether there was memory for that
[[nodiscard]] bool attach(SSL* ssl, int fd);

/// What OpenSSL gives as the reason of this thread's latest error.
[[nodiscard]] std::string last_tls_error();

/// @param ssl   has shaken hands over the socket
/// @param peer  the name that the peer has proven
[[nodiscard]] std::unique_ptr<ByteStream> make_tls_stream(SslHandle ssl,
                                                          base::FileDescriptor socket,
                                                          std::string peer);

}  // namespace framewire::transport::wire
