#include <algorithm>
#include <batch/names.hpp>
#include <cstring>
#include <dataset/named_objects.hpp>
#include <dataset/object_names.hpp>
#include <optional>
#include <utility>

namespace framewire::dataset {
namespace {

class WholeInput final : public batch::OpenInput {
 public:
  explicit WholeInput(store::WholeObject whole) : bytes_(std::move(whole.bytes)) {
    facts_.bytes = bytes_.size();
    if (whole.info.mtime_ns != 0) facts_.mtime_ns = whole.info.mtime_ns;
    facts_.version = std::move(whole.info.etag);
  }
  const batch::InputFacts& facts() const noexcept override { return facts_; }
  Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const std::size_t some = std::min(into.size(), bytes_.size() - done_);
    if (some > 0) std::memcpy(into.data(), bytes_.data() + done_, some);
    done_ += some;
    return some;
  }

 private:
  const std::vector<std::uint8_t> bytes_;
  std::size_t done_ = 0;
  batch::InputFacts facts_;
};

class NamedObjectSource final : public batch::Source {
 public:
  NamedObjectSource(std::vector<NamedShard> pictures, std::shared_ptr<StoreSet> stores,
                    std::uint64_t max_bytes)
      : pictures_(std::move(pictures)), stores_(std::move(stores)), max_bytes_(max_bytes) {}

  Result<std::optional<batch::Input>> next() override {
    if (next_ == pictures_.size()) return std::nullopt;
    const NamedShard& picture = pictures_[next_];
    batch::Input input;
    input.label = store::without_query(picture.path);
    input.name = picture.name;
    input.tag = next_++;
    auto good = check_web_name(input.label);
    if (good) good = batch::check_name(input.name);
    if (!good) input.error = Status(good.error().code(), good.error().message()).about(input.label);
    return input;
  }
  Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
    const NamedShard& picture = pictures_[static_cast<std::size_t>(input.tag)];
    const auto url = store::parse_object_url(picture.path);
    if (!url) return fail(url.error());
    const auto store = stores_->get(url->bucket);
    if (!store) return fail(store.error());
    auto whole = (*store)->read_whole(url->key, max_bytes_);
    if (!whole) return fail(whole.error());
    if (!*whole) return fail(Status(StatusCode::kInvalidInput, "is not there").about(input.label));
    return std::make_unique<WholeInput>(std::move(**whole));
  }
  /// name_object_shards() sees to it that they come once each.
  bool checks_names() const noexcept override { return true; }

 private:
  const std::vector<NamedShard> pictures_;
  const std::shared_ptr<StoreSet> stores_;
  const std::uint64_t max_bytes_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<batch::Source> open_named_objects(std::vector<NamedShard> pictures,
                                                  std::shared_ptr<StoreSet> stores,
                                                  std::uint64_t max_bytes) {
  return std::make_unique<NamedObjectSource>(std::move(pictures), std::move(stores), max_bytes);
}

}  // namespace framewire::dataset
