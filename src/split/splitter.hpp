// One picture over several devices: decoded on one, resampled on all, encoded on one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <engine/converter_cache.hpp>
#include <memory>
#include <mutex>
#include <split/scatter.hpp>
#include <split/stages.hpp>
#include <string>
#include <thread>
#include <vector>

namespace framewire::split {

/// Who does what in a split: CUDA ordinals, or -1 for the host. All are GPUs, or all the host.
struct Parties {
  std::vector<int> workers;  ///< who resamples; 1 or more
  int decoder = -1;          ///< decodes, and hands the rows out
  int encoder = -1;          ///< gathers and encodes
};

/// Resizes pictures whose rows are divided over several workers. Decoding happens on the thread
/// that hands a picture in, encoding on a thread of its own, so that three pictures are in work at
/// once. Streams are, byte for byte, those that Resizer::resize() gives with the CPU codec, or an
/// Engine with the CUDA codec, whichever the parties are; what an Engine would leave to the CPU is
/// resized there too, in one piece.
class Splitter {
 public:
  /// @return invalid_input; busy; with GPUs unsupported, device_lost
  [[nodiscard]] static Result<std::unique_ptr<Splitter>> make(const Parties& parties,
                                                              std::size_t in_flight,
                                                              Form form = Form::kJpeg);
  /// On the host.
  /// @param workers   1 or more
  /// @param in_flight  pictures between submit() and their answer; memory is that many pictures'
  /// @return invalid_input; busy
  [[nodiscard]] static Result<std::unique_ptr<Splitter>> make(std::size_t workers,
                                                              std::size_t in_flight,
                                                              Form form = Form::kJpeg);
  /// Answers everything that was submitted, then ends.
  ~Splitter();
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  /// Decodes, and lets the rest happen; waits while `in_flight` pictures are unanswered.
  /// @param done  gets what Resizer::resize() would give; besides peer_lost where a worker failed.
  ///              Called once, on the calling thread or the encoder's
  /// Thread safety: any number of threads at once.
  void submit(std::vector<std::uint8_t> jpeg, const ResizeOptions& options, Done done);
  /// Waits until everything has been answered.
  void drain();
  /// After drain().
  [[nodiscard]] std::vector<DeviceReport> report() { return scatter_->report(); }
  /// For tests: breaks a worker's channel as its death would.
  void cut(std::size_t worker) { scatter_->cut(worker); }

 private:
  Splitter(std::size_t in_flight, Form form) : in_flight_(in_flight), form_(form) {}
  [[nodiscard]] Result<void> hire(const Parties& parties);
  [[nodiscard]] Result<std::unique_ptr<Stages>> make_stages(int device) const;
  [[nodiscard]] Result<void> prepare(Picture& picture);
  [[nodiscard]] Result<void> decode(Picture& picture);
  [[nodiscard]] Result<Output> finish(Picture& picture);
  [[nodiscard]] Result<Output> resize_whole(Picture& picture, const Status& why);
  [[nodiscard]] Result<Output> planes_of_whole(Picture& picture, const Status& why);
  void encoder_main();
  void answer(std::shared_ptr<Picture> picture, Result<Output> result);

  const std::size_t in_flight_;
  const Form form_;
  std::string reason_;  ///< for reports
  codec::TurboStages turbo_;
  std::unique_ptr<Stages> decoder_;
  std::unique_ptr<Stages> finisher_;
  engine::ConverterCache converters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t unanswered_ = 0;
  std::vector<std::pair<PlaneStack, PlaneStack>> spare_;  ///< memory of pictures that are done
  std::deque<std::shared_ptr<Picture>> resampled_;        ///< for the encoder
  bool stop_ = false;
  std::unique_ptr<Scatter> scatter_;
  std::thread encoder_;
};

}  // namespace framewire::split
