// An XMP packet as a tree of elements, with its namespaces resolved.
//
// Source: ISO 16684-1 (XMP is RDF/XML); Namespaces in XML 1.0. pugixml reads and writes the XML:
// one pass over the packet, no entities but XML's own five, no recursion while reading. The bounds
// here keep whatever is done with a tree linear in the packet's bytes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::jpeg {

inline constexpr std::size_t kMaxXmpBytes = 65'536;  ///< one APP1 segment holds no more
inline constexpr int kMaxXmpDepth = 64;              ///< real packets nest some ten deep
inline constexpr int kMaxXmpAttributes = 4096;       ///< of one element; Lightroom writes some 400

inline constexpr std::string_view kRdfNamespace = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// The name of an element or attribute: its namespace, not the prefix that stands for it.
struct XmpName {
  std::string_view name_space;
  std::string_view local;
  bool operator==(const XmpName&) const = default;
};

class XmpTree {
 public:
  /// @return nothing where the packet is no XML, exceeds a bound above, or binds one prefix to two
  ///         namespaces or a prefix with a colon in it, which no XMP writer does
  [[nodiscard]] static std::unique_ptr<XmpTree> parse(std::string_view packet);

  [[nodiscard]] pugi::xml_document& document() noexcept { return document_; }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& namespaces() const noexcept {
    return namespaces_;
  }

  /// What "prefix:local" stands for; views into this tree and into `qualified`.
  [[nodiscard]] XmpName name(std::string_view qualified) const;

  /// The rdf:Description elements below rdf:RDF, whose attributes and children are the properties.
  [[nodiscard]] std::vector<pugi::xml_node> descriptions() const;

  /// The packet as text.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] bool resolve();
  [[nodiscard]] bool bind(pugi::xml_node element);

  pugi::xml_document document_;
  std::map<std::string, std::string, std::less<>> namespaces_;  ///< by prefix; "" is the default
};

/// The node after `node` in document order, below `root`; skips its children where not `into`.
[[nodiscard]] pugi::xml_node next_node(pugi::xml_node node, pugi::xml_node root, bool into = true);

/// Whether an attribute binds a prefix rather than states a property; the prefix, "" for xmlns.
[[nodiscard]] std::optional<std::string_view> bound_prefix(const pugi::xml_attribute& attribute);

/// A document as text, without line breaks or a declaration of its own.
[[nodiscard]] std::string to_text(const pugi::xml_document& document);

}  // namespace framewire::jpeg
