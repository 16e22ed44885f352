#include <fmt/format.h>
#include <sys/stat.h>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/pack_listing.hpp>
#include <dataset/sample_key.hpp>
#include <dataset/shard_record.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;

/// Numbers of shards, of which there are files.
using Numbers = std::set<std::uint64_t>;

tl::unexpected<Status> not_to_go_on_from(const std::string& path, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(path));
}

// The numbers of files in a folder, by the pattern and what follows it.
Result<Numbers> numbers_in(const OutputRoot& root, const ShardPattern& pattern,
                           std::string_view ending) {
  Numbers numbers;
  std::error_code error;
  fs::directory_iterator walk(root.path, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    if (!name.ends_with(ending)) continue;
    const auto number =
        pattern.number_of(std::string_view(name).substr(0, name.size() - ending.size()));
    if (number) numbers.insert(*number);
  }
  if (error) return fail(batch::io_error(root.path, "read the folder", error.value()));
  return numbers;
}

void read_rows(const std::string& path, bool retry_failed, EarlierPacks& earlier) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    const auto row = batch::parse_row(line);
    if (!row || (!row->ok && retry_failed)) continue;
    earlier.names.insert(row->name);
    if (row->ok) earlier.keys.insert(std::string(split_sample_name(row->name).key));
  }
}

}  // namespace

Result<EarlierPacks> read_earlier_packs(const ShardPattern& pattern, const OutputRoot& outputs,
                                        const OutputRoot& manifests,
                                        const EarlierPackOptions& options) {
  EarlierPacks earlier;
  const auto shards = numbers_in(outputs, pattern, "");
  if (!shards) return fail(shards.error());
  if (!options.resume) {
    if (shards->empty()) return earlier;
    return not_to_go_on_from(outputs.path + "/" + pattern.name(*shards->begin()),
                             "is a shard already; give --resume to go on behind the last one, or "
                             "another pattern");
  }
  for (const std::uint64_t number : *shards) {
    const std::string name = pattern.name(number);
    const std::string path = outputs.path + "/" + name;
    const auto record = read_record(manifests.folder.get(), manifest_name(name));
    std::error_code error;
    if (!record || fs::file_size(path, error) != record->bytes_out || error) {
      return not_to_go_on_from(path,
                               "has no manifest that fits, so that nobody knows what is in it; "
                               "accepted: another pattern, or a folder without it");
    }
    if (record->options_hash != options.options_hash) {
      return not_to_go_on_from(path,
                               "was made with other options; accepted: the same, or another "
                               "pattern");
    }
    read_rows(manifests.path + "/" + manifest_name(name), options.retry_failed, earlier);
    earlier.next = number + 1;
  }
  return earlier;
}

Result<std::optional<PackListing::PackEntry>> PackListing::next() {
  for (;;) {
    auto input = inputs_->next();
    if (!input) return fail(input.error());
    if (!*input) return std::nullopt;
    PackEntry entry{std::move(**input), {}};
    // Folders and links that could not be entered have an error, and a row.
    if (!entry.input.error && !entry.input.expected) continue;
    if (!entry.input.error) entry.input.error = fault_of(entry.input, entry.member);
    if (!batch::in_shard(part_, entry.input)) continue;
    if (entry.member.empty()) entry.member = entry.input.name;
    if (earlier_.names.contains(entry.member)) {
      ++unchanged_;
      continue;
    }
    return entry;
  }
}

// Keys are compared before the parts of other processes are passed over, so that all agree.
std::optional<Status> PackListing::fault_of(const batch::Input& input, std::string& member) {
  auto name = member_name(input.name, dots_);
  if (!name) return Status(std::move(name.error())).about(input.label);
  member = std::move(*name);
  if (auto good = batch::check_name(member); !good) {
    return Status(good.error().code(), good.error().message()).about(input.label);
  }
  if (earlier_.names.contains(member)) return std::nullopt;
  const std::string key(split_sample_name(member).key);
  const bool in_this_run = !keys_.insert(key);
  if (!in_this_run && !earlier_.keys.contains(key)) return std::nullopt;
  return Status(StatusCode::kInvalidInput,
                fmt::format("has the key '{}' of another picture, and WebDataset would take both "
                            "for one sample; accepted: names that differ before their first dot, "
                            "or --key-dots underscore",
                            key))
      .about(input.label);
}

}  // namespace framewire::dataset
