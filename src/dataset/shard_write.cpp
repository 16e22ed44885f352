// Writing what has come of a shard, in the order of its members.
#include <fmt/format.h>
#include <algorithm>
#include <dataset/shard_work.hpp>
#include <new>
#include <utility>

namespace framewire::dataset {
namespace {

// What is thrown here is memory that ran out, which every shard would meet.
template <typename Write>
auto without_throwing(Write write) -> decltype(write()) {
  try {
    return write();
  } catch (const std::bad_alloc&) {
    return tl::unexpected<batch::WriteError>(
        {Status(StatusCode::kBusy, "memory ran out while a shard was written"), true});
  } catch (const std::exception& error) {
    return tl::unexpected<batch::WriteError>({Status(StatusCode::kInternal, error.what()), true});
  }
}

}  // namespace

// One thread at a time writes, without the lock.
batch::WriteResult ShardWork::write_ready(std::unique_lock<std::mutex>& lock) {
  if (writing_ || state_ != State::kInWork) return {};
  writing_ = true;
  batch::WriteResult result;
  while (result && !samples_.empty() && samples_.front().closed &&
         samples_.front().undecided == 0) {
    Sample sample = std::move(samples_.front());
    samples_.pop_front();
    ++first_sample_;
    lock.unlock();
    std::uint64_t bytes = 0;
    for (const Piece& piece : sample.pieces) bytes += piece.encoded.size();
    result = without_throwing([&] { return write_sample(sample); });
    if (bytes > 0) budget_.release(bytes);
    if (!sample.pieces.empty()) input_->release_before(sample.pieces.back().member.end);
    lock.lock();
    if (state_ != State::kInWork) break;
    listed_bytes_ -= sample.listed_bytes;
    end_wait();
  }
  // Another thread may have given the shard up, whose samples are gone then, not written.
  if (result && state_ == State::kInWork && listed_ && samples_.empty()) {
    lock.unlock();
    const auto committed = without_throwing([&] { return commit_output(); });
    if (!committed) result = tl::unexpected<batch::WriteError>(committed.error());
    lock.lock();
    if (committed) state_ = *committed;
  }
  writing_ = false;
  // Where another thread has given the shard up meanwhile, it has told why.
  if (!result && !fail_shard()) result = {};
  if (state_ != State::kInWork) {
    output_.reset();
    budget_.notify();
  }
  return result;
}

bool ShardWork::has_failed(const Piece& piece) const {
  return piece.unreadable || (!piece.ok && settings_.failed_samples == FailedSamples::kDrop);
}

// Then it is left out whole. What lies in it apart stands alone.
bool ShardWork::has_failed(const Sample& sample) const {
  return std::ranges::any_of(
      sample.pieces, [this](const Piece& piece) { return !piece.apart && has_failed(piece); });
}

batch::WriteResult ShardWork::write_sample(Sample& sample) {
  for (;;) {
    output_->begin_sample();
    const auto whole = write_pieces(sample);
    if (!whole) return tl::unexpected<batch::WriteError>(whole.error());
    if (*whole) break;
    if (auto dropped = output_->drop_sample(); !dropped) return dropped;
  }
  const bool left_out = has_failed(sample);
  if (!sample.key.empty()) ++(left_out ? record_.dropped : record_.samples);
  return write_rows(sample, left_out);
}

// @return false where a member could not be read: what was written of the sample is to be undone,
// and the rest of it to be written without that member
tl::expected<bool, batch::WriteError> ShardWork::write_pieces(Sample& sample) {
  std::uint64_t copied = 0;
  const bool left_out = has_failed(sample);
  for (Piece& piece : sample.pieces) {
    if (piece.apart ? has_failed(piece) : left_out) continue;
    if (!piece.encoded.empty() && piece.ok) {
      if (auto written = output_->append(piece.encoded); !written) {
        return tl::unexpected<batch::WriteError>(written.error());
      }
      continue;
    }
    std::optional<Status> problem;
    const auto done = output_->copy(*input_, piece.member.begin, piece.member.end, problem);
    if (!done) return tl::unexpected<batch::WriteError>(done.error());
    if (*done == ShardOutput::Copied::kUnreadable) {
      if (auto lost = input_->lost()) {
        return tl::unexpected<batch::WriteError>({std::move(*lost), false});
      }
      note_copy_error(piece, std::move(*problem));
      return false;
    }
    if (!piece.row) ++copied;
  }
  record_.copied += copied;
  return true;
}

// A picture that has failed has its row already.
void ShardWork::note_copy_error(Piece& piece, Status error) {
  piece.ok = false;
  piece.unreadable = true;
  if (piece.row) return;
  batch::Row row;
  row.input = label_of(piece.member.header.name);
  row.name = piece.member.header.name.empty() ? name_ : piece.member.header.name;
  row.bytes_in = piece.member.header.size;
  row.error = Status(error.code(), error.message()).about(row.input);
  row.options_hash = settings_.options_hash;
  {
    const std::lock_guard lock(mutex_);
    copy_errors_.push_back(*row.error);
    ++rows_.copy_errors;
  }
  piece.row = std::move(row);
}

batch::WriteResult ShardWork::write_rows(Sample& sample, bool left_out) {
  const auto failed = std::ranges::find_if(
      sample.pieces, [](const Piece& piece) { return !piece.ok && !piece.apart; });
  for (Piece& piece : sample.pieces) {
    if (!piece.row) continue;
    if (left_out && !piece.apart && piece.row->outcome == batch::Outcome::kOk) {
      piece.row->outcome = batch::Outcome::kFailed;
      piece.row->bytes_out = 0;
      piece.row->error = Status(StatusCode::kCancelled,
                                fmt::format("is left out with its sample, of which {} failed",
                                            failed->member.header.name));
    }
    ++(piece.row->outcome == batch::Outcome::kOk ? record_.ok : record_.failed);
    if (auto added = output_->append_row(to_json_line(*piece.row)); !added) return added;
  }
  return {};
}

tl::expected<ShardWork::State, batch::WriteError> ShardWork::commit_output() {
  record_.seconds = base::elapsed_us(start_) / 1e6;
  const auto& permissions = input_->facts().permissions;
  const auto committed = output_->commit(record_, permissions ? &*permissions : nullptr);
  if (!committed) return tl::unexpected<batch::WriteError>(committed.error());
  return *committed == ShardOutput::Committed::kWritten ? State::kWritten : State::kElsewhere;
}

// Under the lock. Results that still come find nothing to add to. @return false where it has failed
// before
bool ShardWork::fail_shard() {
  if (state_ != State::kInWork) return false;
  state_ = State::kFailed;
  std::uint64_t bytes = 0;
  for (const Sample& sample : samples_) {
    for (const Piece& piece : sample.pieces) bytes += piece.encoded.size();
  }
  samples_.clear();
  listed_bytes_ = 0;
  full_ = false;
  budget_.release(bytes);
  return true;
}

}  // namespace framewire::dataset
