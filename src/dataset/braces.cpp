#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <dataset/braces.hpp>
#include <filesystem>
#include <optional>
#include <store/object_store.hpp>
#include <string_view>
#include <utility>

namespace framewire::dataset {
namespace {

/// {first..last..step}
struct BraceRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  std::size_t digits = 1;  ///< at least

  [[nodiscard]] std::uint64_t count() const {
    return (std::uint64_t{std::max(first, last)} - std::min(first, last)) / step + 1;
  }
  [[nodiscard]] std::string at(std::uint64_t index) const {
    const std::uint64_t number = last >= first ? first + index * step : first - index * step;
    return fmt::format("{:0{}}", number, digits);
  }
};

struct BracePart;
/// Parts that follow one another: as many names as the product of theirs.
struct BraceSequence {
  std::vector<BracePart> parts;
  std::uint64_t count = 1;
};
/// A text, a range, or sequences of which each stands for names of its own.
struct BracePart {
  std::string_view text;
  std::optional<BraceRange> range;
  std::vector<BraceSequence> choices;
  std::uint64_t count = 1;
};

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As a shell has it: the sign of a step says nothing, and a step of 0 is 1.
std::optional<BraceRange> read_range(std::string_view inside) {
  constexpr std::string_view kDots = "..";
  const std::size_t dots = inside.find(kDots);
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first = inside.substr(0, dots);
  std::string_view last = inside.substr(dots + kDots.size());
  BraceRange range;
  if (const std::size_t more = last.find(kDots); more != std::string_view::npos) {
    std::string_view step = last.substr(more + kDots.size());
    if (step.starts_with('-')) step.remove_prefix(1);
    const auto number = whole_number(step);
    if (!number) return std::nullopt;
    range.step = std::max(*number, 1u);
    last = last.substr(0, more);
  }
  const auto low = whole_number(first);
  const auto high = whole_number(last);
  if (!low || !high) return std::nullopt;
  range.first = *low;
  range.last = *high;
  // Zeros in front of either end ask for equal lengths.
  const bool equal = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  if (equal) range.digits = std::max(first.size(), last.size());
  return range;
}

/// Reads a word. Counts stop at `room` + 1.
class BraceReader {
 public:
  BraceReader(std::string_view word, std::uint64_t room)
      : word_(word), most_(room + 1), pair_(word.size(), kNone) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (word[i] == '{') open.push_back(i);
      if (word[i] != '}' || open.empty()) continue;
      pair_[open.back()] = i;
      open.pop_back();
    }
  }

  /// @return nothing for braces that are too deep
  [[nodiscard]] std::optional<BraceSequence> read() {
    auto sequence = read(0, word_.size(), 0);
    if (too_deep_) return std::nullopt;
    return sequence;
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  BraceSequence read(std::size_t begin, std::size_t end, std::size_t depth) {
    BraceSequence sequence;
    if (depth > kMaxBraceDepth) {
      too_deep_ = true;
      return sequence;
    }
    std::size_t text = begin;  // where what has no meaning begins
    const auto add = [&](BracePart part) {
      // Each factor is at most 2^32 or most_, and the product so far at most most_.
      sequence.count = std::min(most_, sequence.count * part.count);
      sequence.parts.push_back(std::move(part));
    };
    const auto add_text = [&](std::size_t until) {
      if (until > text) add({word_.substr(text, until - text), {}, {}, 1});
    };
    for (std::size_t at = begin; at < end; ++at) {
      if (word_[at] != '{' || pair_[at] == kNone) continue;
      const std::size_t close = pair_[at];
      const auto commas = commas_in(at + 1, close);
      BracePart part;
      if (!commas.empty()) {
        part = read_choices(at + 1, close, commas, depth);
      } else if (auto range = read_range(word_.substr(at + 1, close - at - 1))) {
        part.count = std::min(most_, range->count());
        part.range = *range;
      } else {
        continue;  // its inside may have a meaning
      }
      add_text(at);
      add(std::move(part));
      at = close;
      text = close + 1;
    }
    add_text(end);
    return sequence;
  }

  BracePart read_choices(std::size_t begin, std::size_t end, const std::vector<std::size_t>& commas,
                         std::size_t depth) {
    BracePart part;
    part.count = 0;
    for (std::size_t i = 0; i <= commas.size(); ++i) {
      const std::size_t until = i < commas.size() ? commas[i] : end;
      part.choices.push_back(read(begin, until, depth + 1));
      part.count = std::min(most_, part.count + part.choices.back().count);
      begin = until + 1;
    }
    return part;
  }

  // Those that are in no braces of their own.
  [[nodiscard]] std::vector<std::size_t> commas_in(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> commas;
    for (std::size_t at = begin; at < end; ++at) {
      if (word_[at] == ',') commas.push_back(at);
      if (word_[at] == '{' && pair_[at] != kNone) at = pair_[at];
    }
    return commas;
  }

  const std::string_view word_;
  const std::uint64_t most_;
  std::vector<std::size_t> pair_;  ///< of each '{' that has one: where its '}' is
  bool too_deep_ = false;
};

void append_name(const BraceSequence& sequence, std::uint64_t index, std::string& name) {
  std::uint64_t period = sequence.count;
  for (const BracePart& part : sequence.parts) {
    period /= part.count;
    std::uint64_t which = index / period % part.count;
    if (part.range) {
      name += part.range->at(which);
      continue;
    }
    name += part.text;
    for (const BraceSequence& choice : part.choices) {
      if (which < choice.count) {
        append_name(choice, which, name);
        break;
      }
      which -= choice.count;
    }
  }
}

}  // namespace

Result<std::vector<std::string>> expand_braces(const std::string& word, std::size_t room) {
  const auto refuse = [&](std::string why) {
    return fail(Status(StatusCode::kTooLarge, std::move(why))
                    .about(std::string(store::without_query(word))));
  };
  const auto sequence = BraceReader(word, room).read();
  if (!sequence) return refuse(fmt::format("has braces more than {} deep", kMaxBraceDepth));
  if (sequence->count > room) {
    return refuse(fmt::format("stands for more than {} names", kMaxExpandedNames));
  }
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(sequence->count));
  for (std::uint64_t i = 0; i < sequence->count; ++i) {
    append_name(*sequence, i, names.emplace_back());
  }
  return names;
}

Result<std::vector<std::string>> expand_name(const std::string& word, std::size_t room) {
  std::error_code error;
  const bool is_file = word.find('{') != std::string::npos && !store::is_remote_url(word) &&
                       std::filesystem::exists(word, error);
  return is_file && room > 0 ? std::vector<std::string>{word} : expand_braces(word, room);
}

}  // namespace framewire::dataset
