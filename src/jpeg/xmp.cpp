#include <algorithm>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

// How far before its namespace a binding's xmlns may stand; bounds the search in hostile packets.
constexpr std::size_t kMaxBindingBytes = 128;
constexpr std::string_view kTiffNamespace = "http://ns.adobe.com/tiff/1.0/";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

/// The quoted value after an attribute's name, at which `at` stands.
std::optional<XmpValue> attribute_value(std::string_view xmp, std::size_t at) {
  at = skip_spaces(xmp, at);
  if (at >= xmp.size() || xmp[at] != '=') return std::nullopt;
  at = skip_spaces(xmp, at + 1);
  if (at >= xmp.size() || (xmp[at] != '"' && xmp[at] != '\'')) return std::nullopt;
  const std::size_t end = xmp.find(xmp[at], at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return XmpValue{at + 1, end - at - 1};
}

/// The text of the element whose name ends at `at`; nothing if it has attributes or children.
std::optional<XmpValue> element_value(std::string_view xmp, std::size_t at) {
  at = skip_spaces(xmp, at);
  if (at >= xmp.size() || xmp[at] != '>') return std::nullopt;
  const std::size_t end = xmp.find('<', at);
  if (end == std::string_view::npos || xmp.substr(end, 2) != "</") return std::nullopt;
  return XmpValue{at + 1, end - at - 1};
}

}  // namespace

std::string_view xmp_prefix(std::string_view xmp, std::string_view name_space) {
  constexpr std::string_view kBinding = "xmlns:";
  constexpr std::string_view kNameEnd = "= \t\r\n";
  // One namespace may be the beginning of another, so the first place found need not be it.
  for (std::size_t value = xmp.find(name_space); value != std::string_view::npos;
       value = xmp.find(name_space, value + 1)) {
    const std::size_t window = value - std::min(value, kMaxBindingBytes);
    const std::size_t binding = xmp.substr(window, value - window).rfind(kBinding);
    if (binding == std::string_view::npos) continue;
    const std::size_t begin = window + binding + kBinding.size();
    const std::size_t end = xmp.find_first_of(kNameEnd, begin);
    const auto bound = attribute_value(xmp, std::min(end, xmp.size()));
    if (bound && bound->offset == value && bound->bytes == name_space.size()) {
      return xmp.substr(begin, end - begin);
    }
  }
  return {};
}

std::optional<XmpValue> xmp_value_at(std::string_view xmp, std::size_t name_begin,
                                     std::size_t name_end) {
  const char before = name_begin == 0 ? '\0' : xmp[name_begin - 1];
  if (is_space(before)) return attribute_value(xmp, name_end);
  if (before == '<') return element_value(xmp, name_end);
  return std::nullopt;
}

std::optional<XmpValue> find_xmp_value(std::string_view xmp, std::string_view name,
                                       std::size_t from) {
  if (name.empty()) return std::nullopt;
  for (std::size_t at = xmp.find(name, from); at != std::string_view::npos;
       at = xmp.find(name, at + 1)) {
    if (const auto value = xmp_value_at(xmp, at, at + name.size())) return value;
  }
  return std::nullopt;
}

std::string with_upright_orientation(std::string_view xmp) {
  const std::string_view prefix = xmp_prefix(xmp, kTiffNamespace);
  const auto value = prefix.empty()
                         ? std::nullopt
                         : find_xmp_value(xmp, std::string(prefix).append(":Orientation"));
  if (!value) return std::string(xmp);
  std::string packet(xmp.substr(0, value->offset));
  packet += '1';
  return packet.append(xmp.substr(value->offset + value->bytes));
}

}  // namespace framewire::jpeg
