// The warnings of the CPU codec's own entropy decoder beside libjpeg's.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <framewire/image.hpp>
#include <vector>

namespace framewire::test {

inline bool same_words(const Warning& a, const Warning& b) {
  return a.kind == b.kind && a.message == b.message;
}

/// Our own decoder's warnings are libjpeg's, and one of ours where these do not say that data is
/// corrupt. Where nothing is wrong but data left over, it is ours, whatever libjpeg says of that.
inline void expect_libjpegs_warnings(std::vector<Warning> own,
                                     const std::vector<Warning>& libjpeg) {
  const auto is_of = [](WarningKind kind) {
    return [kind](const Warning& warning) { return warning.kind == kind; };
  };
  // Of padding, too, libjpeg may say that it is left over.
  if (own.empty() || (own.size() == 1 && own[0].message == "a scan has more data than MCUs")) {
    EXPECT_TRUE(std::ranges::all_of(libjpeg, is_of(WarningKind::kExtraneousBytes)));
    return;
  }
  if (!own.empty() && own.back().message == "a scan has data that no encoder writes") {
    EXPECT_TRUE(std::ranges::none_of(libjpeg, is_of(WarningKind::kCorruptData)));
    EXPECT_TRUE(std::ranges::none_of(libjpeg, is_of(WarningKind::kTruncated)));
    own.pop_back();
  }
  EXPECT_TRUE(std::ranges::equal(own, libjpeg, same_words));
}

}  // namespace framewire::test
