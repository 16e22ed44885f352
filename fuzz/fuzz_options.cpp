// Option texts from strangers: lines of "name=value", as HTTP will bring them.
//
// Beyond not crashing: what was accepted is written out by to_string() in a form that gives equal
// options, and validate() refuses nothing that a single option accepted as out of range.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <framewire/options.hpp>
#include <string>
#include <string_view>

namespace {

using framewire::ResizeOptions;

void require(bool held) {
  if (!held) std::abort();
}

// Sets every entry of the text that is accepted. @return how many were refused
int set_all(ResizeOptions& options, std::string_view text, char separator) {
  int refused = 0;
  while (!text.empty()) {
    const auto end = text.find(separator);
    const std::string_view entry = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const auto equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    const std::string before = framewire::to_string(options);
    if (const auto set = framewire::set_option(options, name, value); !set) {
      ++refused;
      require(framewire::to_string(options) == before);
      require(set.error().code() == framewire::StatusCode::kInvalidInput);
      require(set.error().to_string().find('\n') == std::string::npos);
    }
  }
  return refused;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ResizeOptions options;
  set_all(options, {reinterpret_cast<const char*>(data), size}, '\n');
  const std::string text = framewire::to_string(options);
  ResizeOptions again;
  require(set_all(again, text, ' ') == 0);
  require(framewire::to_string(again) == text);
  require(framewire::output_hash(again) == framewire::output_hash(options));
  if (const auto valid = framewire::validate(options); !valid) {
    // Only what concerns two options together is left to refuse.
    const std::string& about = valid.error().subject();
    require(about == "background" || about == "size");
  }
  return 0;
}
