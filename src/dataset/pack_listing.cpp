#include <fmt/format.h>
#include <dataset/pack_listing.hpp>
#include <dataset/sample_key.hpp>
#include <utility>

namespace framewire::dataset {
namespace {

tl::unexpected<Status> not_to_go_on_from(const std::string& label, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(label));
}

}  // namespace

Result<void> check_earlier(const std::string& label, const std::optional<ShardRecord>& record,
                           const EarlierPackOptions& options) {
  if (!options.resume) {
    return not_to_go_on_from(label,
                             "is a shard already; give --resume to go on behind the last one, or "
                             "another pattern");
  }
  if (!record) {
    return not_to_go_on_from(label,
                             "has no manifest that fits, so that nobody knows what is in it; "
                             "accepted: another pattern, or a folder without it");
  }
  if (record->options_hash != options.options_hash) {
    return not_to_go_on_from(label,
                             "was made with other options; accepted: the same, or another "
                             "pattern");
  }
  return {};
}

void add_earlier_row(std::string_view line, bool retry_failed, EarlierPacks& earlier) {
  const auto row = batch::parse_row(line);
  if (!row || (!row->ok && retry_failed)) return;
  earlier.names.insert(row->name);
  if (!row->ok) {
    earlier.failed.insert(row->name);
    return;
  }
  earlier.failed.erase(row->name);
  earlier.keys.insert(std::string(split_sample_name(row->name).key));
}

bool is_to_pack(const std::string& name, KeyDots dots, const batch::Shard& part,
                const EarlierPacks& earlier) {
  if (!named_like_jpeg(name) || !batch::in_shard(part, name)) return false;
  const auto member = member_name(name, dots);
  return member && !earlier.names.contains(*member);
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
      if (earlier_.failed.contains(entry.member)) ++failed_before_;
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
