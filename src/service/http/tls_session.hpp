// One connection's TLS, a step at a time: nothing here waits.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <service/http/tls_context.hpp>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace framewire::service::http {

/// As much as one record takes.
inline constexpr std::size_t kTlsRecordBytes = 16u << 10;
/// Written in one turn of a thread, as Asio does without TLS.
inline constexpr std::size_t kTlsTurnBytes = 64u << 10;

/// What one step came to. @see TlsSession
struct TlsStep {
  enum class Kind : std::uint8_t {
    kDone,       ///< with `error`, or with `bytes`
    kWaitRead,   ///< to be done again once the socket can be read
    kWaitWrite,  ///< to be done again once the socket can be written
    kAgain,      ///< to be done again after others have had their turn
  };
  Kind kind = Kind::kDone;
  std::size_t bytes = 0;
  boost::system::error_code error{};
};

/// The server's side of TLS over one socket, which it reads and writes itself. One thread at a
/// time. A read and a write may be under way at once.
///
/// While idle it keeps no buffers of records: some 15 KB (docs/benchmarks/tls.md).
class TlsSession {
 public:
  /// @param fd  outlives the session, or detach()
  /// @return null where memory ran out
  [[nodiscard]] static std::unique_ptr<TlsSession> make(const ServerTlsContext& context,
                                                        int fd) noexcept;
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Shakes hands. Errors: wrong_protocol_type where the client speaks HTTP without TLS, of which
  /// nothing has been read; otherwise any, and the session is of no more use.
  [[nodiscard]] TlsStep shake_hands() noexcept;
  /// Whether the client brought a ticket of an earlier session, and it counted.
  [[nodiscard]] bool resumed() const noexcept;
  /// Whether HTTP/2 was chosen (ALPN).
  [[nodiscard]] bool chose_http2() const noexcept;

  /// Reads what has come, up to one record. Errors: eof where the client has ended in order
  /// (close_notify); connection_reset where its end of the connection closed without that.
  [[nodiscard]] TlsStep read(std::span<char> room) noexcept;

  /// Begins to write both texts, one after the other, which stay until write() is done. Throws
  /// std::bad_alloc.
  void begin_write(std::string_view head, std::string_view body);
  /// The same, with a head that is taken over, and sent as it is.
  void begin_write(std::string&& head, std::string_view body) noexcept;
  /// Goes on with it. A few records at a time: then others have their turn.
  [[nodiscard]] TlsStep write() noexcept;
  /// How much write() has handed to the socket so far, of all texts.
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  /// Writes a few bytes at once, while no other write is under way.
  /// @return false where the socket did not take them, and the session is of no more use
  [[nodiscard]] bool write_now(std::string_view text) noexcept;

  /// Tells the client that nothing more is sent (close_notify), if the socket takes that at once.
  void end_sending() noexcept;
  /// The socket is about to be closed, and its number may become another's: every further step is
  /// an error.
  void detach() noexcept { fd_ = -1; }

 private:
  explicit TlsSession(int fd) noexcept : fd_(fd) {}
  [[nodiscard]] bool attach(const ServerTlsContext& context) noexcept;
  [[nodiscard]] TlsStep outcome(int result) noexcept;

  friend struct SocketBio;
  int fd_;
  ssl_st* ssl_ = nullptr;
  bool looked_ = false;       ///< at the first byte
  bool established_ = false;  ///< hands have been shaken
  bool failed_ = false;
  bool writing_ = false;  ///< a record waits to be written
  std::string staged_;    ///< what the first record holds: the head, and what fits of the body
  std::string_view to_write_;
  std::string_view then_write_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace framewire::service::http
