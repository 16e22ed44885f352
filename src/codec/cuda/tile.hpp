// How work is cut up for thread blocks.
#pragma once

#include <cstdint>

namespace framewire::codec::cuda {

/// Which part of an image or plane one thread block works on.
struct Tile {
  std::uint32_t owner = 0;
  std::uint32_t part = 0;
};

}  // namespace framewire::codec::cuda
