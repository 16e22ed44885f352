// Archives in memory, made block by block, so that they can be wrong.
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <dataset/tar/bytes_at.hpp>
#include <dataset/tar/reader.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset::test {

class MemoryBytes final : public tar::BytesAt {
 public:
  explicit MemoryBytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Builds an archive; each function returns the object.
class Archive {
 public:
  /// A ustar header, with a right checksum. `size` is written as it stands.
  Archive& header(std::string_view name, char type, std::string_view size) {
    block_ = bytes.size();
    bytes.resize(block_ + tar::kBlockBytes);
    put(0, name);
    put(100, "0000644");
    put(108, "0001750");
    put(116, "0001750");
    put(124, size);
    put(136, "14371573000");
    put(156, std::string_view(&type, 1));
    put(257, std::string_view("ustar\00000", 8));
    return sum();
  }
  /// Overwrites bytes of the last header, and corrects its checksum.
  Archive& field(std::size_t offset, std::string_view text) {
    put(offset, text);
    return sum();
  }
  Archive& content(std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.resize((bytes.size() + tar::kBlockBytes - 1) / tar::kBlockBytes * tar::kBlockBytes);
    return *this;
  }
  Archive& file(std::string_view name, std::string_view text, char type = '0') {
    return header(name, type, fmt::format("{:011o}", text.size())).content(text);
  }
  /// A pax header for the next member.
  Archive& pax(std::string_view key, std::string_view value, char type = 'x') {
    std::string records;
    tar::add_record(records, key, value);
    return file("PaxHeader", records, type);
  }
  Archive& end() {
    bytes.resize(bytes.size() + 2 * tar::kBlockBytes);
    return *this;
  }

  std::vector<std::uint8_t> bytes;

 private:
  void put(std::size_t offset, std::string_view text) {
    std::memcpy(bytes.data() + block_ + offset, text.data(), text.size());
  }
  Archive& sum() {
    put(148, "        ");
    unsigned total = 0;
    for (std::size_t i = 0; i < tar::kBlockBytes; ++i) total += bytes[block_ + i];
    put(148, fmt::format("{:06o}", total));
    bytes[block_ + 154] = 0;
    return *this;
  }
  std::size_t block_ = 0;
};

/// All members of an archive, and how it ended.
struct Walk {
  std::vector<tar::Member> members;
  std::optional<Status> error;
  tar::Member damaged;
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const tar::Member& member : members) all.push_back(member.header.name);
    return all;
  }
};

inline Walk walk(const std::vector<std::uint8_t>& bytes) {
  MemoryBytes memory(bytes);
  tar::Reader reader(memory, memory.size());
  Walk all;
  for (;;) {
    auto member = reader.next();
    if (!member) {
      all.error = member.error();
      all.damaged = reader.damaged();
      return all;
    }
    if (!*member) return all;
    all.members.push_back(std::move(**member));
  }
}

}  // namespace framewire::dataset::test
