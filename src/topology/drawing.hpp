// The host as a picture: sockets, root complexes, switches, GPUs and NICs, and a table of pairs.
#pragma once

#include <string>
#include <topology/diagnosis.hpp>
#include <vector>

namespace framewire::topology {

/// One box of the picture.
struct Box {
  enum class Kind : std::uint8_t { kHost, kSocket, kRootComplex, kSwitch, kGpu, kNic };
  Kind kind = Kind::kHost;
  std::string title;
  std::vector<std::string> details;  ///< one line each
  std::vector<Box> inside;
};

/// Bridges that lead to one thing only are left out: they say nothing about who is near whom.
[[nodiscard]] Box picture_of(const HostFacts& facts);

/// What a pair's cell says: "PIX" for a GPU and a NIC, otherwise the path, and a mark for the
/// verdict.
[[nodiscard]] std::string cell_of(const Pair& pair);
/// "✓", "!", "✗", "?" or "–".
[[nodiscard]] std::string_view mark_of(Verdict verdict) noexcept;

/// Names of rows and columns of the table of pairs, and what stands there.
struct PairMatrix {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<const Pair*> cells;  ///< [row][column]; null on the diagonal
};

/// Points into the diagnosis.
[[nodiscard]] PairMatrix table_of(const Diagnosis& diagnosis);

/// Lines for a terminal: tree, table, why pairs are not ok. UTF-8.
[[nodiscard]] std::string draw_text(const Diagnosis& diagnosis);

/// A self-contained SVG 1.1 document; follows the reader's choice of light or dark.
[[nodiscard]] std::string draw_svg(const Diagnosis& diagnosis);

}  // namespace framewire::topology
