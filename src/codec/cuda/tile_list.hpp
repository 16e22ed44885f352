// Tiles, gathered on the host.
#pragma once

#include <codec/cuda/tile.hpp>
#include <cstdint>
#include <gpu/upload_list.hpp>

namespace framewire::codec::cuda {

/// Tiles of a kernel, one thread block each.
class TileList : public gpu::UploadList<Tile> {
 public:
  /// Adds parts 0 to `count` - 1 of one owner.
  void add_parts(std::uint32_t owner, std::uint32_t count) {
    for (std::uint32_t part = 0; part < count; ++part) add({owner, part});
  }
};

}  // namespace framewire::codec::cuda
