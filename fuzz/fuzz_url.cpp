// Targets of requests from strangers: a byte that chooses the server's settings, then the target.
//
// Beyond not crashing: what is accepted can be asked of the library, or is refused by name; its
// canonical text reads back to the same text; nothing that goes into headers or messages has
// control characters.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <framewire/options.hpp>
#include <service/url/grammar.hpp>
#include <service/url/resize_options.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace url = framewire::service::url;

void require(bool held) {
  if (!held) std::abort();
}

std::vector<url::Grammar> make_grammars() {
  std::vector<url::UrlSettings> all(5);
  all[1].allow_security_options = true;
  all[1].client_hints = true;
  all[2].presets = {"default=q:60", "a=pr:b:c/w:10", "b=pr:a/rs:fill:1:2", "c=fn:x/c:1:1:no"};
  all[2].arguments_separator = "::";
  all[2].base64_url_includes_filename = true;
  all[3].presets = all[1].presets;
  all[3].presets.push_back("a=w:1/pr:a");
  all[3].only_presets = true;
  all[3].base_url = "http://images.test/";
  all[3].url_replacements = {"*://*.*/=${2}${1}$$", "a*a=${1}"};
  all[4].keys = {"00"};
  all[4].salts = {"01"};
  all[4].signature_size = 1;
  all[4].path_prefix = "/i";
  for (std::string& preset : all[2].presets) {
    for (auto at = preset.find(':'); at != std::string::npos; at = preset.find(':', at + 2)) {
      preset.insert(at, ":");
    }
  }
  std::vector<url::Grammar> grammars;
  for (url::UrlSettings& settings : all) {
    auto grammar = url::Grammar::make(std::move(settings));
    require(grammar.has_value());
    grammars.push_back(*std::move(grammar));
  }
  return grammars;
}

bool printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return false;
  }
  return true;
}

void check_request(const url::ImageRequest& request, const url::Grammar& plain) {
  require(!request.source_url.empty() && printable(request.source_url));
  require(request.source_url.size() <= url::kMaxSourceUrlBytes);
  const std::string name = url::answer_filename(request);
  require(!name.empty() && printable(name) && name.size() <= url::kMaxFilenameBytes);
  const auto options = url::to_resize_options(request.options, framewire::Limits{});
  if (options) {
    require(framewire::validate(*options).has_value());
  } else {
    require(options.error().kind == url::RequestErrorKind::kUnsupported);
    require(!options.error().option.empty());
  }
  url::ImageRequest canonical = request;
  canonical.cachebuster.reset();  // may hold what another separator allows
  const std::string text = url::canonical_text(canonical);
  const auto again = plain.parse("/u/" + text + "/plain/a", {});
  require(again.has_value() || text.empty());
  if (again) require(url::canonical_text(*again) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<url::Grammar> grammars = make_grammars();
  if (size == 0) return 0;
  const std::string_view target(reinterpret_cast<const char*>(data) + 1, size - 1);
  const url::Grammar& grammar = grammars[data[0] % grammars.size()];
  const url::ClientHints hints{.sec_ch_dpr = target.substr(0, 8),
                               .dpr = "2",
                               .sec_ch_width = target.substr(target.size() / 2),
                               .width = "300"};
  const auto parsed =
      grammar.parse(target, std::chrono::sys_seconds(std::chrono::seconds(1763800000)), hints);
  if (parsed) {
    check_request(*parsed, grammars[1]);
  } else {
    require(parsed.error().kind != url::RequestErrorKind::kUnsupported);
    require(printable(parsed.error().message) && printable(parsed.error().option));
  }
  return 0;
}
