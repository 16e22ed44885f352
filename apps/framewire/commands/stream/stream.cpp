// framewire stream IN… HOST:PORT
#include <fmt/format.h>
#include <base/cores.hpp>
#include <chrono>
#include <command_line/command.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/stream/frame_source.hpp>
#include <commands/stream/frames_ahead.hpp>
#include <connection/connection.hpp>
#include <connection/place.hpp>
#include <connection/security.hpp>
#include <files/inputs.hpp>
#include <framewire/engine.hpp>
#include <framewire/frames.hpp>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>

namespace framewire::app {
namespace {

using base::Clock;
using frames::FrameSender;
using frames::OutgoingFrame;

struct SendPlan {
  InputNames inputs;
  std::string address;
  FrameKind kind = FrameKind::kFile;
  double rate_fps = 0;  ///< 0: as fast as it goes
  std::uint64_t loops = 1;
  bool on_device = false;  ///< a GPU makes the frames
  frames::SenderOptions sender;
};

Result<void> take_numbers(const Arguments& arguments, SendPlan& plan) {
  if (arguments.has("rate") && !parse_number(arguments.get("rate"), 0.001, 1e6, plan.rate_fps)) {
    return misuse(fmt::format("--rate: found '{}'; accepted: frames a second, 0.001 to 1000000",
                              arguments.get("rate")));
  }
  if (!parse_number(arguments.get("loop"), std::uint64_t{1}, std::uint64_t{1'000'000'000},
                    plan.loops)) {
    return misuse(
        fmt::format("--loop: found '{}'; accepted: 1 to 1000000000", arguments.get("loop")));
  }
  if (!parse_number(arguments.get("queue"), std::size_t{1}, std::size_t{1024}, plan.sender.queue)) {
    return misuse(fmt::format("--queue: found '{}'; accepted: 1 to 1024", arguments.get("queue")));
  }
  return {};
}

// Whether the rest goes together with --from cuda:N.
Result<void> check_device(const Arguments& arguments, const SendPlan& plan) {
  if (arguments.get("from") == "host") return {};
  const CodecKind codec = arguments.options.codec;
  if (arguments.has("device")) {
    return misuse("--device goes with --from host: --from names the GPU");
  }
  if (codec != CodecKind::kAuto && codec != CodecKind::kCuda) {
    return misuse(fmt::format("--codec: found '{}'; accepted with --from cuda:N: auto, cuda",
                              to_string(codec)));
  }
  if (plan.kind != FrameKind::kFile) return {};
  return misuse(
      "--from cuda:N sends what a GPU makes; accepted: --as planes, or options such as --size");
}

// @return misuse()
Result<SendPlan> make_plan(const Arguments& arguments) {
  SendPlan plan;
  if (auto good = check_place(arguments, "from"); !good) return fail(good.error());
  if (auto good = take_numbers(arguments, plan); !good) return fail(good.error());
  plan.sender.drop_oldest = arguments.has("drop-oldest");
  plan.sender.checksum = arguments.has("checksum");
  const bool on_device = arguments.get("from") != "host";
  plan.on_device = on_device;
  ResizeOptions wishes = arguments.options;
  if (arguments.get("as") == "planes") wishes.codec = CodecKind::kAuto;  // changes nothing in them
  const std::string made = to_string(wishes);
  if (arguments.get("as") == "planes") {
    plan.kind = FrameKind::kPlanes;
    if (on_device && !made.empty()) plan.kind = FrameKind::kResizedPlanes;
    if (!on_device && !made.empty()) {
      return misuse(fmt::format(
          "--as planes sends what the files hold; {} goes with --as jpeg, or with --from cuda:N",
          made));
    }
  } else if (!made.empty()) {
    plan.kind = FrameKind::kResized;
  }
  if (auto good = check_device(arguments, plan); !good) return fail(good.error());
  auto paths = arguments.paths;
  plan.address = paths.back();
  paths.pop_back();
  const std::string list = arguments.get("files-from");
  if (paths.empty() && list.empty()) {
    return misuse("found one argument; accepted: framewire stream IN… HOST:PORT");
  }
  if (auto good = check_address("HOST:PORT", plan.address); !good) return fail(good.error());
  auto inputs = make_input_names(std::move(paths), list);
  if (!inputs) return fail(inputs.error());
  plan.inputs = std::move(*inputs);
  return plan;
}

/// Names of inputs, one after another, as often as --loop says.
class Names {
 public:
  explicit Names(const SendPlan& plan) : plan_(plan) {}
  /// @return nothing at the end; io_error where the inputs cannot be listed
  Result<std::optional<batch::Input>> next() {
    while (true) {
      if (!source_) {
        if (loop_ == plan_.loops) return std::nullopt;
        auto source = open_inputs(plan_.inputs, {});
        if (!source) return fail(source.error());
        source_ = std::move(*source);
        ++loop_;
      }
      auto input = source_->next();
      if (!input) return input;
      if (!*input) {
        source_.reset();
      } else if ((*input)->expected) {
        return input;
      }
    }
  }

 private:
  const SendPlan& plan_;
  std::unique_ptr<batch::Source> source_;
  std::uint64_t loop_ = 0;
};

// While no frame is ready, how soon news from the sink is taken in.
constexpr std::chrono::microseconds kNap{200};

/// Hands frames to the sender in order and in time, as they are made.
class Streamer {
 public:
  Streamer(const SendPlan& plan, const FrameMaker& maker, FrameMemory& memory, FrameSender& sender)
      : plan_(plan),
        names_(plan),
        memory_(memory),
        sender_(sender),
        ahead_([this] { return names_.next(); },
               [&maker](const std::string& path, FramesAhead::Done done) {
                 maker.make(path, std::move(done));
               },
               bounds(plan)) {}

  Result<void> run() {
    const auto start = Clock::now();
    while (wait_for_frame()) {
      auto frame = ahead_.take();
      if (!frame) {
        // With its GPU gone, every further input would fail alike.
        if (frame.error().code() == StatusCode::kDeviceLost) return fail(frame.error());
        say(frame.error().to_string());
        ++failures_;
        continue;
      }
      if (plan_.rate_fps > 0) {
        wait_until(start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(count_ / plan_.rate_fps)));
      }
      count_ += 1;
      frame->done = [this, memory = frame->memory](const Result<void>& end) {
        memory_.give_back(memory);
        if (!end && end.error().code() != StatusCode::kBusy) last_failure_ = end.error();
      };
      if (auto sent = sender_.send(std::move(*frame)); !sent) return sent;
    }
    if (ahead_.error()) return fail(*ahead_.error());
    return sender_.close();
  }
  /// Inputs that became no frame.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] const std::optional<Status>& last_failure() const { return last_failure_; }

 private:
  static constexpr std::size_t kReady = 7;  // beside those in the making
  // They read and parse for a GPU, which takes frames together: enough that several batches fill
  // while others are in work.
  static constexpr unsigned kMaxForDevice = 12;
  static constexpr std::size_t kReadyOnDevice = 2048;

  // Files are read faster than sent: by one.
  static FramesAhead::Bounds bounds(const SendPlan& plan) {
    if (plan.kind == FrameKind::kFile) return {1, 1 + kReady};
    const unsigned cores = base::usable_cores();
    if (!plan.on_device) return {cores, cores + kReady};
    return {std::min(cores, kMaxForDevice), kReadyOnDevice};
  }
  // @return false at the end
  bool wait_for_frame() {
    while (true) {
      const auto state = ahead_.wait(sender_.progress() ? std::chrono::microseconds(0) : kNap);
      if (state != FramesAhead::State::kNotYet) return state == FramesAhead::State::kReady;
    }
  }
  void wait_until(Clock::time_point when) {
    while (Clock::now() < when) {
      if (!sender_.progress()) sender_.idle(1);
    }
  }

  const SendPlan& plan_;
  Names names_;
  FrameMemory& memory_;
  FrameSender& sender_;
  double count_ = 0;
  std::uint64_t failures_ = 0;
  std::optional<Status> last_failure_;
  FramesAhead ahead_;
};

// What resizes, if anything does.
EngineOptions engine_of(const SendPlan& plan, const MemoryPlace& place, EngineOptions options) {
  options.callers_thread = true;
  if (plan.kind != FrameKind::kResized) {
    options.codec = CodecKind::kTurbo;
    options.devices.clear();
  } else if (place.devices != nullptr) {
    options.codec = CodecKind::kCuda;
    options.devices = {place.device};
  }
  return options;
}

Json to_json(const FrameSender& sender, std::uint64_t failures, double seconds) {
  const frames::SenderStats& stats = sender.stats();
  const auto path = sender.channel().path();
  return {{"frames", stats.accepted},
          {"delivered", stats.delivered},
          {"dropped", stats.dropped},
          {"failed", stats.failed},
          {"inputs_failed", failures},
          {"repeated", stats.repeated},
          {"bytes", stats.bytes},
          {"seconds", seconds},
          {"fps", static_cast<double>(stats.delivered) / seconds},
          {"megabytes_per_second", static_cast<double>(stats.bytes) / seconds / 1e6},
          {"path", path.name},
          {"staged_bytes", path.staged_bytes}};
}

std::string summary(const Json& json) {
  return fmt::format(
      "{} frames delivered, {} dropped, {} failed in {:.2f} s: {:.1f} frames/s, {:.1f} MB/s, over "
      "{}",
      json["delivered"].get<std::uint64_t>(), json["dropped"].get<std::uint64_t>(),
      json["failed"].get<std::uint64_t>() + json["inputs_failed"].get<std::uint64_t>(),
      json["seconds"].get<double>(), json["fps"].get<double>(),
      json["megabytes_per_second"].get<double>(), json["path"].get<std::string>());
}

int send_all(const Arguments& arguments, const SendPlan& plan, const FrameMaker& maker,
             FrameMemory& memory, transport::Channel channel) {
  auto sender = FrameSender::make(std::move(channel), plan.sender);
  if (!sender) return refuse(sender.error());
  Streamer streamer(plan, maker, memory, *sender);
  const auto start = Clock::now();
  const auto done = streamer.run();
  const double seconds = base::elapsed_us(start) / 1e6;
  if (!done) report(done.error());
  if (done && streamer.last_failure()) report(*streamer.last_failure());
  const Json json = to_json(*sender, streamer.failures(), seconds);
  if (!arguments.has("quiet")) say(summary(json));
  if (arguments.has("json") && !print(pretty(json) + "\n")) return kEnvironment;
  const bool all = done && streamer.failures() == 0 && sender->stats().failed == 0;
  return all ? kAllDone : kSomeFailed;
}

}  // namespace

int run_stream(const Arguments& arguments) {
  const auto made_plan = make_plan(arguments);
  if (!made_plan) return report_usage("stream", made_plan.error());
  if (auto code = refuse_security("stream", arguments, ConnectionEnd::kConnects)) return *code;
  const SendPlan& plan = *made_plan;
  const auto place = find_place(arguments.get("from"));
  if (!place) return refuse(Status(place.error()).about("--from"));
  const auto engine = make_engine_options(arguments);
  if (!engine) return report_usage("stream", engine.error());
  auto resizing = Engine::make(engine_of(plan, *place, *engine));
  if (!resizing) return refuse(resizing.error());
  // The GPU's encoder writes finished streams straight to pinned host memory; planes stay where
  // they are.
  const MemoryPlace source = plan.kind == FrameKind::kResized ? MemoryPlace{} : *place;
  FrameMemory memory(source);
  std::unique_ptr<DeviceFrames> device;
  if (source.devices != nullptr) {
    auto made = DeviceFrames::make(source.device, memory, plan.kind == FrameKind::kResizedPlanes);
    if (!made) return refuse(made.error());
    device = std::move(*made);
  }
  auto session = session_of(arguments);
  place_at(session, source);
  auto channel = transport::connect(plan.address, session);
  if (!channel) {
    // The address is one: whatever is wrong now is the network's or the peer's.
    report(channel.error());
    return kEnvironment;
  }
  if (auto good = check_path(arguments, *channel); !good) return refuse(good.error());
  const FrameMaker maker(plan.kind, arguments.options, *resizing, memory, device.get());
  return send_all(arguments, plan, maker, memory, std::move(*channel));
}

}  // namespace framewire::app
