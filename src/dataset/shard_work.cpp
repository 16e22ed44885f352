// Listing a shard's members, and taking what comes of its pictures.
#include <fmt/format.h>
#include <algorithm>
#include <dataset/passing_error.hpp>
#include <dataset/sample_key.hpp>
#include <dataset/shard_work.hpp>
#include <utility>

namespace framewire::dataset {
namespace {

/// Members that wait although nobody makes anything of theirs: then who lists writes.
constexpr std::size_t kMaxIdleSamples = 1024;

/// What members that are no part of a sample may take in one that they lie in, some thousand with
/// short names. With more the sample ends there.
constexpr std::size_t kMaxApartBytes = 1u << 20;

// Links, folders, devices, and a header of all members to come, belong to no sample.
std::string_view key_of(const tar::Member& member) {
  if (!member.is_file() && !member.sparse) return {};
  return split_sample_name(member.header.name).key;
}

}  // namespace

ShardWork::Picture::Picture(std::shared_ptr<ShardWork> whose, std::uint64_t which,
                            const tar::Member& member)
    : work(std::move(whose)),
      number(which),
      offset(member.content),
      bytes(member.header.size),
      mtime_s(member.header.mtime_s) {}

ShardWork::Picture::~Picture() { work->give_up(number); }

ShardRecord begin_record(const std::string& name, const ShardInput& input,
                         const ShardSettings& settings) {
  ShardRecord record;
  record.shard = name;
  record.input = input.path();
  record.bytes_in = input.bytes();
  record.mtime_ns = input.facts().mtime_ns;
  record.version = input.facts().version;
  record.options_hash = settings.options_hash;
  record.failed_samples = settings.failed_samples;
  return record;
}

ShardWork::ShardWork(std::uint64_t id, std::string name, std::string label,
                     std::unique_ptr<ShardInput> input, std::unique_ptr<ShardOutput> output,
                     const ShardSettings& settings, ResultBudget& budget)
    : id_(id),
      name_(std::move(name)),
      output_label_(std::move(label)),
      input_(std::move(input)),
      output_(std::move(output)),
      settings_(settings),
      budget_(budget),
      reader_(*input_, input_->bytes()),
      record_(begin_record(name_, *input_, settings)) {
  input_->read_ahead(0);
}

ShardWork::Listed ShardWork::list() {
  while (state() == State::kInWork) {
    const auto room = make_list_room();
    if (!room) return {std::nullopt, room.error(), false};
    if (!*room) return {std::nullopt, std::nullopt, true};
    const auto member = reader_.next();
    if (!member) {
      if (auto lost = input_->lost()) {
        const std::lock_guard lock(mutex_);
        return {std::nullopt, give_up_shard(std::move(*lost))};
      }
      return {add_damage(member.error()), std::nullopt};
    }
    if (!*member) {
      input_->read_ahead(input_->bytes());
      auto ended = end_listing();
      if (!ended) return {std::nullopt, std::move(ended.error())};
      break;
    }
    if (const auto error = one_too_many(**member)) {
      reader_.end();
      return {add_damage(*error), std::nullopt};
    }
    input_->read_ahead((*member)->content);
    if (auto input = add(**member)) return {std::move(input), std::nullopt};
    std::unique_lock lock(mutex_);
    if (!pictures_.empty() && samples_.size() < kMaxIdleSamples) continue;
    if (auto written = write_ready(lock); !written) return {std::nullopt, written.error()};
  }
  return {};
}

// Writes what is ready where what was listed takes too much memory. @return false where it still
// does, and waits for others: for pictures in front, or for who writes
tl::expected<bool, batch::WriteError> ShardWork::make_list_room() {
  std::unique_lock lock(mutex_);
  // The last sample may be open, which one_too_many() bounds, and is not written before it is
  // closed.
  const auto full = [this] {
    return state_ == State::kInWork && listed_bytes_ >= kMaxListedBytes && !samples_.empty() &&
           samples_.front().closed;
  };
  if (!full()) return true;
  if (auto written = write_ready(lock); !written) {
    return tl::unexpected<batch::WriteError>(written.error());
  }
  full_ = full();
  return !full_;
}

// Under the lock, after something was written.
void ShardWork::end_wait() {
  const bool in_the_way = state_ == State::kInWork && listed_bytes_ >= kMaxListedBytes / 2 &&
                          !samples_.empty() && samples_.front().closed;
  if (in_the_way || !full_.exchange(false)) return;
  budget_.notify();
}

// Of one sample, which is in memory until its last member.
std::optional<Status> ShardWork::one_too_many(const tar::Member& member) {
  const std::string_view key = key_of(member);
  const std::lock_guard lock(mutex_);
  if (key.empty() || samples_.empty() || samples_.back().closed || samples_.back().key != key ||
      samples_.back().listed_bytes < kMaxListedBytes) {
    return std::nullopt;
  }
  return Status(
             StatusCode::kTooLarge,
             fmt::format("the sample {} has more than {} members, which take {} bytes of memory; "
                         "accepted: {} bytes, about 20,000 members with short names",
                         key, samples_.back().pieces.size(), samples_.back().listed_bytes,
                         kMaxListedBytes))
      .at(member.begin);
}

bool ShardWork::is_jpeg(const tar::Member& member) {
  if (!member.is_file()) return false;
  if (named_like_jpeg(member.header.name)) return true;
  const auto begin = reader_.peek(member);
  return begin && begin->size() > 2 && (*begin)[0] == 0xFF && (*begin)[1] == 0xD8 &&
         (*begin)[2] == 0xFF;
}

// @return an input, unless the member only travels along
std::optional<batch::Input> ShardWork::add(const tar::Member& member) {
  if (member.sparse) {
    return hand_out(
        member, key_of(member),
        Status(StatusCode::kUnsupported, "is sparse; accepted: members that are stored whole")
            .about(label_of(member.header.name)));
  }
  if (is_jpeg(member)) return hand_out(member, key_of(member), std::nullopt);
  const std::lock_guard lock(mutex_);
  add_piece(member, key_of(member));
  return std::nullopt;
}

// What cannot be read belongs to the sample that lies before it where its name says so; or where
// nothing does, and that sample has not got its picture yet.
batch::Input ShardWork::add_damage(const Status& error) {
  tar::Member member = reader_.damaged();
  record_.damaged_at = member.begin;
  member.content = member.end = member.begin;
  member.header.size = 0;
  std::string key(key_of(member));
  if (reader_.is_behind_end()) {
    const std::lock_guard lock(mutex_);
    if (!samples_.empty()) samples_.back().closed = true;  // it has all its members
  } else if (key.empty()) {
    const std::lock_guard lock(mutex_);
    const bool open = !samples_.empty() && !samples_.back().closed;
    const bool lacks_picture = open && next_number_ > 0 &&
                               std::ranges::none_of(samples_.back().pieces, [](const Piece& piece) {
                                 return !piece.apart && named_like_jpeg(piece.member.header.name);
                               });
    if (lacks_picture) key = samples_.back().key;
  }
  Status named = Status(error.code(), error.message()).about(input_->path());
  if (error.offset()) named = Status(std::move(named)).at(*error.offset());
  return hand_out(std::move(member), key, std::move(named));
}

batch::Input ShardWork::hand_out(tar::Member member, std::string_view key,
                                 std::optional<Status> error) {
  batch::Input input;
  input.label = label_of(member.header.name);
  input.error = std::move(error);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_number_++;
    add_piece(member, key);
    Sample& sample = samples_.back();
    ++sample.undecided;
    pictures_[number] = {first_sample_ + samples_.size() - 1, sample.pieces.size() - 1};
  }
  input.name = fmt::format("{}/{}", id_, number);
  input.data = std::make_shared<const Picture>(shared_from_this(), number, member);
  return input;
}

