#include <fmt/format.h>
#include <algorithm>
#include <base/nanoseconds.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/sample_key.hpp>
#include <dataset/sidecars.hpp>
#include <dataset/unpack_source.hpp>
#include <utility>

namespace framewire::dataset {
namespace {

std::string without_dot_slash(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return std::string(name);
}

tl::unexpected<batch::WriteError> of_this_member(Status status) {
  return tl::unexpected<batch::WriteError>({std::move(status), false});
}

}  // namespace

/// A picture's bytes, read from its shard.
class UnpackSource::UnpackedMember final : public batch::OpenInput {
 public:
  UnpackedMember(const UnpackSource& source, std::shared_ptr<OpenShard> shard,
                 const tar::Member& member)
      : source_(source), shard_(std::move(shard)), at_(member.content), left_(member.header.size) {
    facts_.bytes = member.header.size;
    facts_.mtime_ns = base::to_nanoseconds(member.header.mtime_s);
    facts_.permissions = shard_->permissions;
    facts_.version = shard_->file->facts().version;
  }
  const batch::InputFacts& facts() const noexcept override { return facts_; }
  Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left_, into.size()));
    if (some == 0) return std::size_t{0};
    auto got = shard_->file->read_at(at_, into.first(some));
    if (!got) {
      source_.note_lost(got.error());
      return got;
    }
    if (*got != some) {
      return fail(StatusCode::kIoError, "cannot be read: its shard has become shorter");
    }
    at_ += some;
    left_ -= some;
    return some;
  }

 private:
  const UnpackSource& source_;
  const std::shared_ptr<OpenShard> shard_;
  batch::InputFacts facts_;
  std::uint64_t at_;
  std::uint64_t left_;
};

struct UnpackSource::ListedPicture {
  std::shared_ptr<OpenShard> shard;
  tar::Member member;
};

// Members have no identity of their own: an output that has the shard's place is known by the
// batch's own list of inputs.
UnpackSource::OpenShard::OpenShard(std::unique_ptr<ShardInput> opened)
    : file(std::move(opened)), permissions(file->facts().permissions) {
  if (permissions) permissions->id = {};
}

UnpackSource::UnpackSource(std::vector<NamedShard> shards, UnpackOptions options)
    : shards_(std::move(shards)),
      options_(std::move(options)),
      pieces_({.max_bytes = options_.store_bytes, .objects = 1}) {
  for (const NamedShard& shard : shards_) inputs_.insert(shard.path);
}
UnpackSource::~UnpackSource() = default;

Result<std::optional<batch::Input>> UnpackSource::next() {
  for (;;) {
    if (!reader_) {
      if (next_shard_ == shards_.size()) return std::nullopt;
      const std::size_t index = next_shard_++;
      if (index % options_.part.count != options_.part.index) continue;
      const std::string path(store::without_query(shards_[index].path));
      if (auto opened = open_shard(shards_[index]); !opened) {
        note_lost(opened.error());
        return failed(path, path, opened.error());
      }
    }
    const std::string& path = shard_->file->path();
    const auto member = reader_->next();
    if (!member) {
      if (const auto lost = shard_->file->lost()) note_lost(*lost);
      const std::string name = reader_->damaged().header.name;
      reader_.reset();
      return failed(name.empty() ? path : path + ": " + name, path, member.error());
    }
    if (!*member) {
      reader_.reset();
      continue;
    }
    auto taken = take(**member);
    if (!taken || *taken) return taken;
  }
}

void UnpackSource::note_lost(const Status& error) const {
  if (options_.unreachable != nullptr && is_store_fault(error)) *options_.unreachable = true;
}

Result<void> UnpackSource::open_shard(const NamedShard& shard) {
  auto file = open_shard_input(shard, options_.stores.get(), pieces_);
  if (!file) return fail(file.error());
  shard_ = std::make_shared<OpenShard>(std::move(*file));
  reader_.emplace(*shard_->file, shard_->file->bytes());
  return {};
}

