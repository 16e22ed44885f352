// framewire sink --listen ADDR:PORT
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <batch/atomic_file.hpp>
#include <batch/posix_file.hpp>
#include <chrono>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/sink/frame_writer.hpp>
#include <commands/sink/kept_frames.hpp>
#include <commands/sink/latency.hpp>
#include <connection/connection.hpp>
#include <connection/place.hpp>
#include <connection/security.hpp>
#include <csignal>
#include <filesystem>
#include <framewire/frames.hpp>
#include <report/console.hpp>
#include <report/json.hpp>
#include <vector>

namespace framewire::app {
namespace {

using base::Clock;
using frames::FrameReceiver;
using frames::ReceivedFrame;

// How soon a signal is noticed.
constexpr std::uint32_t kLook_ms = 200;

std::atomic<bool> g_stop{false};

void install_stop() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = true; };
  // The second signal ends the program at once.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

struct SinkPlan {
  std::string address;
  std::string out;    ///< folder; "" keeps nothing
  MemoryPlace place;  ///< of the slots
  frames::ReceiverOptions receiver;
  std::uint64_t frames = 0;           ///< to end after; 0: none
  std::uint64_t last_connection = 0;  ///< of those that an earlier sink has kept in `out`
};

// All but the place, which is looked for afterwards. @return misuse()
Result<SinkPlan> make_plan(const Arguments& arguments) {
  SinkPlan plan;
  if (auto good = check_place(arguments, "to"); !good) return fail(good.error());
  plan.address = arguments.get("listen");
  if (plan.address.empty()) return misuse("--listen is missing; accepted: --listen ADDR:PORT");
  if (auto good = check_address("--listen", plan.address); !good) return fail(good.error());
  plan.out = arguments.get("out");
  if (!parse_number(arguments.get("slots"), 1U, 512U, plan.receiver.slots)) {
    return misuse(fmt::format("--slots: found '{}'; accepted: 1 to 512", arguments.get("slots")));
  }
  constexpr std::uint64_t kMax = std::uint64_t{1} << 34;
  if (!parse_number(arguments.get("slot-bytes"), std::uint64_t{1}, kMax,
                    plan.receiver.slot_bytes)) {
    return misuse(fmt::format("--slot-bytes: found '{}'; accepted: 1 to {}",
                              arguments.get("slot-bytes"), kMax));
  }
  if (arguments.has("frames") &&
      !parse_number(arguments.get("frames"), std::uint64_t{1}, ~std::uint64_t{0}, plan.frames)) {
    return misuse(
        fmt::format("--frames: found '{}'; accepted: 1 or more", arguments.get("frames")));
  }
  return plan;
}

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// One sender's connection, from its first frame to its end.
class Reception {
 public:
  Reception(const SinkPlan& plan, std::uint64_t number, FrameReceiver receiver)
      : plan_(plan), number_(number), receiver_(std::move(receiver)) {
    if (plan.out.empty()) return;
    const auto stem = std::filesystem::path(plan.out) / fmt::format("{:04}-", number);
    writer_.emplace(receiver_.memory(), stem.string());
  }

  /// @return the error of the environment that would meet every further frame
  batch::WriteResult run(std::uint64_t most) {
    while (!g_stop && kept_ && (most == 0 || frames_ < most)) {
      collect(slots_are_full() ? kLook_ms : 0);
      const auto got = receiver_.next(pending() > 0 ? 1 : kLook_ms);
      if (!got && got.error().code() == StatusCode::kDeadline) continue;
      if (!got) error_ = got.error();
      if (!got || !*got) break;
      ++frames_;
      bytes_ += (*got)->header.payload_bytes;
      note_time((*got)->header);
      if (writer_) {
        writer_->add(**got);
      } else {
        release(**got);
      }
    }
    while (pending() > 0) {
      collect(kLook_ms);
      receiver_.progress();
    }
    // After the last frame asked for, waits for the sender's farewell; a frame too many is not
    // taken.
    if (most > 0 && frames_ >= most && !g_stop) static_cast<void>(receiver_.next(kLook_ms));
    return kept_;
  }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  [[nodiscard]] bool failed() const { return error_.has_value() || unkept_ > 0; }

  [[nodiscard]] Json report() {
    const auto& stats = receiver_.stats();
    const auto path = receiver_.channel().path();
    std::sort(latencies_ms_.begin(), latencies_ms_.end());
    const double seconds = std::chrono::duration<double>(last_.value_or(start_) - start_).count();
    return {{"connection", number_},
            {"peer", receiver_.channel().config().peer},
            {"path", path.name},
            {"staged_bytes", path.staged_bytes},
            {"frames", frames_},
            {"dropped", stats.dropped},
            {"damaged", stats.damaged},
            {"not_kept", unkept_},
            {"bytes", bytes_},
            {"seconds", seconds},
            {"fps", seconds > 0 ? static_cast<double>(frames_) / seconds : 0.0},
            {"latency_ms", {{"p50", at(0.5)}, {"p99", at(0.99)}, {"max", at(1)}}},
            {"error", error_ ? to_json(*error_) : Json(nullptr)}};
  }

