// Pictures over several devices: decoded on one, resampled on all, encoded on one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <engine/converter_cache.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <split/picture_queue.hpp>
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

/// Resizes pictures whose rows are divided over several workers. Pictures that wait are taken by
/// the group: on GPUs as many as there are, within bounds, so that calls and waits are shared. A
/// group is decoded by one of a few lanes, which overlap, and finished by one of a few others.
/// Streams are, byte for byte, those that Resizer::resize() gives with the CPU codec, or an Engine
/// with the CUDA codec, whichever the parties are; what an Engine would leave to the CPU is resized
/// there too, in one piece. Where memory runs out, whatever needed it is answered with busy, or
/// with peer_lost where it was a worker's channel; the others go on.
class Splitter {
 public:
  /// @return invalid_input; busy; with GPUs unsupported, device_lost
  [[nodiscard]] static Result<std::unique_ptr<Splitter>> make(
      const Parties& parties, std::size_t in_flight, PictureForm form = PictureForm::kJpeg);
  /// On the host.
  /// @param workers   1 or more
  /// @param in_flight  pictures between submit() and their answer; fewer where they are large
  /// @return invalid_input; busy
  [[nodiscard]] static Result<std::unique_ptr<Splitter>> make(
      std::size_t workers, std::size_t in_flight, PictureForm form = PictureForm::kJpeg);
  /// Answers everything that was submitted, then ends.
  ~Splitter();
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  /// Parses and plans, and lets the rest happen; waits while `in_flight` pictures are unanswered.
  /// @param done  gets what Resizer::resize() would give; besides peer_lost where a worker failed.
  ///              Called once, on the calling thread or one of the splitter's, in any order. What
  ///              it throws is dropped
  /// Thread safety: any number of threads at once.
  void submit(std::vector<std::uint8_t> jpeg, const ResizeOptions& options,
              PictureDone done) noexcept;
  /// Waits until everything has been answered.
  void drain() { queue_.drain(); }
  /// After drain().
  [[nodiscard]] std::vector<DeviceReport> report() { return scatter_->report(); }
  /// For tests: breaks a worker's channel as its death would.
  void cut(std::size_t worker) { scatter_->cut(worker); }

 private:
  Splitter(std::size_t in_flight, PictureForm form, bool on_gpu);
  [[nodiscard]] Result<void> start(const Parties& parties);
  [[nodiscard]] Result<std::unique_ptr<Stages>> make_stages(int device) const;
  [[nodiscard]] Result<void> prepare(Picture& picture);
  /// What a picture needs before it joins a group. @return its answer, where it joins none
  [[nodiscard]] std::optional<Result<SplitOutput>> begin(Picture& picture);
  void decoder_main(Stages& stages) noexcept;
  void refuse_oldest() noexcept;
  [[nodiscard]] Result<void> lay_out(Group& group, const MemoryPlace& from);
  void encoder_main(Stages& stages) noexcept;
  [[nodiscard]] Result<SplitOutput> resize_whole(const Picture& picture, const Status& why);
  [[nodiscard]] Result<SplitOutput> planes_of_whole(std::unique_ptr<Picture> picture,
                                                    const Status& why);
  [[nodiscard]] Result<void> decode(Stages& stages, Group& group);
  void let_go();
  void give_up(Group& group, const Status& why) noexcept;
  void conclude(Stages& stages, Group& group) noexcept;
  [[nodiscard]] static Result<void> note_losses(Group& group);
  void answer(Stages& stages, Group& group) noexcept;

  /// How many lanes decode, and how many encode.
  struct LaneCounts {
    std::size_t decoders;
    std::size_t encoders;
  };
  const PictureForm form_;
  const bool on_gpu_;
  const LaneCounts lane_counts_;
  const PictureQueue::Bounds bounds_;
  std::string reason_;  ///< for reports
  codec::TurboStages turbo_;
  std::vector<std::unique_ptr<Stages>> decoders_;
  std::vector<std::unique_ptr<Stages>> encoders_;
  MemoryPlace gathered_at_;
  engine::ConverterCache converters_;
  PictureQueue queue_;
  std::mutex results_mutex_;
  std::condition_variable results_;
  std::vector<std::shared_ptr<Group>> resampled_;  ///< for the encoders; room for all in work
  bool stop_ = false;
  std::unique_ptr<Scatter> scatter_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::split