batch::WriteResult ShardWork::end_listing() {
  std::unique_lock lock(mutex_);
  listed_ = true;
  if (!samples_.empty()) samples_.back().closed = true;
  return write_ready(lock);
}

ShardWork::Piece& ShardWork::add_piece(const tar::Member& member, std::string_view key) {
  Sample& sample = sample_for(key);
  const tar::Header& header = member.header;
  // The name stands in the key and in a row, too.
  std::size_t bytes = sizeof(Sample) + sizeof(Piece) + 3 * header.name.size() +
                      header.user_name.size() + header.group_name.size();
  // What it says is kept once, however many members come behind it.
  if (header.type == tar::kPaxGlobal) bytes += tar::Reader::kMaxGlobalNamesBytes;
  sample.listed_bytes += bytes;
  listed_bytes_ += bytes;
  Piece& piece = sample.pieces.emplace_back();
  piece.member = member;
  piece.apart = key.empty() && !sample.key.empty();
  if (piece.apart) sample.apart_bytes += bytes;
  return piece;
}

ShardWork::Sample& ShardWork::sample_for(std::string_view key) {
  if (!samples_.empty() && !samples_.back().closed && !samples_.back().key.empty()) {
    Sample& last = samples_.back();
    if (key.empty() ? last.apart_bytes < kMaxApartBytes : last.key == key) return last;
  }
  if (!samples_.empty()) samples_.back().closed = true;
  samples_.emplace_back().key = key;
  return samples_.back();
}

