// How a connection comes to speak TLS, before its first request.
#include <boost/system/errc.hpp>
#include <service/http/guarded.hpp>
#include <service/http/http1_connection.hpp>
#include <service/http/http2_connection.hpp>
#include <service/http/io_thread.hpp>

namespace framewire::service::http {

void Http1Connection::begin_handshake() {
  state_ = State::kHandshake;
  io_.handshake_begins(*this, peer_.client);
  stream_.async_handshake(guarded([this](const boost::system::error_code& error, std::size_t) {
    if (state_ != State::kClosed) on_handshake(error);
  }));
}

void Http1Connection::on_handshake(const boost::system::error_code& error) {
  io_.handshake_ends(*this);
  Metrics& metrics = io_.shared().metrics;
  if (error == boost::system::errc::wrong_protocol_type) {
    metrics.handshakes_failed.add();
    stream_.drop_tls();
    state_ = State::kHead;
    make_request().refuse(Code::kBadRequest, "found HTTP without TLS; accepted here: https");
  } else if (error) {
    metrics.handshakes_failed.add();
    close();
  } else {
    (stream_.tls().resumed() ? metrics.handshakes_resumed : metrics.handshakes_full).add();
    state_ = State::kHead;
    if (stream_.tls().chose_http2()) {
      become_http2();
    } else {
      expect_first_request();
    }
  }
}

void Http1Connection::become_http2() {
  const auto successor = std::make_shared<Http2Connection>(*this, std::move(stream_));
  io_.replace(*this, successor);
  state_ = State::kClosed;
  // What is thrown from here on is the successor's concern.
  try {
    successor->start();
  } catch (...) {
    successor->close();
  }
}

}  // namespace framewire::service::http
