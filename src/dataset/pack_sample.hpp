// A picture that is packed, from being listed to being written.
#pragma once

#include <cstdint>
#include <dataset/tar/header.hpp>
#include <framewire/batch/manifest.hpp>
#include <framewire/batch/source.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::dataset {

/// A member on its way, besides its name.
struct PackMember {
  std::string name;
  std::vector<std::uint8_t> bytes;
  std::optional<batch::Permissions> permissions;
  std::int64_t mtime_s = 0;
};

/// A picture from being listed to being written.
struct PackSample {
  std::string label;
  std::string member;
  std::vector<PackMember> members;  ///< the picture, and what travels with it
  std::optional<batch::Row> row;
  bool lost = false;  ///< a store did not hand out the picture, or what travels with it
};

inline tar::Header header_of(const PackMember& member) {
  constexpr std::uint32_t kReadWrite = 0666;
  tar::Header header;
  header.name = member.name;
  header.size = member.bytes.size();
  header.mode = member.permissions ? member.permissions->mode & kReadWrite : 0644;
  header.mtime_s = member.mtime_s;
  return header;
}

inline std::uint64_t held_bytes(const PackSample& sample) {
  std::uint64_t bytes = 0;
  for (const PackMember& member : sample.members) bytes += member.bytes.size();
  return bytes;
}

}  // namespace framewire::dataset
