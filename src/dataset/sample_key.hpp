// WebDataset's samples: neighbours whose names are equal up to the first dot of the last part.
#pragma once

#include <string_view>

namespace framewire::dataset {

/// A member's name, cut: "a/000123.seg.jpg" has the key "a/000123" and the extension "seg.jpg".
struct SampleName {
  std::string_view key;  ///< empty: no part of a sample, as a name without a dot, or a hidden file
  std::string_view extension;
};
[[nodiscard]] SampleName split_sample_name(std::string_view name) noexcept;

/// Whether a name ends like a JPEG's: .jpg, .jpeg, .jpe, .jfif, in any case.
[[nodiscard]] bool named_like_jpeg(std::string_view name) noexcept;

}  // namespace framewire::dataset
