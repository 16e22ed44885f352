#include <algorithm>
#include <command_line/suggest.hpp>
#include <numeric>
#include <vector>

namespace framewire::app {

// Levenshtein's distance by the two-row scheme (R. Wagner, M. Fischer, 1974).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> words) {
  constexpr std::size_t kLongest = 40;  // nobody means an option by more
  std::string_view best;
  std::size_t best_distance = 1 + std::min<std::size_t>(typed.size() / 3, 3);
  if (typed.size() > kLongest) return best;
  for (const std::string_view word : words) {
    // A beginning of a word is near it, however much is missing.
    const bool begins = typed.size() >= 3 && word.starts_with(typed);
    const std::size_t edits = begins ? 1 : edit_distance(typed, word);
    if (edits < best_distance || (edits == best_distance && best.empty())) {
      best = word;
      best_distance = edits;
    }
  }
  return best;
}

}  // namespace framewire::app
