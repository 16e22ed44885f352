#include <fmt/format.h>
#include <commands/batch/shard_hints.hpp>
#include <filesystem>
#include <report/console.hpp>
#include <store/object_store.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace framewire::app {
namespace {

std::string_view folder_of(std::string_view label) { return label.substr(0, label.rfind('/') + 1); }

// In quotes only where a shell would take the text for something else.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%=";
  const bool plain = text.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(text) : shell_quoted(text);
}

}  // namespace

void SkippedShards::add(const batch::Row& row) {
  if (row.outcome != batch::Outcome::kSkipped || !row.input.ends_with(".tar")) return;
  if (count_++ == 0) first_ = row.input;
  one_folder_ = one_folder_ && folder_of(row.input) == folder_of(first_);
}

std::string SkippedShards::text() const {
  if (count_ == 0) return {};
  if (count_ == 1) {
    return fmt::format("1 tar shard was skipped; name it: framewire batch {} OUT_DIR",
                       shell_word(first_));
  }
  std::string names = "@LIST";
  const std::string folder(folder_of(first_));
  // The shell finds files, and a batch objects.
  if (one_folder_ && store::is_object_url(folder)) {
    names = shell_quoted(folder + "*.tar");
  } else if (one_folder_) {
    names = shell_word(folder) + "*.tar";
  }
  return fmt::format("{} tar shards were skipped; name them: framewire batch {} OUT_DIR", count_,
                     names);
}

std::optional<Status> with_list_hint(const batch::Row& row, const InputNames& inputs) {
  if (inputs.list.empty() || row.outcome != batch::Outcome::kFailed || !row.error ||
      row.error->code() != StatusCode::kInvalidInput || !row.input.ends_with(".tar")) {
    return std::nullopt;
  }
  std::error_code error;
  const bool file = inputs.list != "-" && std::filesystem::is_regular_file(inputs.list, error);
  const std::string_view hint = file ? "a list names shards alone, or pictures alone"
                                     : "a list of shards must be a file: @LIST";
  Status hinted = Status(row.error->code(), fmt::format("{}; {}", row.error->message(), hint))
                      .about(row.error->subject());
  if (row.error->offset()) return std::move(hinted).at(*row.error->offset());
  return hinted;
}

}  // namespace framewire::app
