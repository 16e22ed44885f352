#include <fmt/format.h>
#include <base/ascii.hpp>
#include <base/errno_code.hpp>
#include <fstream>
#include <map>
#include <service/http/blocking_file.hpp>
#include <service/http/grammar_settings.hpp>
#include <service/http/head.hpp>
#include <service/url/presets.hpp>
#include <service/url/request_error.hpp>
#include <string>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::size_t kMaxPresetsBytes = 1u << 20;

/// Presets of a file, and where each stands.
struct PresetFile {
  std::vector<std::string> presets;
  std::map<std::string, std::size_t, std::less<>> lines;  ///< by the presets' names
};

tl::unexpected<Status> refuse(StatusCode code, std::string message, std::string about) {
  return fail(Status(code, std::move(message)).about(std::move(about)));
}

Text name_of(Text preset) { return base::trim_blanks(preset.substr(0, preset.find('='))); }

Result<std::string> read(const std::string& path) {
  if (is_device_or_pipe(path)) {
    return refuse(StatusCode::kInvalidInput,
                  "presets-file: found a device or pipe; accepted: a regular file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    return refuse(base::code_of_errno(error), "presets-file: cannot be opened", path);
  }
  std::string text(kMaxPresetsBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return refuse(StatusCode::kIoError, "presets-file: cannot be read", path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxPresetsBytes) {
    return refuse(StatusCode::kTooLarge, "presets-file: accepted: at most 1 MiB", path);
  }
  return text;
}

Result<PresetFile> read_presets(const ServiceSettings& settings) {
  PresetFile file;
  if (settings.presets_file.empty()) return file;
  const auto text = read(settings.presets_file);
  if (!text) return fail(text.error());
  Text rest = *text;
  // Editors of other systems begin a file with this mark; it is no part of a name.
  constexpr Text kByteOrderMark = "\xEF\xBB\xBF";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    // Lines of other systems end in a carriage return as well.
    Text line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest = end == Text::npos ? Text() : rest.substr(end + 1);
    line = base::trim_blanks(line);
    if (line.empty() || line.front() == '#') continue;
    const std::string about = fmt::format("{}:{}", settings.presets_file, number);
    const std::string preset(line);
    const auto valid = url::Presets::make({&preset, 1}, settings.url.arguments_separator);
    if (!valid) return refuse(valid.error().code(), valid.error().message(), about);
    const auto [known, is_new] = file.lines.emplace(name_of(line), number);
    if (!is_new) {
      return refuse(StatusCode::kInvalidInput,
                    fmt::format("there is a preset of this name in line {}", known->second), about);
    }
    file.presets.push_back(preset);
  }
  return file;
}

}  // namespace

Result<url::Grammar> make_grammar(const ServiceSettings& settings) {
  const auto file = read_presets(settings);
  if (!file) return fail(file.error());
  url::UrlSettings all = settings.url;
  for (const std::string& preset : all.presets) {
    const auto twice = file->lines.find(name_of(preset));
    if (twice != file->lines.end()) {
      return refuse(StatusCode::kInvalidInput, "the setting presets has a preset of this name",
                    fmt::format("{}:{}", settings.presets_file, twice->second));
    }
  }
  all.presets.insert(all.presets.end(), file->presets.begin(), file->presets.end());
  auto grammar = url::Grammar::make(std::move(all));
  if (grammar) return grammar;
  // What an option says is found out by the grammar, which knows the preset's name alone.
  for (const auto& [name, line] : file->lines) {
    const std::string& message = grammar.error().message();
    if (!message.starts_with(fmt::format("preset {}:", url::quoted(name)))) continue;
    return refuse(grammar.error().code(), message,
                  fmt::format("{}:{}", settings.presets_file, line));
  }
  return grammar;
}

}  // namespace framewire::service::http
