#include <algorithm>
#include <dataset/pack_output.hpp>

namespace framewire::dataset {
namespace {

constexpr std::uint64_t kEndBytes = 2 * tar::kBlockBytes;

}  // namespace

std::uint64_t PackOutput::bytes_of(const tar::Header& header) {
  // A size beyond 2^63 is no size of a member in memory.
  return tar::encode_header(header).size() + tar::padded(header.size).value_or(UINT64_MAX / 2);
}

std::uint64_t PackOutput::bytes() const noexcept { return written_ + piece_.size() + kEndBytes; }

batch::WriteResult PackOutput::append(const tar::Header& header,
                                      std::span<const std::uint8_t> content) {
  if (auto added = add(tar::encode_header(header)); !added) return added;
  if (auto added = add(content); !added) return added;
  const std::uint64_t padding = *tar::padded(content.size()) - content.size();
  return add(std::vector<std::uint8_t>(static_cast<std::size_t>(padding)));
}

batch::WriteResult PackOutput::add(std::span<const std::uint8_t> bytes) {
  hash_.add(bytes);
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kPieceBytes - piece_.size());
    piece_.insert(piece_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(some));
    bytes = bytes.subspan(some);
    if (piece_.size() < kPieceBytes) break;
    if (auto flushed = flush(); !flushed) return flushed;
  }
  return {};
}

batch::WriteResult PackOutput::flush() {
  if (auto written = write(piece_); !written) return written;
  written_ += piece_.size();
  piece_.clear();
  return {};
}

batch::WriteResult PackOutput::append_row(std::string_view line) {
  rows_ += line;
  if (rows_.size() < kRowBytes) return {};
  return flush_rows();
}

batch::WriteResult PackOutput::flush_rows() {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows_.data());
  if (auto written = write_rows({bytes, rows_.size()}); !written) return written;
  rows_.clear();
  return {};
}

batch::WriteResult PackOutput::end_rows(const ShardRecord& record) {
  rows_ += to_json_line(record);
  return flush_rows();
}

batch::WriteResult PackOutput::commit(ShardRecord& record) {
  if (auto added = add(std::vector<std::uint8_t>(kEndBytes)); !added) return added;
  if (auto flushed = flush(); !flushed) return flushed;
  record.bytes_out = written_;
  record.hash_out = hash_.value();
  return publish(record);
}

}  // namespace framewire::dataset
