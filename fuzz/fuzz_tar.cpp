// Tar archives: whatever the bytes, members lie inside them, in order and apart; what is known of
// one survives being written and read again; and the same archive says the same twice.
//
// Also braces, pax records, records of manifests and indices, which read a stranger's text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <dataset/braces.hpp>
#include <dataset/shard_index.hpp>
#include <dataset/shard_record.hpp>
#include <dataset/tar/reader.hpp>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace framewire;
using namespace framewire::dataset;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

class Memory final : public tar::BytesAt {
 public:
  explicit Memory(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

void check_rewritten(const tar::Member& member) {
  tar::Header header = member.header;
  header.size = 0;
  auto bytes = tar::encode_header(header);
  bytes.resize(bytes.size() + 2 * tar::kBlockBytes);
  Memory memory(bytes);
  tar::Reader reader(memory, bytes.size());
  const auto again = reader.next();
  require(again && *again);
  const tar::Header& read = (*again)->header;
  // Names end at NUL, which only a pax header can hold; those of nothing are no names.
  if (header.name.find('\0') != std::string::npos) return;
  require(read.name == header.name);
  require(read.mode == header.mode && read.mtime_s == header.mtime_s);
  require(read.user == header.user && read.group == header.group);
}

void check_archive(std::span<const std::uint8_t> bytes) {
  Memory memory(bytes);
  tar::Reader reader(memory, bytes.size());
  std::uint64_t end = 0;
  for (;;) {
    const auto member = reader.next();
    if (!member) {
      require(reader.damaged().begin == end);
      const auto after = reader.next();
      require(after && !*after);
      break;
    }
    if (!*member) break;
    const tar::Member& found = **member;
    require(found.begin == end && found.begin < found.content && found.content <= found.end);
    require(found.header.size <= found.end - found.content && found.end <= bytes.size());
    require((found.end - found.begin) % tar::kBlockBytes == 0);
    const auto begin = reader.peek(found);
    require(begin && begin->size() <= found.header.size);
    check_rewritten(found);
    end = found.end;
  }
  const auto index = index_shard(memory, bytes.size());
  if (index) (void)to_dali_index(*index);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_archive({data, size});
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)tar::parse_records(text);
  if (const auto record = parse_record(text)) {
    const auto again = parse_record(to_json_line(*record));
    require(again && again->bytes_out == record->bytes_out && again->ok == record->ok);
  }
  if (const auto names = expand_braces(text, 1000)) require(names->size() <= 1000);
  return 0;
}
