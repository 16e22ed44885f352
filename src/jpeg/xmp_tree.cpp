#include <jpeg/xmp_tree.hpp>
#include <vector>

namespace framewire::jpeg {
namespace {

// Everything is kept, white space included, so that a packet is written back as it was read.
constexpr unsigned kParsing = pugi::parse_cdata | pugi::parse_comments | pugi::parse_pi |
                              pugi::parse_escapes | pugi::parse_eol | pugi::parse_wconv_attribute |
                              pugi::parse_ws_pcdata;

struct StringWriter final : pugi::xml_writer {
  std::string text;
  void write(const void* data, std::size_t bytes) override {
    text.append(static_cast<const char*>(data), bytes);
  }
};

}  // namespace

pugi::xml_node next_node(pugi::xml_node node, pugi::xml_node root, bool into) {
  if (into && node.first_child()) return node.first_child();
  while (node && node != root && !node.next_sibling()) node = node.parent();
  return !node || node == root ? pugi::xml_node() : node.next_sibling();
}

std::optional<std::string_view> bound_prefix(const pugi::xml_attribute& attribute) {
  constexpr std::string_view kBinding = "xmlns";
  const std::string_view name = attribute.name();
  if (name == kBinding) return std::string_view();
  if (name.size() > 6 && name.substr(0, 5) == kBinding && name[5] == ':') return name.substr(6);
  return std::nullopt;
}

std::string to_text(const pugi::xml_document& document) {
  StringWriter writer;
  document.save(writer, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return std::move(writer.text);
}

std::unique_ptr<XmpTree> XmpTree::parse(std::string_view packet) {
  if (packet.size() > kMaxXmpBytes) return nullptr;
  while (!packet.empty() && packet.back() == '\0') packet.remove_suffix(1);  // some writers add one
  auto tree = std::make_unique<XmpTree>();
  // UTF-8 in nearly all files; UTF-16 is recognised by its first bytes.
  const auto result = tree->document_.load_buffer(packet.data(), packet.size(), kParsing);
  if (!result || !tree->resolve()) return nullptr;
  return tree;
}

bool XmpTree::bind(pugi::xml_node element) {
  int attributes = 0;
  for (const auto& attribute : element.attributes()) {
    if (++attributes > kMaxXmpAttributes) return false;
    const auto prefix = bound_prefix(attribute);
    if (!prefix) continue;
    if (prefix->find(':') != std::string_view::npos) return false;
    const auto [bound, is_new] = namespaces_.emplace(*prefix, attribute.value());
    if (!is_new && bound->second != attribute.value()) return false;
  }
  return true;
}

bool XmpTree::resolve() {
  int depth = 0;
  pugi::xml_node node = document_.first_child();
  while (node) {
    if (!bind(node)) return false;
    if (node.first_child()) {
      if (++depth > kMaxXmpDepth) return false;
      node = node.first_child();
      continue;
    }
    while (node && !node.next_sibling()) {
      node = node.parent();
      --depth;
    }
    node = node.next_sibling();
  }
  return true;
}

XmpName XmpTree::name(std::string_view qualified) const {
  const std::size_t colon = qualified.find(':');
  const bool prefixed = colon != std::string_view::npos;
  const auto bound = namespaces_.find(prefixed ? qualified.substr(0, colon) : std::string_view());
  const std::string_view local = prefixed ? qualified.substr(colon + 1) : qualified;
  return {bound == namespaces_.end() ? std::string_view() : std::string_view(bound->second), local};
}

std::vector<pugi::xml_node> XmpTree::descriptions() const {
  std::vector<pugi::xml_node> found;
  for (auto node = document_.first_child(); node;) {
    const bool is_rdf = name(node.name()) == XmpName{kRdfNamespace, "RDF"};
    for (auto child = is_rdf ? node.first_child() : pugi::xml_node(); child;
         child = child.next_sibling()) {
      if (name(child.name()) == XmpName{kRdfNamespace, "Description"}) found.push_back(child);
    }
    node = next_node(node, document_.root(), !is_rdf);
  }
  return found;
}

std::string XmpTree::text() const { return to_text(document_); }

}  // namespace framewire::jpeg
