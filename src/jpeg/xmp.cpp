#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <jpeg/bytes.hpp>
#include <jpeg/embedded.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/xmp.hpp>
#include <jpeg/xmp_tree.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kDc = "http://purl.org/dc/elements/1.1/";
constexpr std::string_view kTiff = "http://ns.adobe.com/tiff/1.0/";
constexpr std::string_view kExif = "http://ns.adobe.com/exif/1.0/";
constexpr std::string_view kXap = "http://ns.adobe.com/xap/1.0/";
constexpr std::string_view kPhotoshop = "http://ns.adobe.com/photoshop/1.0/";
constexpr std::string_view kXmpRights = "http://ns.adobe.com/xap/1.0/rights/";
constexpr std::string_view kPlus = "http://ns.useplus.org/ldf/xmp/1.0/";
constexpr std::string_view kCreativeCommons = "http://creativecommons.org/ns#";

/// Properties by the beginnings of their namespace and of their name.
struct Family {
  std::string_view name_space;
  std::string_view local;
};

/// Pictures, other views of the scene, and what announces bytes outside the packet.
constexpr std::array kRemovedProperties = {
    Family{kXap, "Thumbnails"},
    Family{"http://ns.adobe.com/xap/1.0/g/img/", ""},
    Family{"http://ns.adobe.com/xmp/note/", "HasExtendedXMP"},
    Family{"http://ns.google.com/photos/1.0/image/", ""},     // GImage
    Family{"http://ns.google.com/photos/1.0/depthmap/", ""},  // GDepth
    Family{"http://ns.google.com/photos/1.0/audio/", ""},     // GAudio
    Family{"http://ns.google.com/photos/dd/1.0/", ""},        // dynamic depth
    Family{kContainerNamespace, "Directory"},
    Family{kCameraNamespace, "MicroVideo"},
    Family{kCameraNamespace, "MotionPhoto"},
    Family{"http://ns.oplus.com/photos/1.0/camera/", ""},
    Family{"http://ns.xiaomi.com/photos/1.0/camera/", ""},
    Family{"http://ns.apple.com/HDRGainMap/1.0/", ""},
    Family{"http://ns.apple.com/pixeldatainfo/1.0/", ""},
};

