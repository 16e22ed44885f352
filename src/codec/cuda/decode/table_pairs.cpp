#include <algorithm>
#include <codec/cuda/decode/canonical_code.hpp>
#include <codec/cuda/decode/table_pairs.hpp>

namespace framewire::codec::cuda {
namespace {

bool same(const jpeg::HuffmanTable& a, const jpeg::HuffmanTable& b) {
  return a.counts == b.counts && a.value_count == b.value_count &&
         std::equal(a.values.begin(), a.values.begin() + a.value_count, b.values.begin());
}

std::string key_of(const jpeg::HuffmanTable& dc, const jpeg::HuffmanTable& ac) {
  std::string key;
  for (const jpeg::HuffmanTable* table : {&dc, &ac}) {
    key.append(reinterpret_cast<const char*>(table->counts.data()), table->counts.size());
    key.append(reinterpret_cast<const char*>(table->values.data()),
               static_cast<std::size_t>(table->value_count));
  }
  return key;
}

}  // namespace

void TablePairs::clear() {
  for (Known& known : known_) known.index = kNone;
  others_.clear();
}

TablePairs::Known& TablePairs::replace_oldest() {
  Known& known = known_[oldest_];
  oldest_ = (oldest_ + 1) % known_.size();
  if (known.index != kNone) others_.emplace(key_of(known.dc, known.ac), known.index);
  known.used = false;
  return known;
}

std::uint32_t TablePairs::index_of(const jpeg::HuffmanTable& dc, const jpeg::HuffmanTable& ac,
                                   gpu::UploadList<CanonicalCode>& codes) {
  auto known = std::ranges::find_if(known_, [&](const Known& pair) {
    return pair.used && same(pair.dc, dc) && same(pair.ac, ac);
  });
  if (known == known_.end()) {
    if (const auto other = others_.find(key_of(dc, ac)); other != others_.end()) {
      return other->second;
    }
    known = &replace_oldest();
    *known = {dc, ac, {make_canonical(dc), make_canonical(ac)}, true, kNone};
  }
  if (known->index == kNone) {
    known->index = codes.size() / 2;
    for (const CanonicalCode& code : known->codes) codes.add(code);
  }
  return known->index;
}

}  // namespace framewire::codec::cuda
