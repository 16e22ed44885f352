// One request and its answer, while they are under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/engine.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <service/http/admission.hpp>
#include <service/http/chunked.hpp>
#include <service/http/head.hpp>
#include <service/http/query.hpp>
#include <service/http/response.hpp>
#include <service/http/snapshot.hpp>
#include <service/url/image_request.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace framewire::service::http {

class Connection;

/// What a request is about.
enum class Action : std::uint8_t {
  kNone,
  kLive,
  kReady,
  kPage,
  kOptions,
  kResize,
  kInspect,
  kMetrics,
  kImage,  ///< a URL of imgproxy's grammar
};

/// A request's body, and the memory that it is read into.
struct RequestBody {
  std::span<std::uint8_t> room;        ///< memory taken so far
  std::size_t filled_bytes = 0;        ///< how much of it has come
  std::shared_ptr<const void> keeper;  ///< of `room`
  bool engine_memory = false;          ///< room is of the engine's blocks, which others share
  ChunkDecoder chunks;

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept {
    return room.first(filled_bytes);
  }
};

/// Made when a head has come whole. Belongs to its connection's thread; the engine's threads only
/// read `body` and `stop`.
struct Exchange {
  using Clock = std::chrono::steady_clock;

  SnapshotRef snapshot;   ///< the settings that hold for it
  std::string head_text;  ///< what `head` and `target` point into
  Head head;
  Target target;
  std::string id;  ///< X-Request-ID
  Action action = Action::kNone;
  ErrorForm error_form = ErrorForm::kText;
  ResizeOptions options;
  std::string boundary;  ///< of a form; empty for a plain body
  RequestBody body;
  std::span<const std::uint8_t> jpeg;  ///< in `body`
  ClientAdmission::Ticket ticket;
  std::stop_source stop{};
  std::weak_ptr<Connection> connection;
  std::int32_t stream_id = 0;  ///< of the connection's, in HTTP/2
  /// Somebody reads the body: its memory counts until the exchange ends, whatever is answered.
  bool body_in_use = false;
  bool answered = false;          ///< an answer has been given: what still comes is dropped
  bool counted = false;           ///< metrics know of it
  bool ended = false;             ///< metrics know how it ended
  bool local_peer = false;        ///< the client is on this machine
  bool metrics_listener = false;  ///< it came to the listener for metrics

  Clock::time_point begun{};      ///< the head had come
  Clock::time_point received{};   ///< the body had come
  Clock::time_point responded{};  ///< the answer was there
  std::string codec;              ///< that did it, for the log

  // Only requests by URL have these.
  url::ImageRequest image;
  using OnStop = std::stop_callback<std::function<void()>>;
  std::unique_ptr<OnStop> on_stop;  ///< tells the computation that nobody waits here any more
};

}  // namespace framewire::service::http
