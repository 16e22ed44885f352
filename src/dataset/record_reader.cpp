#include <algorithm>
#include <dataset/record_reader.hpp>
#include <span>
#include <utility>

namespace framewire::dataset {

RecordReader::RecordReader(store::ObjectStore& store, std::vector<store::ObjectInfo> manifests)
    : store_(store), manifests_(std::move(manifests)) {}

RecordReader::~RecordReader() {
  for (const auto& tail : tails_) tail->result.wait();
}

void RecordReader::begin_more() {
  constexpr std::size_t kAhead = 64;
  while (begun_ < manifests_.size() && tails_.size() < kAhead) {
    const store::ObjectInfo& manifest = manifests_[begun_];
    const auto bytes = std::min<std::uint64_t>(manifest.bytes, kRecordTailBytes);
    const auto tail = std::make_shared<Tail>();
    tail->text.resize(static_cast<std::size_t>(bytes));
    const std::span into(reinterpret_cast<std::uint8_t*>(tail->text.data()), tail->text.size());
    store_.start_read(manifest, manifest.bytes - bytes, into,
                      [tail](Result<std::size_t> got) { tail->got.set_value(std::move(got)); });
    // Once it is on its way: the destructor waits for all that are here.
    tails_.push_back(tail);
    ++begun_;
  }
}

Result<std::optional<ShardRecord>> RecordReader::next() {
  begin_more();
  if (tails_.empty()) return std::nullopt;
  const std::shared_ptr<Tail> tail = std::move(tails_.front());
  tails_.pop_front();
  const auto got = tail->result.get();
  if (!got && got.error().code() == StatusCode::kInvalidInput) return std::nullopt;
  if (!got) return fail(got.error());
  if (*got != tail->text.size()) return std::nullopt;
  return record_at_end(tail->text);
}

}  // namespace framewire::dataset
