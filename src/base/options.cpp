#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <base/options_table.hpp>
#include <deque>
#include <framewire/options.hpp>
#include <vector>

namespace framewire {
namespace {

using options::OptionRow;

// What was found ends up in logs, so control characters are shown escaped and long texts cut.
std::string quoted(std::string_view found) {
  constexpr std::size_t kLongest = 60;
  std::string text = "'";
  for (const char c : found.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + (found.size() > kLongest ? "…'" : "'");
}

tl::unexpected<Status> refused(std::string_view name, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(std::string(name)));
}

const OptionRow* find_row(std::string_view name) {
  const auto rows = options::table();
  const auto found = std::ranges::find(rows, name, &OptionRow::name);
  return found == rows.end() ? nullptr : &*found;
}

// Holds the texts that are derived from rows: joined choices, printed defaults.
struct SpecList {
  std::deque<std::string> texts;  // a deque: string_views into its elements stay valid
  std::vector<OptionSpec> specs;

  SpecList() {
    const ResizeOptions defaults;
    for (const OptionRow& row : options::table()) {
      const auto& choices = texts.emplace_back(fmt::format("{}", fmt::join(row.words, "|")));
      const auto& initial = texts.emplace_back(row.metavar.empty() ? "" : row.print(defaults));
      specs.push_back({row.name, row.metavar, choices, initial, row.help, row.group});
    }
  }
};

// Any value that the grammar cannot say is out of range, also when set from code. Every request is
// looked at, and most options are as they were.
Result<void> check_ranges(const ResizeOptions& options) {
  static const ResizeOptions defaults;
  ResizeOptions scratch;
  for (const OptionRow& row : options::table()) {
    if (row.same(options, defaults)) continue;
    const std::string value = row.print(options);
    if (value.empty() || row.parse(scratch, value)) continue;
    return refused(row.name,
                   fmt::format("{} is out of range; accepted: {}", value, accepted_text(row)));
  }
  return {};
}

}  // namespace

std::span<const OptionSpec> option_specs() noexcept {
  static const SpecList list;
  return list.specs;
}

Result<void> set_option(ResizeOptions& options, std::string_view name, std::string_view value) {
  const OptionRow* row = find_row(name);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    for (const OptionRow& known : options::table()) names.push_back(known.name);
    return refused(quoted(name),
                   fmt::format("unknown option; accepted: {}", fmt::join(names, ", ")));
  }
  ResizeOptions changed = options;
  if (!row->parse(changed, value)) {
    return refused(name, fmt::format("found {}; accepted: {}", quoted(value), accepted_text(*row)));
  }
  options = changed;
  return {};
}

Result<void> validate(const ResizeOptions& options) {
  if (auto ranges = check_ranges(options); !ranges) return ranges;
  const bool only_colours =
      options.extend || options.extend_aspect_ratio || options.padding != Padding{};
  if (options.has_background && !only_colours &&
      (options.width_px == 0 || options.height_px == 0)) {
    return refused("background",
                   "alone it pads to exactly size, which needs both sides: give size WxH, or "
                   "padding, extend or extend-aspect-ratio for it to colour");
  }
  return {};
}

std::string to_string(const ResizeOptions& options) {
  const ResizeOptions defaults;
  std::string text;
  for (const OptionRow& row : options::table()) {
    const std::string value = row.print(options);
    if (value == row.print(defaults)) continue;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", row.name, value);
  }
  return text;
}

std::string output_hash(const ResizeOptions& options) {
  std::string text;
  for (const OptionRow& row : options::table()) {
    if (row.affects == options::Affects::kOutput) {
      text += row.name;
      text += '=';
      text += row.print(options);
      text += '\n';
    }
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace framewire