ShardWork::Sample& ShardWork::sample_at(const Place& place) {
  return samples_[static_cast<std::size_t>(place.sample - first_sample_)];
}

std::string ShardWork::label_of(const std::string& member) const {
  return member.empty() ? input_->path() : input_->path() + ": " + member;
}

std::string ShardWork::label(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = pictures_.find(number);
  if (found == pictures_.end() || state_ != State::kInWork) return output_label_;
  const auto& sample = samples_[static_cast<std::size_t>(found->second.sample - first_sample_)];
  return output_label_ + ": " + sample.pieces[found->second.piece].member.header.name;
}

void ShardWork::commit(std::uint64_t number, std::span<const std::uint8_t> jpeg) {
  tar::Header header;
  std::shared_ptr<const tar::PaxAttributes> global;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pictures_.find(number);
    if (found == pictures_.end() || state_ != State::kInWork) return;
    const tar::Member& member = sample_at(found->second).pieces[found->second.piece].member;
    header = member.header;
    global = member.global;
  }
  header.size = jpeg.size();
  std::vector<std::uint8_t> encoded = tar::encode_header(header, global.get());
  const std::size_t whole = encoded.size() + static_cast<std::size_t>(*tar::padded(jpeg.size()));
  encoded.reserve(whole);
  encoded.insert(encoded.end(), jpeg.begin(), jpeg.end());
  encoded.resize(whole);
  const std::lock_guard lock(mutex_);
  const auto found = pictures_.find(number);
  if (found == pictures_.end() || state_ != State::kInWork) return;
  budget_.add(encoded.size());
  sample_at(found->second).pieces[found->second.piece].encoded = std::move(encoded);
}

batch::WriteResult ShardWork::decide(std::uint64_t number, const batch::Row& row) {
  std::unique_lock lock(mutex_);
  const auto found = pictures_.find(number);
  if (found == pictures_.end()) return {};
  const Place place = found->second;
  pictures_.erase(found);
  if (state_ != State::kInWork) return {};
  Sample& sample = sample_at(place);
  Piece& piece = sample.pieces[place.piece];
  --sample.undecided;
  count_row(row);
  piece.ok = row.outcome == batch::Outcome::kOk;
  piece.row = row;
  piece.row->name = piece.member.header.name.empty() ? name_ : piece.member.header.name;
  auto lost = piece.ok ? std::nullopt : why_lost(row);
  if (!lost) return write_ready(lock);
  auto problem = give_up_shard(std::move(*lost));
  if (problem) return tl::unexpected<batch::WriteError>(std::move(*problem));
  return {};
}

void ShardWork::count_row(const batch::Row& row) {
  if (row.outcome == batch::Outcome::kOk) {
    ++rows_.ok;
    rows_.bytes_in += row.bytes_in;
    rows_.bytes_out += row.bytes_out;
  } else if (row.outcome == batch::Outcome::kFailed) {
    ++rows_.failed;
    ++rows_.errors[std::string(to_string(row.error->code()))];
  }
}

// What a picture failed of that is no fault of its own.
std::optional<Status> ShardWork::why_lost(const batch::Row& row) const {
  if (auto lost = input_->lost()) return lost;
  if (!row.error || !is_engine_fault(*row.error)) return std::nullopt;
  return Status(row.error->code(),
                fmt::format("is not made, as a picture failed for no fault of its own; {}",
                            row.error->to_string()))
      .about(output_label_);
}

// Under the lock. What is missing now may be there at another time: the shard is left to be made
// then. @return what is to be told, once
std::optional<batch::WriteError> ShardWork::give_up_shard(Status why) {
  if (!fail_shard()) return std::nullopt;
  if (!writing_) output_.reset();
  budget_.notify();
  return batch::WriteError{std::move(why), false};
}

void ShardWork::give_up(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kInWork && pictures_.contains(number)) budget_.give_up();
}

ShardWork::State ShardWork::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::vector<Status> ShardWork::take_copy_errors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(copy_errors_, {});
}

}  // namespace framewire::dataset
