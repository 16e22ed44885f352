// XMP packets: whatever they say, what is written in their place is XML again, holds no picture,
// announces nothing that is gone, and stays as it is when written a second time.
#include <cstdint>
#include <cstdlib>
#include <jpeg/embedded.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/xmp.hpp>

namespace {

using namespace framewire::jpeg;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

void check_output(const std::string& packet, std::size_t gain_map_bytes) {
  require(packet.size() <= 8 * kMaxXmpBytes);  // "\n" in an attribute becomes "&#10;"
  if (packet.empty() || packet.size() > kMaxXmpBytes) return;
  require(XmpTree::parse(packet) != nullptr);
  require(!holds_picture(as_bytes(packet)));
  const auto items = find_container_items(packet);
  require(items.size() == (gain_map_bytes == 0 ? 0 : 2));
  const auto map = find_gain_map_item(packet);
  require(map.has_value() == (gain_map_bytes != 0));
  if (map) require(map->bytes == gain_map_bytes && map->from_end == gain_map_bytes);
}

void check_rewrite(std::string_view packet, const XmpChanges& changes) {
  const auto once = rewrite_xmp(packet, changes);
  if (!once) return;
  const auto tree = XmpTree::parse(*once);
  // Without a description there is no place for a directory.
  if (changes.gain_map_bytes != 0 && (!tree || tree->descriptions().empty())) return;
  check_output(*once, changes.gain_map_bytes);
  if (once->size() > kMaxXmpBytes || changes.gain_map_bytes != 0) return;
  const auto twice = rewrite_xmp(*once, changes);
  require(twice.has_value() && *twice == *once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  static_cast<void>(declares_gain_map(packet));
  static_cast<void>(find_container_items(packet));
  for (const bool changed : {false, true}) {
    XmpChanges changes;
    changes.width_px = 300;
    changes.height_px = 200;
    changes.upright = changes.is_srgb = changed;
    changes.keeps_profile = !changed;
    check_rewrite(packet, changes);
    changes.gain_map_bytes = 4321;
    check_rewrite(packet, changes);
  }
  check_output(make_rights_xmp(packet, 0), 0);
  check_output(make_rights_xmp(packet, 4321), 4321);
  const std::string parameters = make_gain_map_parameters_xmp(packet);
  require(parameters.empty() || XmpTree::parse(parameters) != nullptr);
  return 0;
}