 private:
  void note_time(const frames::PictureHeader& header) {
    last_ = Clock::now();
    const float ms = latency_ms(header.timestamp_ns, now_ns());
    // The latest kMaxLatencies frames of a long connection count.
    if (latencies_ms_.size() < kMaxLatencies) {
      latencies_ms_.push_back(ms);
    } else {
      latencies_ms_[frames_ % kMaxLatencies] = ms;
    }
  }
  [[nodiscard]] Json at(double part) const {
    if (latencies_ms_.empty()) return nullptr;
    const auto last = static_cast<double>(latencies_ms_.size() - 1);
    return latencies_ms_[static_cast<std::size_t>(last * part)];
  }
  [[nodiscard]] std::size_t pending() const { return writer_ ? writer_->pending() : 0; }
  // Nothing can come then before a frame is a file.
  [[nodiscard]] bool slots_are_full() const { return pending() == plan_.receiver.slots; }
  // Takes back what has been written, waiting for the first.
  void collect(std::uint32_t max_ms) {
    if (!writer_) return;
    while (const auto written = writer_->take(std::chrono::milliseconds(max_ms))) {
      max_ms = 0;
      release(written->frame);
      if (!written->result) note_unkept(written->result.error());
    }
  }
  void note_unkept(const batch::WriteError& why) {
    ++unkept_;
    if (!why.environment) {
      say(why.status.to_string());
    } else if (kept_) {
      error_ = why.status;
      kept_ = tl::unexpected(why);
    }
  }
  void release(const ReceivedFrame& frame) {
    if (auto released = receiver_.release(frame); !released) error_ = released.error();
  }

  static constexpr std::size_t kMaxLatencies = 1 << 16;

  const SinkPlan& plan_;
  std::uint64_t number_;
  FrameReceiver receiver_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> last_;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<float> latencies_ms_;
  std::uint64_t unkept_ = 0;  ///< frames that did not become a file
  std::optional<Status> error_;
  batch::WriteResult kept_;  ///< or why nothing can be kept any more
  std::optional<FrameWriter> writer_;
};

std::string summary(const Json& json) {
  std::string text = fmt::format(
      "connection {} from {} over {}: {} frames, {} dropped, {} in {:.2f} s, {:.1f} frames/s",
      json["connection"].get<std::uint64_t>(), json["peer"].get<std::string>(),
      json["path"].get<std::string>(), json["frames"].get<std::uint64_t>(),
      json["dropped"].get<std::uint64_t>(), human_bytes(json["bytes"].get<std::uint64_t>()),
      json["seconds"].get<double>(), json["fps"].get<double>());
  if (!json["error"].is_null()) {
    text += fmt::format("; ended by {}: {}", json["error"]["class"].get<std::string>(),
                        json["error"]["message"].get<std::string>());
  }
  return text;
}

Result<FrameReceiver> receive_from(transport::Channel channel, const SinkPlan& plan) {
  const std::uint64_t pitch = FrameReceiver::slot_pitch(plan.receiver.slot_bytes);
  auto memory = plan.place.allocate(pitch * plan.receiver.slots);
  if (!memory) return fail(memory.error());
  return FrameReceiver::make(std::move(channel), std::move(*memory), plan.receiver);
}

// Serves one connection after another; a sender that connects meanwhile waits to be accepted.
int serve(const Arguments& arguments, const SinkPlan& plan, transport::Listener& listener) {
  std::uint64_t connections = plan.last_connection;
  std::uint64_t frames = 0;
  bool failed = false;
  while (!g_stop && (plan.frames == 0 || frames < plan.frames)) {
    auto channel = listener.accept(kLook_ms);
    if (!channel) {
      // A peer that fails to connect does not end the command.
      if (channel.error().code() != StatusCode::kDeadline) report(channel.error());
      continue;
    }
    if (auto good = check_path(arguments, *channel); !good) {
      failed = true;
      report(good.error());
      continue;
    }
    auto receiver = receive_from(std::move(*channel), plan);
    if (!receiver) {
      failed = true;
      report(receiver.error());
      // No memory, or no device any more: the next sender would fare no better.
      const auto code = receiver.error().code();
      if (code == StatusCode::kBusy || code == StatusCode::kDeviceLost) return kEnvironment;
      continue;
    }
    Reception reception(plan, ++connections, std::move(*receiver));
    const auto kept = reception.run(plan.frames == 0 ? 0 : plan.frames - frames);
    frames += reception.frames();
    failed = failed || reception.failed();
    const Json json = reception.report();
    if (!arguments.has("quiet")) say(summary(json));
    if (arguments.has("json") && !print(one_line(json))) return kEnvironment;
    if (!kept) return kEnvironment;
  }
  return failed ? kSomeFailed : kAllDone;
}

}  // namespace

int run_sink(const Arguments& arguments) {
  auto made = make_plan(arguments);
  if (!made) return report_usage("sink", made.error());
  if (auto code = refuse_security("sink", arguments, ConnectionEnd::kListens)) return *code;
  SinkPlan& plan = *made;
  const auto place = find_place(arguments.get("to"));
  if (!place) return refuse(Status(place.error()).about("--to"));
  plan.place = *place;
  if (!plan.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(plan.out, error);
    if (error) return refuse(batch::io_error(plan.out, "make the output folder", error.value()));
    const auto last = last_connection_in(plan.out);
    if (!last) return refuse(last.error());
    plan.last_connection = *last;
  }
  auto session = session_of(arguments);
  place_at(session, plan.place);
  auto listener = transport::Listener::listen(plan.address, session);
  if (!listener) return refuse(listener.error());
  install_stop();
  say(fmt::format("listening on port {}", listener->port()));
  return serve(arguments, plan, *listener);
}

}  // namespace framewire::app
