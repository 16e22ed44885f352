#include <fmt/format.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <dataset/braces.hpp>
#include <files/name_list.hpp>
#include <filesystem>
#include <store/object_store.hpp>
#include <utility>

namespace framewire::app {

Result<std::string> listed_name(const batch::Input& entry, const std::string& list) {
  if (!entry.error) return entry.label;
  if (entry.error->code() == StatusCode::kIoError) return fail(*entry.error);
  if (!store::is_web_url(entry.label)) return misuse(entry.error->to_string());
  return misuse(fmt::format("{}: {} is named twice, or has '..' in its path", list,
                            store::without_query(entry.label)));
}

dataset::ShardNaming naming_of(const std::vector<std::string>& words) {
  return words.size() == 1 && words[0].starts_with("@") ? dataset::ShardNaming::kAsWritten
                                                        : dataset::ShardNaming::kBelowFolder;
}

Result<std::vector<std::string>> read_name_list(std::vector<std::string> words) {
  const auto is_list = [](const std::string& word) {
    std::error_code error;
    return word.starts_with("@") && !std::filesystem::exists(word, error);
  };
  if (words.size() != 1 && std::ranges::any_of(words, is_list)) {
    return misuse("found a list beside other names; accepted: names, or @LIST alone");
  }
  if (words.size() != 1 || !words[0].starts_with("@")) return words;
  const std::string list = words[0].substr(1);
  if (list.empty()) return misuse("@ names no list; accepted: @LIST");
  const auto source = batch::open_list(list, '\n');
  if (!source) return fail(source.error());
  const std::string shown = list == "-" ? "standard input" : list;
  std::vector<std::string> names;
  for (;;) {
    const auto entry = (*source)->next();
    if (!entry) return fail(entry.error());
    if (!*entry) break;
    auto name = listed_name(**entry, shown);
    if (!name) return fail(name.error());
    if (names.size() == dataset::kMaxExpandedNames) {
      return misuse(
          fmt::format("{}: accepted: lists of up to {} names", shown, dataset::kMaxExpandedNames));
    }
    names.push_back(std::move(*name));
  }
  if (names.empty()) return misuse(fmt::format("{}: found no name; accepted: one a line", shown));
  return names;
}

}  // namespace framewire::app
