// ICC profiles in APP2 segments.
//
// Source: ICC.1:2022 Annex B.4.
#pragma once

#include <cstdint>
#include <jpeg/bytes.hpp>
#include <jpeg/types.hpp>
#include <optional>
#include <span>
#include <vector>

namespace framewire::jpeg {

inline constexpr std::string_view kIccId{"ICC_PROFILE\0", 12};

struct IccAssembly {
  bool present = false;    ///< at least one ICC segment exists
  Bytes profile;           ///< empty where segments are missing or disagree
  std::string problem;     ///< what is wrong, even where a profile could be assembled; else empty
  std::size_t offset = 0;  ///< of the first ICC segment's marker
};

/// Joins the ICC segments among `segments`, in whatever order they come. Of duplicates the first
/// counts, with a problem.
[[nodiscard]] IccAssembly assemble_icc(std::span<const Segment> segments);

/// Appends the APP2 segments of a profile. @return false, appending nothing, above 255 segments
[[nodiscard]] bool write_icc(Bytes& out, ByteSpan profile);

}  // namespace framewire::jpeg
