// A peer with a key that sends TLS records by which nothing comes: KeyUpdate and NewSessionTicket
// (RFC 8446 4.6).
#pragma once

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <base/file_descriptor.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <transport/wire/tls_stream.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::testing {

/// OpenSSL's own end of a connection whose other end is ours; with the key "ann" of kKeys.
class KeyUpdater {
 public:
  /// Shakes hands. @param socket  blocks
  KeyUpdater(base::FileDescriptor socket, bool server)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), &SSL_CTX_free) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_num_tickets(context_.get(), 0);
    SSL_CTX_set_psk_client_callback(
        context_.get(), [](SSL*, const char*, char* name, unsigned, unsigned char* key, unsigned) {
          std::strcpy(name, "ann");
          return put_key(key);
        });
    SSL_CTX_set_psk_server_callback(context_.get(), [](SSL*, const char*, unsigned char* key,
                                                       unsigned) { return put_key(key); });
    ssl_.reset(SSL_new(context_.get()));
    good_ = wire::attach(ssl_.get(), socket_.get()) &&
            (server ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) == 1;
  }

  [[nodiscard]] bool good() const { return good_; }
  /// Sends bytes in a record of their own.
  void say(std::span<const std::byte> bytes) {
    good_ = good_ && SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// Waits for some bytes of the other end's.
  void listen() {
    std::vector<std::byte> bytes(4096);
    good_ = good_ && SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// Sends so many records; fewer where the other end has gone.
  void update_keys(int count) {
    for (int i = 0; i < count && good_; ++i) {
      good_ = SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
              SSL_do_handshake(ssl_.get()) == 1;
    }
  }
  /// Sends so many tickets; of a server. Fewer where the other end has gone.
  void send_tickets(int count) {
    for (int i = 0; i < count && good_; ++i) {
      good_ = SSL_new_session_ticket(ssl_.get()) == 1 && SSL_do_handshake(ssl_.get()) == 1;
    }
  }
  /// Waits until the other end has hung up.
  void await_end() const {
    std::byte byte{};
    while (::recv(socket_.get(), &byte, 1, 0) > 0) {
    }
  }

 private:
  static unsigned put_key(unsigned char* key) {
    constexpr unsigned kBytes = 16;
    for (unsigned i = 0; i < kBytes; ++i) key[i] = static_cast<unsigned char>(i * 0x11);
    return kBytes;
  }
  base::FileDescriptor socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  bool good_ = false;
};

}  // namespace framewire::transport::testing
