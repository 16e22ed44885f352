// Streams of a batch that need more than one encoding with the standard codes.
#pragma once

#include <codec/cuda/descriptors.hpp>
#include <gpu/layout.hpp>
#include <vector>

namespace framewire::codec::cuda {

/// Tiles of one kind of stream, as EncodeWork wants them.
struct EncodeTiles {
  std::vector<Tile> blocks;      ///< of kBlocksPerTile output blocks
  std::vector<Tile> own_blocks;  ///< those whose streams have codes of their own
  std::vector<Tile> tables;      ///< of these streams, part = 0 to 3
  std::uint64_t blocks_at = 0, own_blocks_at = 0, tables_at = 0;  ///< in the batch's memory

  void clear();
  void place(gpu::Layout& layout);
  void write(std::uint8_t* staging) const;
};

struct EncodeLists {
  EncodeTiles all;    ///< of all streams
  EncodeTiles again;  ///< of those under a bound on their bytes
  std::vector<SizeSearch> searches;
  std::vector<std::uint32_t> streams;  ///< [searches]
  std::uint64_t searches_at = 0, streams_at = 0;
  std::uint64_t quality_reciprocals = 0, quality_quantisers = 0;  ///< only with searches

  void clear();
  void place(gpu::Layout& layout);
  void write(std::uint8_t* staging) const;
  /// Lists the tiles of a stream. @param index  of the stream
  void add(std::uint32_t index, const EncodeDesc& desc, bool own_codes);
};

/// Quantisers of all qualities, as BatchView wants them.
struct QualityTables {
  std::vector<float> reciprocals;
  std::vector<std::uint8_t> quantisers;
};
/// Made at the first call.
[[nodiscard]] const QualityTables& all_quality_tables();

}  // namespace framewire::codec::cuda
