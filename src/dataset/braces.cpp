#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <dataset/braces.hpp>
#include <filesystem>
#include <optional>
#include <store/object_store.hpp>
#include <string_view>

namespace framewire::dataset {
namespace {

/// One {…} of a word.
struct Braces {
  std::size_t begin = 0;                  ///< offset of {
  std::size_t end = 0;                    ///< one past }
  std::vector<std::string_view> choices;  ///< of {a,b}; empty for a range
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t digits = 1;  ///< at least

  [[nodiscard]] std::uint64_t count() const {
    if (!choices.empty()) return choices.size();
    return std::uint64_t{std::max(first, last)} - std::min(first, last) + 1;
  }
  [[nodiscard]] std::string choice(std::uint64_t index) const {
    if (!choices.empty()) return std::string(choices[index]);
    const std::uint64_t number = last >= first ? first + index : first - index;
    return fmt::format("{:0{}}", number, digits);
  }
};

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_range(std::string_view inside, Braces& braces) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return false;
  const std::string_view first = inside.substr(0, dots);
  const std::string_view last = inside.substr(dots + 2);
  const auto low = whole_number(first);
  const auto high = whole_number(last);
  if (!low || !high) return false;
  braces.first = *low;
  braces.last = *high;
  // As a shell has it: zeros in front of either end ask for equal lengths.
  const bool equal = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  braces.digits = equal ? std::max(first.size(), last.size()) : 1;
  return true;
}

bool read_choices(std::string_view inside, Braces& braces) {
  if (inside.find(',') == std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= inside.size();) {
    const std::size_t end = std::min(inside.find(',', begin), inside.size());
    braces.choices.push_back(inside.substr(begin, end - begin));
    begin = end + 1;
  }
  return true;
}

std::vector<Braces> find_braces(std::string_view word) {
  std::vector<Braces> all;
  for (std::size_t at = word.find('{'); at != std::string_view::npos; at = word.find('{', at)) {
    const std::size_t close = word.find_first_of("{}", at + 1);
    if (close == std::string_view::npos) break;
    if (word[close] == '{') {
      at = close;
      continue;
    }
    Braces braces{at, close + 1, {}, 0, 0, 1};
    const std::string_view inside = word.substr(at + 1, close - at - 1);
    if (read_range(inside, braces) || read_choices(inside, braces)) {
      all.push_back(std::move(braces));
    }
    at = close + 1;
  }
  return all;
}

}  // namespace

Result<std::vector<std::string>> expand_braces(const std::string& word, std::size_t room) {
  const std::vector<Braces> all = find_braces(word);
  std::uint64_t count = 1;
  for (const Braces& braces : all) {
    // Each factor is at most 2^32, and the product so far at most `room`.
    if (braces.count() > room || (count *= braces.count()) > room) {
      return fail(Status(StatusCode::kTooLarge,
                         fmt::format("stands for more than {} names", kMaxExpandedNames))
                      .about(std::string(store::without_query(word))));
    }
  }
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name;
    std::size_t done = 0;
    std::uint64_t period = count;
    for (const Braces& braces : all) {
      period /= braces.count();
      name += word.substr(done, braces.begin - done);
      name += braces.choice(i / period % braces.count());
      done = braces.end;
    }
    names.push_back(name + word.substr(done));
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
