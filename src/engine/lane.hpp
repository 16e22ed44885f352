// One thread's work on a device: batch after batch through a codec of its own.
#pragma once

#include <engine/dispatcher.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::engine {

class Lane {
 public:
  Lane(Dispatcher& engine, Dispatcher::Device& device, codec::BatchCodec& codec)
      : engine_(engine), device_(device), codec_(codec) {}

  /// Until the engine ends or the device is lost.
  void run();

 private:
  /// What stands between a request and this lane's batch.
  struct Verdict {
    enum class Kind : std::uint8_t { kReady, kHost, kHostFirst, kError };
    Kind kind = Kind::kReady;
    std::string reason;           ///< of kHost
    std::optional<Status> error;  ///< of kError
  };

  [[nodiscard]] Verdict prepare(Work& work);
  [[nodiscard]] Verdict examine(Work& work);
  void sort_out(std::vector<WorkPtr>& taken);
  void add(WorkPtr work, std::vector<WorkPtr>& left_over);
  void run_batch();
  void finish(WorkPtr work, const codec::BatchOutcome& outcome, double batch_us, Answers& answers);
  void lose_device(const Status& status);

  Dispatcher& engine_;
  Dispatcher::Device& device_;
  codec::BatchCodec& codec_;
  std::vector<WorkPtr> batch_;
  std::vector<codec::BatchItem> items_;
  std::uint64_t batch_bytes_ = 0;  ///< on the device
  codec::BatchMemory memory_;      ///< as last accounted for
};

}  // namespace framewire::engine
