// Names of many shards in one word: train-{000000..000999}.tar
#pragma once

#include <cstddef>
#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::dataset {

/// Bound on the names that all words together stand for.
inline constexpr std::size_t kMaxExpandedNames = 10'000'000;

/// Bound on braces in braces.
inline constexpr std::size_t kMaxBraceDepth = 32;

/// The names that a word stands for, in order, as bash and Python's braceexpand have them:
/// {000..010} counts, up or down, with as many digits as its ends have; {0..10..5} by steps; {a,b}
/// takes each, of which either may have braces. Several in one word combine, the last one fastest.
/// Other braces stay as they are.
/// @return too_large for more than `room` names, and for braces that are more than kMaxBraceDepth
/// deep
[[nodiscard]] Result<std::vector<std::string>> expand_braces(const std::string& word,
                                                             std::size_t room = kMaxExpandedNames);

/// The same of a word of a command line or a list: a file that has such a name is meant itself.
[[nodiscard]] Result<std::vector<std::string>> expand_name(const std::string& word,
                                                           std::size_t room = kMaxExpandedNames);

}  // namespace framewire::dataset
