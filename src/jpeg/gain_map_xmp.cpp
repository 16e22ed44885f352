#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kPrimary = "Primary";
constexpr std::string_view kGainMap = "GainMap";
constexpr std::string_view kEmptyPacket =
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
    "<rdf:Description rdf:about=\"\"/></rdf:RDF></x:xmpmeta>";
constexpr std::uint64_t kMaxItemBytes = std::uint64_t{1} << 40;  // so that sums do not overflow

/// Whether a packet may speak of something: a text search, faster than parsing. It misses only
/// packets that spell the word with character references.
bool mentions(std::string_view xmp, std::string_view what) {
  return xmp.find(what) != std::string_view::npos;
}

std::size_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return static_cast<std::size_t>(std::min(value, kMaxItemBytes));
}

/// One statement about an item, written as an attribute or as an element.
void take_statement(XmpName name, std::string_view value, ContainerItem& item) {
  if (name.name_space != kItemNamespace) return;
  if (name.local == "Semantic") item.semantic = value;
  if (name.local == "Mime") item.mime = value;
  if (name.local == "Length") item.bytes = number(value);
}

ContainerItem read_item(const XmpTree& tree, pugi::xml_node entry) {
  ContainerItem item;
  for (auto node = entry; node; node = next_node(node, entry)) {
    for (const auto& attribute : node.attributes()) {
      take_statement(tree.name(attribute.name()), attribute.value(), item);
    }
    take_statement(tree.name(node.name()), node.child_value(), item);
  }
  return item;
}

void read_directory(const XmpTree& tree, pugi::xml_node directory,
                    std::vector<ContainerItem>& items) {
  for (auto node = directory; node;) {
    const bool is_entry = tree.name(node.name()) == XmpName{kRdfNamespace, "li"};
    if (is_entry) items.push_back(read_item(tree, node));
    node = next_node(node, directory, !is_entry);
  }
}

/// A MicroVideo lies at the end, so where it begins is also how long it is.
void take_micro_video(XmpName name, std::string_view value, std::vector<ContainerItem>& items) {
  if (name == XmpName{kCameraNamespace, "MicroVideoOffset"}) {
    items.push_back({"MicroVideo", "video/mp4", number(value), number(value)});
  }
}

/// The prefix that stands for a namespace in a packet, or one that the packet does not use.
std::string prefix_for(const XmpTree& tree, std::string_view name_space, std::string wanted) {
  for (const auto& [prefix, bound] : tree.namespaces()) {
    if (bound == name_space && !prefix.empty()) return prefix;
  }
  while (tree.namespaces().contains(wanted)) wanted += '_';
  return wanted;
}

std::string bind_prefix(pugi::xml_node node, const XmpTree& tree, std::string_view name_space,
                        const char* wanted) {
  std::string prefix = prefix_for(tree, name_space, wanted);
  const std::string binding = "xmlns:" + prefix;
  if (!node.attribute(binding.c_str())) {
    node.append_attribute(binding.c_str()) = std::string(name_space).c_str();
  }
  return prefix;
}

}  // namespace

std::vector<ContainerItem> find_container_items(std::string_view xmp) {
  std::vector<ContainerItem> items;
  if (!mentions(xmp, kContainerNamespace) && !mentions(xmp, kCameraNamespace)) return items;
  const auto tree = XmpTree::parse(xmp);
  if (!tree) return items;
  std::vector<ContainerItem> micro_videos;
  for (auto node = tree->document().first_child(); node;) {
    const XmpName name = tree->name(node.name());
    const bool is_directory = name == XmpName{kContainerNamespace, "Directory"};
    if (is_directory) read_directory(*tree, node, items);
    for (const auto& attribute : node.attributes()) {
      take_micro_video(tree->name(attribute.name()), attribute.value(), micro_videos);
    }
    take_micro_video(name, node.child_value(), micro_videos);
    node = next_node(node, tree->document().root(), !is_directory);
  }
  // Items lie one after another up to the end of the file.
  std::size_t from_end = 0;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    from_end += item->bytes;
    item->from_end = from_end;
  }
  items.insert(items.end(), micro_videos.begin(), micro_videos.end());
  return items;
}

std::optional<ContainerItem> find_gain_map_item(std::string_view xmp) {
  for (auto& item : find_container_items(xmp)) {
    if (item.semantic == kGainMap && item.bytes != 0) return std::move(item);
  }
  return std::nullopt;
}

bool declares_gain_map(std::string_view xmp) {
  if (!mentions(xmp, kHdrgmNamespace)) return false;
  const auto tree = XmpTree::parse(xmp);
  if (!tree) return false;
  const XmpName version{kHdrgmNamespace, "Version"};
  const auto says_version = [&](const auto& part) { return tree->name(part.name()) == version; };
  const auto descriptions = tree->descriptions();
  const bool declared =
      std::any_of(descriptions.begin(), descriptions.end(), [&](const auto& from) {
        const auto attributes = from.attributes();
        const auto children = from.children();
        return std::any_of(attributes.begin(), attributes.end(), says_version) ||
               std::any_of(children.begin(), children.end(), says_version);
      });
  // What an output could not carry is not read either.
  return declared && !make_gain_map_parameters_xmp(xmp).empty();
}

void add_directory(const XmpTree& tree, pugi::xml_node description, std::size_t gain_map_bytes) {
  const std::string container = prefix_for(tree, kContainerNamespace, "Container");
  auto directory = description.append_child((container + ":Directory").c_str());
  bind_prefix(directory, tree, kContainerNamespace, "Container");
  const std::string item_prefix = bind_prefix(directory, tree, kItemNamespace, "Item");
  const std::string rdf = bind_prefix(directory, tree, kRdfNamespace, "rdf");
  auto list = directory.append_child((rdf + ":Seq").c_str());
  for (const auto semantic : {kPrimary, kGainMap}) {
    auto entry = list.append_child((rdf + ":li").c_str());
    entry.append_attribute((rdf + ":parseType").c_str()) = "Resource";
    auto item = entry.append_child((container + ":Item").c_str());
    item.append_attribute((item_prefix + ":Semantic").c_str()) = std::string(semantic).c_str();
    item.append_attribute((item_prefix + ":Mime").c_str()) = "image/jpeg";
    if (semantic == kGainMap) {
      item.append_attribute((item_prefix + ":Length").c_str()) =
          fmt::format("{}", gain_map_bytes).c_str();
    }
  }
}

std::string with_gain_map(std::string_view xmp, std::size_t gain_map_bytes) {
  auto tree = XmpTree::parse(xmp);
  if (!tree || tree->descriptions().empty()) tree = XmpTree::parse(kEmptyPacket);
  auto description = tree->descriptions().front();
  const std::string hdrgm = bind_prefix(description, *tree, kHdrgmNamespace, "hdrgm");
  description.append_attribute((hdrgm + ":Version").c_str()) = "1.0";
  add_directory(*tree, description, gain_map_bytes);
  return tree->text();
}

}  // namespace framewire::jpeg
