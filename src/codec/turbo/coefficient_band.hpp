// The coefficients of one MCU row, or of a part of one, of every component.
#pragma once

#include <algorithm>
#include <array>
#include <codec/turbo/coefficient_block.hpp>
#include <cstdint>
#include <jpeg/types.hpp>
#include <vector>

namespace framewire::codec::turbo {

/// Receives finished blocks, a run of one block row at a time.
class BlockSink {
 public:
  BlockSink() = default;
  BlockSink(const BlockSink&) = delete;
  BlockSink& operator=(const BlockSink&) = delete;
  virtual ~BlockSink() = default;

  /// @param row     block row within the MCU row
  /// @param column  of the first block, in the whole component
  /// @param blocks  [count]; valid during the call
  virtual void blocks(int component, int row, std::int32_t column, const CoefficientBlock* blocks,
                      int count) = 0;
};

class CoefficientBand {
 public:
  /// @param mcus  how many MCUs side by side
  CoefficientBand(const jpeg::FrameHeader& frame, int mcus) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
      Grid& grid = grids_[i];
      grid.columns = mcus * frame.components[i].h;
      const std::size_t size = static_cast<std::size_t>(grid.columns) * frame.components[i].v;
      grid.blocks.resize(size);
      grid.nonzero.resize(size);
    }
  }

  [[nodiscard]] CoefficientBlock* row(std::size_t component, int row) {
    Grid& grid = grids_[component];
    return grid.blocks.data() + static_cast<std::size_t>(row) * grid.columns;
  }
  /// mask_bit(k) of a block's mask: the k-th coefficient sent is not zero. Only progressive scans
  /// keep it.
  [[nodiscard]] std::uint64_t* nonzero(std::size_t component, int row) {
    Grid& grid = grids_[component];
    return grid.nonzero.data() + static_cast<std::size_t>(row) * grid.columns;
  }

  void clear() {
    for (Grid& grid : grids_) {
      std::fill(grid.blocks.begin(), grid.blocks.end(), CoefficientBlock{});
      std::fill(grid.nonzero.begin(), grid.nonzero.end(), 0);
    }
  }

 private:
  struct Grid {
    int columns = 0;
    std::vector<CoefficientBlock> blocks;  ///< [rows of an MCU][columns]
    std::vector<std::uint64_t> nonzero;
  };
  std::array<Grid, jpeg::kMaxComponents> grids_;
};

}  // namespace framewire::codec::turbo
