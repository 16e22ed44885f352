// A client's socket, plain or under TLS, with the same operations.
#pragma once

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <memory>
#include <service/http/tls_session.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::service::http {

using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                boost::asio::io_context::executor_type>;

/// Reads and writes. Handlers are called as Asio's: never from within the call that begins an
/// operation, with operation_aborted after cancel() or close(). They keep alive whatever holds the
/// stream. At most one read and one write at a time; one thread.
class SocketStream {
 public:
  /// @param tls  null for a plain one
  explicit SocketStream(Socket socket, std::unique_ptr<TlsSession> tls = nullptr)
      : socket_(std::move(socket)), tls_(std::move(tls)) {}

  [[nodiscard]] bool is_tls() const noexcept { return tls_ != nullptr; }
  [[nodiscard]] const TlsSession& tls() const noexcept { return *tls_; }
  /// From now on bytes are plain: hands have not been shaken. No operation is under way.
  void drop_tls() noexcept { tls_.reset(); }

  /// @param handler  of an error, and a number without meaning. @see TlsSession::shake_hands()
  template <typename Handler>
  void async_handshake(Handler handler) {
    drive([this] { return tls_->shake_hands(); }, std::move(handler), true);
  }

  /// @param handler  of an error, and how many bytes came
  template <typename Handler>
  void async_read_some(std::span<char> room, Handler handler) {
    if (tls_ == nullptr) {
      socket_.async_read_some(boost::asio::buffer(room.data(), room.size()), std::move(handler));
    } else {
      drive([this, room] { return tls_->read(room); }, std::move(handler), true);
    }
  }

  /// Writes both, whole. They stay until the handler is called.
  template <typename Handler>
  void async_write(std::string_view head, std::string_view body, Handler handler) {
    if (tls_ == nullptr) {
      const std::array<boost::asio::const_buffer, 2> buffers = {
          boost::asio::buffer(head.data(), head.size()),
          boost::asio::buffer(body.data(), body.size())};
      const auto count = [this, before = written_bytes_](const boost::system::error_code& error,
                                                         std::size_t written) -> std::size_t {
        written_bytes_ = before + written;
        return error ? 0 : kTlsTurnBytes;
      };
      boost::asio::async_write(socket_, buffers, count, std::move(handler));
    } else {
      tls_->begin_write(head, body);
      drive([this] { return tls_->write(); }, std::move(handler), true);
    }
  }

  /// The same under TLS, with a head that is taken over: no copy is made of it.
  template <typename Handler>
  void async_write_tls(std::string head, std::string_view body, Handler handler) {
    tls_->begin_write(std::move(head), body);
    drive([this] { return tls_->write(); }, std::move(handler), true);
  }

  /// Writes a few bytes at once, or drops them where there is no room.
  /// @return false where the stream is of no more use
  [[nodiscard]] bool write_now(std::string_view text) noexcept {
    if (tls_ != nullptr) return tls_->write_now(text);
    (void)::send(socket_.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
  }

  /// How much of all that was written the other end has taken: what waits in the socket counts not.
  /// Never less than before.
  [[nodiscard]] std::uint64_t delivered_bytes() noexcept {
    const std::uint64_t written = tls_ != nullptr ? tls_->written_bytes() : written_bytes_;
    int waiting = 0;
    if (::ioctl(socket_.native_handle(), SIOCOUTQ, &waiting) != 0) waiting = 0;
    const std::uint64_t unsent = std::min<std::uint64_t>(static_cast<unsigned>(waiting), written);
    delivered_bytes_ = std::max(delivered_bytes_, written - unsent);
    return delivered_bytes_;
  }

  /// Whether the other end sends nothing more: known even where bytes have come that nobody reads.
  [[nodiscard]] bool input_has_ended() noexcept {
    pollfd state{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0;
  }

  /// Ends the read under way with operation_aborted, unless it is done already. No write is.
  void cancel_read() noexcept {
    boost::system::error_code ignored;
    socket_.cancel(ignored);
  }
  /// Sends nothing more; what comes is still read. @return false where the client has gone
  [[nodiscard]] bool end_sending() noexcept {
    if (tls_ != nullptr) tls_->end_sending();
    boost::system::error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    return !error;
  }
  void close() noexcept {
    if (tls_ != nullptr) {
      tls_->end_sending();
      tls_->detach();
    }
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  // Steps until one is done. @param first  within the call that begins the operation
  template <typename Step, typename Handler>
  void drive(Step step, Handler handler, bool first) {
    const TlsStep now = step();
    if (now.kind == TlsStep::Kind::kDone) {
      if (!first) {
        handler(now.error, now.bytes);
        return;
      }
      boost::asio::post(socket_.get_executor(), [now, handler = std::move(handler)]() mutable {
        handler(now.error, now.bytes);
      });
    } else if (now.kind == TlsStep::Kind::kAgain) {
      boost::asio::post(socket_.get_executor(),
                        [this, step = std::move(step), handler = std::move(handler)]() mutable {
                          drive(std::move(step), std::move(handler), false);
                        });
    } else {
      socket_.async_wait(
          now.kind == TlsStep::Kind::kWaitRead ? Socket::wait_read : Socket::wait_write,
          [this, step = std::move(step),
           handler = std::move(handler)](const boost::system::error_code& error) mutable {
            if (error) {
              handler(error, 0);
            } else {
              drive(std::move(step), std::move(handler), false);
            }
          });
    }
  }

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;
  std::uint64_t written_bytes_ = 0;  ///< without TLS
  std::uint64_t delivered_bytes_ = 0;
};

}  // namespace framewire::service::http