/// Who or what is where, in fractions of the picture, and what a panorama shows.
constexpr std::array kInFractions = {
    Family{"http://www.metadataworkinggroup.com/schemas/regions/", ""},
    Family{"http://ns.microsoft.com/photo/1.2/", "RegionInfo"},
    Family{"http://ns.microsoft.com/photo/1.1/", "RegionInfo"},
    Family{"http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "ImageRegion"},
    Family{"http://ns.acdsee.com/regions/", ""},
    Family{"http://ns.apple.com/faceinfo/", ""},
    Family{"http://ns.google.com/photos/1.0/panorama/", ""},
};
constexpr std::array kInPixels = {Family{kExif, "SubjectArea"}, Family{kExif, "SubjectLocation"}};

/// What says whose the picture is and what may be done with it.
constexpr std::array kRights = {
    Family{kDc, "rights"},           Family{kDc, "creator"},
    Family{kXmpRights, ""},          Family{kPlus, ""},
    Family{kCreativeCommons, ""},    Family{kPhotoshop, "Credit"},
    Family{kPhotoshop, "Copyright"},
};

constexpr std::array kGainMapParameters = {Family{kHdrgmNamespace, ""}};

template <std::size_t N>
bool belongs(const XmpName& name, const std::array<Family, N>& families) {
  return std::any_of(families.begin(), families.end(), [&](const Family& family) {
    return name.name_space.starts_with(family.name_space) && name.local.starts_with(family.local);
  });
}

/// Edits a packet in place.
class XmpRewriter {
 public:
  XmpRewriter(XmpTree& tree, const XmpChanges& changes) : tree_(tree), changes_(changes) {}

  enum class Done : std::uint8_t { kNothing, kChanges, kRemovals };

  Done run() {
    auto& document = tree_.document();
    for (auto node = document.first_child(); node;) {
      const bool goes = leaves(node);
      if (goes) {
        doomed_.push_back(node);
      } else {
        edit(node);
      }
      node = next_node(node, document.root(), !goes);
    }
    for (auto& node : doomed_) node.parent().remove_child(node);
    return !doomed_.empty() ? Done::kRemovals : changed_ ? Done::kChanges : Done::kNothing;
  }

 private:
  [[nodiscard]] bool goes(const XmpName& name) const {
    if (changes_.gain_map_bytes == 0 && belongs(name, kGainMapParameters)) return true;
    if (name == XmpName{kPhotoshop, "ICCProfile"}) {
      return !changes_.keeps_profile && !changes_.is_srgb;
    }
    if (changes_.places == Places::kMoved && belongs(name, kInFractions)) return true;
    if (changes_.places != Places::kSame && belongs(name, kInPixels)) return true;
    return belongs(name, kRemovedProperties);
  }

  /// Whether a node is left out with all that is in it.
  [[nodiscard]] bool leaves(pugi::xml_node node) const {
    if (holds_base64_picture(node.value())) return true;  // text, comments, instructions
    if (node.type() != pugi::node_element) return false;
    const bool is_text = node.first_child() && !node.first_child().next_sibling();
    return goes(tree_.name(node.name())) || (is_text && holds_base64_picture(node.child_value()));
  }

  void edit(pugi::xml_node node) {
    for (auto attribute = node.first_attribute(); attribute;) {
      const auto next = attribute.next_attribute();
      const XmpName name = tree_.name(attribute.name());
      if (bound_prefix(attribute)) {
        // A binding states nothing.
      } else if (goes(name) || holds_base64_picture(attribute.value())) {
        node.remove_attribute(attribute);
        changed_ = true;
      } else if (const auto value = corrected(name); !value.empty() && value != attribute.value()) {
        attribute = value.c_str();
        changed_ = true;
      }
      attribute = next;
    }
    auto text = node.first_child();
    if (!text || text.type() != pugi::node_pcdata) return;
    const auto value = corrected(tree_.name(node.name()));
    if (!value.empty() && value != text.value()) {
      text.set_value(value.c_str());
      changed_ = true;
    }
  }

  /// What a property says in the output; empty: what it said.
  [[nodiscard]] std::string corrected(const XmpName& name) const {
    if (name == XmpName{kTiff, "ImageWidth"} || name == XmpName{kExif, "PixelXDimension"}) {
      return fmt::format("{}", changes_.width_px);
    }
    if (name == XmpName{kTiff, "ImageLength"} || name == XmpName{kExif, "PixelYDimension"}) {
      return fmt::format("{}", changes_.height_px);
    }
    if (changes_.upright && name == XmpName{kTiff, "Orientation"}) return "1";
    if (changes_.is_srgb && name == XmpName{kExif, "ColorSpace"}) return "1";
    if (changes_.is_srgb && name == XmpName{kPhotoshop, "ICCProfile"}) return "sRGB IEC61966-2.1";
    return {};
  }

  XmpTree& tree_;
  const XmpChanges& changes_;
  std::vector<pugi::xml_node> doomed_;
  bool changed_ = false;
};

/// Binds, at the only description of a new packet, the prefixes that the packet uses.
void bind_prefixes(const XmpTree& source, pugi::xml_node description) {
  std::map<std::string_view, std::string_view> used;
  const auto use = [&](std::string_view qualified) {
    const std::size_t colon = qualified.find(':');
    const auto prefix =
        colon == std::string_view::npos ? std::string_view() : qualified.substr(0, colon);
    const auto bound = source.namespaces().find(prefix);
    if (bound != source.namespaces().end()) used.emplace(bound->first, bound->second);
  };
  for (auto node = description; node; node = next_node(node, description)) {
    if (node.type() == pugi::node_element) use(node.name());
    for (const auto& attribute : node.attributes()) {
      if (std::string_view(attribute.name()).find(':') != std::string_view::npos) {
        use(attribute.name());
      }
    }
  }
  for (const auto& [prefix, name_space] : used) {
    const std::string name = prefix.empty() ? "xmlns" : fmt::format("xmlns:{}", prefix);
    description.prepend_attribute(name.c_str()) = std::string(name_space).c_str();
  }
}

/// A packet of the properties of some families and nothing else; empty where there is none.
template <std::size_t N>
std::string select(std::string_view packet, const std::array<Family, N>& families) {
  const auto source = XmpTree::parse(packet);
  if (!source) return {};
  const auto rdf = source->namespaces().find(std::string_view("rdf"));
  if (rdf == source->namespaces().end() || rdf->second != kRdfNamespace) return {};
  pugi::xml_document document;
  auto meta = document.append_child("x:xmpmeta");
  meta.append_attribute("xmlns:x") = "adobe:ns:meta/";
  auto description = meta.append_child("rdf:RDF").append_child("rdf:Description");
  description.append_attribute("rdf:about") = "";
  bool found = false;
  for (const auto& from : source->descriptions()) {
    for (const auto& attribute : from.attributes()) {
      if (bound_prefix(attribute) || !belongs(source->name(attribute.name()), families)) continue;
      description.append_copy(attribute);
      found = true;
    }
    for (const auto& child : from.children()) {
      if (!belongs(source->name(child.name()), families)) continue;
      description.append_copy(child);
      found = true;
    }
  }
  if (!found) return {};
  bind_prefixes(*source, description);
  // The prefix rdf moves to the RDF element, which uses it too.
  auto root = description.parent();
  root.append_attribute("xmlns:rdf") = std::string(kRdfNamespace).c_str();
  description.remove_attribute("xmlns:rdf");
  return to_text(document);
}

}  // namespace

std::optional<std::string> rewrite_xmp(std::string_view packet, const XmpChanges& changes) {
  const auto tree = XmpTree::parse(packet);
  if (!tree) return std::nullopt;
  const auto done = XmpRewriter(*tree, changes).run();
  if (done == XmpRewriter::Done::kRemovals) {
    // Removing a node joins the texts around it, which together may be a picture in base64.
    const auto again = XmpTree::parse(tree->text());
    if (!again || XmpRewriter(*again, changes).run() != XmpRewriter::Done::kNothing) {
      return std::nullopt;
    }
  }
  bool changed = done != XmpRewriter::Done::kNothing;
  if (!tree->document().document_element()) return std::nullopt;  // all of it had to go
  const auto descriptions = tree->descriptions();
  if (changes.gain_map_bytes != 0 && !descriptions.empty()) {
    add_directory(*tree, descriptions.front(), changes.gain_map_bytes);
    changed = true;
  }
  std::string text = changed ? tree->text() : std::string(packet);
  if (holds_picture(as_bytes(text))) return std::nullopt;
  return text;
}

std::string make_rights_xmp(std::string_view packet, std::size_t gain_map_bytes) {
  XmpChanges nothing_else;
  nothing_else.keeps_profile = true;
  const std::string rights =
      rewrite_xmp(select(packet, kRights), nothing_else).value_or(std::string());
  return gain_map_bytes == 0 ? rights : with_gain_map(rights, gain_map_bytes);
}

std::string make_gain_map_parameters_xmp(std::string_view packet) {
  std::string parameters = select(packet, kGainMapParameters);
  if (holds_base64_picture(parameters) || holds_picture(as_bytes(parameters))) return {};
  return parameters;
}

}  // namespace framewire::jpeg
