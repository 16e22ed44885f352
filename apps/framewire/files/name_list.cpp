#include <fmt/format.h>
#include <command_line/misuse.hpp>
#include <dataset/braces.hpp>
#include <files/name_list.hpp>
#include <framewire/batch/files.hpp>
#include <store/object_store.hpp>
#include <utility>

namespace framewire::app {

Result<std::vector<std::string>> read_name_list(std::vector<std::string> words) {
  if (words.size() != 1 || !words[0].starts_with("@")) return words;
  const std::string list = words[0].substr(1);
  if (list.empty()) return misuse("@ names no list; accepted: @LIST");
  const auto source = batch::open_list(list, '\n');
  if (!source) return fail(source.error());
  const std::string shown = list == "-" ? "standard input" : list;
  std::vector<std::string> names;
  for (;;) {
    const auto input = (*source)->next();
    if (!input) return fail(input.error());
    if (!*input) break;
    if (const auto& error = (*input)->error) {
      if (error->code() == StatusCode::kIoError) return fail(*error);
      // Its own message has all of the name, and a query may be a signature.
      if (store::is_web_url((*input)->label)) {
        return misuse(fmt::format("{}: {} is named twice, or has '..' in its path", shown,
                                  store::without_query((*input)->label)));
      }
      return misuse(error->to_string());
    }
    if (names.size() == dataset::kMaxExpandedNames) {
      return misuse(
          fmt::format("{}: accepted: lists of up to {} names", shown, dataset::kMaxExpandedNames));
    }
    names.push_back((*input)->label);
  }
  if (names.empty()) return misuse(fmt::format("{}: found no name; accepted: one a line", shown));
  return names;
}

}  // namespace framewire::app
