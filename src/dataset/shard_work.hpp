// One shard in work: its pictures are handed out, and what comes of them goes back in their order.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <cstdint>
#include <dataset/budget.hpp>
#include <dataset/shard_input.hpp>
#include <dataset/shard_output.hpp>
#include <dataset/shard_record.hpp>
#include <dataset/tar/reader.hpp>
#include <deque>
#include <framewire/batch/manifest.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/batch/source.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace framewire::dataset {

/// What is the same for all shards of a batch.
struct ShardSettings {
  FailedSamples failed_samples = FailedSamples::kDrop;
  std::string options_hash;
};

/// What a record says of a shard before any of it is read.
[[nodiscard]] ShardRecord begin_record(const std::string& name, const ShardInput& input,
                                       const ShardSettings& settings);

/// What a shard's members that were listed and are not written may take, about: their names, places
/// and rows, not what was made of them. An archive may have any number, of no content.
inline constexpr std::size_t kMaxListedBytes = 16u << 20;

/// Members go out in the order in which they came: pictures as they were made, others as bytes of
/// the input, headers included. A sample goes out once all of its pictures are decided.
///
/// list() is called by one thread; all else by any number. Whoever decides what comes next in the
/// output also writes it, and what waited behind it; meanwhile others only add to what waits.
class ShardWork : public std::enable_shared_from_this<ShardWork> {
 public:
  /// @param settings, budget  live as long as this
  /// @param id                no other shard of the batch has it
  /// @param label             what messages call the output
  ShardWork(std::uint64_t id, std::string name, std::string label,
            std::unique_ptr<ShardInput> input, std::unique_ptr<ShardOutput> output,
            const ShardSettings& settings, ResultBudget& budget);

  /// What list() found.
  struct Listed {
    std::optional<batch::Input> input;         ///< nothing: there are no more
    std::optional<batch::WriteError> problem;  ///< of the whole shard; there are no more
    bool waits = false;                        ///< there may be more, once may_list()
  };
  /// Goes on to the next picture, or to what cannot be read: the input then has an error. Its name
  /// is "ID/NUMBER", its data a Picture.
  [[nodiscard]] Listed list();
  /// Not while members that were listed wait for those in front of them, in kMaxListedBytes. The
  /// budget is told when that ends.
  [[nodiscard]] bool may_list() const noexcept { return !full_.load(); }

  /// A picture that was handed out. Where it is dropped before it is decided, while the shard is in
  /// work, which only a batch does that ends, the budget is told.
  struct Picture {
    Picture(std::shared_ptr<ShardWork> whose, std::uint64_t which, const tar::Member& member);
    ~Picture();
    Picture(const Picture&) = delete;
    Picture& operator=(const Picture&) = delete;
    const std::shared_ptr<ShardWork> work;
    const std::uint64_t number;
    const std::uint64_t offset;  ///< of its bytes in the shard
    const std::uint64_t bytes;
    const std::int64_t mtime_s;
  };

  /// @param number  of the picture
  [[nodiscard]] std::string label(std::uint64_t number) const;
  /// Keeps what was made of a picture, until decide().
  void commit(std::uint64_t number, std::span<const std::uint8_t> jpeg);
  /// What became of a picture. @return what writing the output met, why nothing more can be had of
  ///         the input, or what the picture failed of that is no fault of its own; then the shard
  ///         has failed
  [[nodiscard]] batch::WriteResult decide(std::uint64_t number, const batch::Row& row);

  /// What the shard has come to.
  enum class State : std::uint8_t {
    kInWork,
    kWritten,
    kElsewhere,  ///< another process has made the same meanwhile
    kFailed,
  };
  [[nodiscard]] State state() const;
  /// Once it is kWritten.
  [[nodiscard]] const ShardRecord& record() const noexcept { return record_; }
  /// Once it is kWritten.
  [[nodiscard]] const ShardRows& rows() const noexcept { return rows_; }
  /// Members that could not be copied, whose samples have failed; empties the list.
  [[nodiscard]] std::vector<Status> take_copy_errors();

