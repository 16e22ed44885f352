// How a connection of HTTP/1.1 answers, and what comes after.
#include <algorithm>
#include <service/http/guarded.hpp>
#include <service/http/http1_connection.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/pace.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Milliseconds = std::chrono::milliseconds;

}  // namespace

void Http1Connection::answer(Exchange& exchange, Response response) {
  if (exchange.answered || !is_working() || &exchange != &request_->exchange()) return;
  request_->respond(std::move(response));
}

void Http1Connection::fail(Exchange& /*exchange*/) noexcept { close(); }

void Http1Connection::send_answer() {
  Response& response = request_->response();
  const Exchange& exchange = request_->exchange();
  response.close = response.close || input_ended_ || !exchange.head.keep_alive;
  response_head_ = make_head(
      response, {io_.date(), exchange.id, exchange.head.keep_alive, exchange.head.minor_version});
  const auto body = request_->body_to_send();
  state_ = State::kWriting;
  delivered_before_ = delivered_bytes_ = stream_.delivered_bytes();
  stream_.async_write(
      response_head_, {reinterpret_cast<const char*>(body.data()), body.size()},
      guarded([this](const boost::system::error_code& error, std::size_t) { on_written(error); }));
}

std::optional<double> Http1Connection::slowest(ClientAdmission::GivesWay of,
                                               Clock::time_point now) noexcept {
  if (state_ == State::kRequest && of.bodies) return request_->body_pace(now);
  if (state_ != State::kWriting || !of.answers) return std::nullopt;
  if (!of.uncharged && !request_->answer_holds_room()) return std::nullopt;
  return bytes_per_second(stream_.delivered_bytes() - delivered_before_,
                          request_->exchange().responded, now);
}

void Http1Connection::give_way(ClientAdmission::GivesWay of, Clock::time_point now) {
  if (!slowest(of, now)) return;
  if (state_ == State::kRequest) {
    request_->give_way();
    return;
  }
  request_->log(Code::kClientGone, 0, "the answer was read too slowly while others waited");
  close();
}

bool Http1Connection::is_unread(Clock::time_point now) noexcept {
  const std::uint64_t delivered = stream_.delivered_bytes();
  return request_->is_unread(delivered - std::exchange(delivered_bytes_, delivered), now);
}

void Http1Connection::on_written(const boost::system::error_code& error) {
  if (state_ == State::kClosed) return;
  const Response& response = request_->response();
  const auto body_bytes = request_->body_to_send().size();
  request_->log(error ? Code::kClientGone : response.code, error ? 0 : body_bytes,
                response.message);
  const bool ends = response.close || input_ended_;
  if (!error) count_answer();
  request_->sent();
  state_ = State::kHead;
  if (request_) earlier_body_bytes_ += request_->body().filled_bytes;
  request_.reset();
  response_head_ = {};
  if (error) {
    close();
  } else if (ends) {
    linger();
  } else {
    next_request();
  }
}

void Http1Connection::next_request() {
  deadline_ = Clock::now() + Milliseconds(io_.settings().keep_alive_timeout_ms);
  if (input_.size() != 0) {
    look_for_head();
    return;
  }
  // The server began to end after the answer's head had promised to go on.
  if (io_.shared().draining.load()) drain();
  read_more();
}

void Http1Connection::linger() {
  if (input_ended_) {
    close();
    return;
  }
  if (!stream_.end_sending()) {
    close();
    return;
  }
  state_ = State::kLingering;
  deadline_ = Clock::now() + kLinger;
  input_.clear();
  read_more();
}

void Http1Connection::drain() {
  if (!between_requests() || head_begun_ || input_.size() != 0) return;
  deadline_ = std::min(deadline_, Clock::now() + kDrainGrace);
}

}  // namespace framewire::service::http