bool UnpackSource::is_jpeg(const tar::Member& member) {
  if (named_like_jpeg(member.header.name)) return true;
  const auto begin = reader_->peek(member);
  return begin && begin->size() > 2 && (*begin)[0] == 0xFF && (*begin)[1] == 0xD8 &&
         (*begin)[2] == 0xFF;
}

// @return an input, unless the member is written by now or passed over
Result<std::optional<batch::Input>> UnpackSource::take(const tar::Member& member) {
  if (!member.is_file() && !member.sparse) return std::nullopt;
  shard_->file->read_ahead(member.content);
  const bool picture = !member.sparse && is_jpeg(member);
  const bool sidecar = !picture && named_like_sidecar(member.header.name, options_.sidecars);
  if (!picture && !sidecar && !named_like_jpeg(member.header.name)) return std::nullopt;
  const std::string label = shard_->file->path() + ": " + member.header.name;
  const std::string name = without_dot_slash(member.header.name);
  if (auto fault = fault_of(member, name)) return failed(label, label, *fault);
  if (picture) {
    batch::Input input;
    input.label = label;
    input.name = name;
    input.data = std::make_shared<const ListedPicture>(ListedPicture{shard_, member});
    return input;
  }
  if (options_.sink == nullptr) return std::nullopt;
  auto written = write_sidecar(member, name, label);
  if (written) return std::nullopt;
  if (written.error().environment) return fail(std::move(written.error().status));
  return failed(label, name, written.error().status);
}

std::optional<Status> UnpackSource::fault_of(const tar::Member& member, const std::string& name) {
  if (member.sparse) {
    return Status(StatusCode::kUnsupported, "is sparse; accepted: members that are stored whole");
  }
  if (auto good = batch::check_name(name); !good) return std::move(good.error());
  // Of files the sink sees it, whatever they are called.
  if (options_.sink != nullptr && inputs_.contains(options_.sink->label(name))) {
    return Status(StatusCode::kInvalidInput,
                  "would replace a shard of this batch; accepted: another OUT_DIR");
  }
  if (names_.insert(name)) return std::nullopt;
  return Status(StatusCode::kInvalidInput,
                fmt::format("would be written to {} like an earlier member", name));
}

batch::WriteResult UnpackSource::write_sidecar(const tar::Member& member, const std::string& name,
                                               const std::string& label) {
  const std::uint64_t bytes = member.header.size;
  if (bytes > kMaxSidecarBytes) {
    return of_this_member(Status(
        StatusCode::kTooLarge,
        fmt::format("has {} bytes; accepted beside pictures: up to {}", bytes, kMaxSidecarBytes)));
  }
  if (options_.resume) {
    const auto there = options_.sink->find(name);
    if (!there) return of_this_member(there.error());
    if (*there == bytes) return {};
  }
  std::vector<std::uint8_t> content(static_cast<std::size_t>(bytes));
  const auto got = shard_->file->read_at(member.content, content);
  if (!got) note_lost(got.error());
  if (!got) return of_this_member(got.error());
  if (*got != content.size()) {
    return of_this_member(
        Status(StatusCode::kIoError, "cannot be read: its shard has become shorter"));
  }
  const batch::Output output{options_.sink->label(name), name, label, shard_->permissions,
                             options_.resume};
  auto written = options_.sink->commit(output, content);
  if (written) ++sidecars_written_;
  return written;
}

batch::Input UnpackSource::failed(std::string label, std::string name, const Status& error) {
  batch::Input input;
  input.error = Status(error.code(), error.message()).about(label);
  if (error.offset()) input.error = Status(std::move(*input.error)).at(*error.offset());
  input.label = std::move(label);
  input.name = std::move(name);
  return input;
}

Result<std::unique_ptr<batch::OpenInput>> UnpackSource::open(const batch::Input& input) const {
  const auto listed = std::static_pointer_cast<const ListedPicture>(input.data);
  return std::make_unique<UnpackedMember>(*this, listed->shard, listed->member);
}

}  // namespace framewire::dataset