  [[nodiscard]] ShardInput& input() noexcept { return *input_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  /// One member.
  struct Piece {
    tar::Member member;                 ///< without a place (begin == end) where it cannot be read
    bool ok = true;                     ///< nothing has failed so far
    bool apart = false;                 ///< lies in a sample, and is no part of it
    bool unreadable = false;            ///< could not be copied, and is left out whatever is kept
    std::vector<std::uint8_t> encoded;  ///< of a picture that was made: header, JPEG, padding
    std::optional<batch::Row> row;
  };
  /// Files with one key, and what lies between them that is no file or has no key, which readers
  /// pass over; or a member without a key.
  struct Sample {
    std::string key;
    std::vector<Piece> pieces;
    std::size_t listed_bytes = 0;  ///< of kMaxListedBytes
    std::size_t apart_bytes = 0;   ///< of those: of members that are no part of it
    std::size_t undecided = 0;
    bool closed = false;  ///< has all its members
  };
  struct Place {
    std::uint64_t sample = 0;  ///< number, from the beginning of the shard
    std::size_t piece = 0;
  };

  [[nodiscard]] bool is_jpeg(const tar::Member& member);
  [[nodiscard]] std::optional<batch::Input> add(const tar::Member& member);
  [[nodiscard]] batch::Input add_damage(const Status& error);
  [[nodiscard]] batch::Input hand_out(tar::Member member, std::string_view key,
                                      std::optional<Status> error);
  [[nodiscard]] batch::WriteResult end_listing();
  [[nodiscard]] tl::expected<bool, batch::WriteError> make_list_room();
  [[nodiscard]] std::optional<Status> one_too_many(const tar::Member& member);
  void end_wait();
  Piece& add_piece(const tar::Member& member, std::string_view key);
  Sample& sample_for(std::string_view key);
  [[nodiscard]] Sample& sample_at(const Place& place);
  [[nodiscard]] std::string label_of(const std::string& member) const;
  void give_up(std::uint64_t number);

  [[nodiscard]] batch::WriteResult write_ready(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool has_failed(const Piece& piece) const;
  [[nodiscard]] bool has_failed(const Sample& sample) const;
  [[nodiscard]] batch::WriteResult write_sample(Sample& sample);
  [[nodiscard]] tl::expected<bool, batch::WriteError> write_pieces(Sample& sample);
  [[nodiscard]] batch::WriteResult write_rows(Sample& sample, bool left_out);
  [[nodiscard]] tl::expected<State, batch::WriteError> commit_output();
  void count_row(const batch::Row& row);
  void note_copy_error(Piece& piece, Status error);
  bool fail_shard();
  [[nodiscard]] std::optional<Status> why_lost(const batch::Row& row) const;
  [[nodiscard]] std::optional<batch::WriteError> give_up_shard(Status why);

  const std::uint64_t id_;
  const std::string name_;
  const std::string output_label_;
  const std::unique_ptr<ShardInput> input_;
  std::unique_ptr<ShardOutput> output_;  ///< of whoever writes
  const ShardSettings& settings_;
  ResultBudget& budget_;
  const base::Clock::time_point start_ = base::Clock::now();
  tar::Reader reader_;  ///< of whoever lists

  mutable std::mutex mutex_;
  std::deque<Sample> samples_;                         ///< not written yet
  std::uint64_t first_sample_ = 0;                     ///< number of samples_[0]
  std::unordered_map<std::uint64_t, Place> pictures_;  ///< handed out and not decided
  std::uint64_t next_number_ = 0;
  std::size_t listed_bytes_ = 0;    ///< of samples_, and of the one that is written
  std::atomic<bool> full_ = false;  ///< changed under mutex_
  bool listed_ = false;             ///< no members come any more
  bool writing_ = false;            ///< somebody does
  State state_ = State::kInWork;
  ShardRecord record_;
  ShardRows rows_;
  std::vector<Status> copy_errors_;
};

}  // namespace framewire::dataset
