// Names of many shards in one word: train-{000000..000999}.tar
#pragma once

#include <cstddef>
#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::dataset {

/// Bound on the names that all words together stand for.
inline constexpr std::size_t kMaxExpandedNames = 10'000'000;

/// The names that a word stands for, in order: {000..010} counts, up or down, with as many digits
/// as its ends have; {a,b} takes each. Several in one word combine, the last one fastest. Other
/// braces stay as they are, as in a shell.
/// @return too_large for more than `room` names
[[nodiscard]] Result<std::vector<std::string>> expand_braces(const std::string& word,
                                                             std::size_t room = kMaxExpandedNames);

/// The same of a word of a command line or a list: a file that has such a name is meant itself.
[[nodiscard]] Result<std::vector<std::string>> expand_name(const std::string& word,
                                                           std::size_t room = kMaxExpandedNames);

}  // namespace framewire::dataset
