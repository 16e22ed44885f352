#include <nanobind/stl/string.h>
#include <cstdint>
#include <extension/buffer.hpp>
#include <extension/errors.hpp>
#include <extension/heads.hpp>
#include <extension/options.hpp>
#include <extension/without_gil.hpp>
#include <inspect/model.hpp>
#include <jpeg/head_parser.hpp>
#include <jpeg/parser.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace framewire::python {
namespace nb = nanobind;

namespace {

using inspect::Value;

struct Size {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
};

// Reading a head allocates nothing for the pixels, so no picture is too large.
Limits no_limits() {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  Limits limits;
  limits.max_input_bytes = limits.max_input_pixels = limits.max_scan_pixels = kMax;
  limits.max_scans = std::numeric_limits<std::uint32_t>::max();
  return limits;
}

// Orientations 5 to 8 exchange rows and columns.
Size size_in(const jpeg::JpegFile& file, bool upright) {
  const Size stored{file.frame.width_px, file.frame.height_px};
  return upright && file.orientation >= 5 ? Size{stored.height_px, stored.width_px} : stored;
}

// The head alone is parsed where it says everything: not where the height follows in DNL, nor where
// something is wrong, which the whole file then shows.
Result<Size> read_size(std::span<const std::uint8_t> bytes, bool upright) {
  const Limits limits = no_limits();
  if (const std::size_t head = jpeg::count_head_bytes(bytes); head != 0) {
    const auto file = jpeg::parse(bytes.first(head), limits, jpeg::ParseDepth::kThroughFirst);
    if (file && file->frame.height_px > 0 && !file->frame.height_from_dnl) {
      return size_in(*file, upright);
    }
  }
  return jpeg::parse(bytes, limits).map([&](const jpeg::JpegFile& file) {
    return size_in(file, upright);
  });
}

nb::tuple size_of(nb::handle jpeg, bool upright, std::uint64_t index) {
  const InputBuffer input(jpeg, index);
  const auto size = [&] {
    const WithoutGil released;
    return read_size(input.bytes(), upright);
  }();
  if (!size) raise_at(size.error(), index);
  return nb::make_tuple(size->width_px, size->height_px);
}

nb::object to_python(const Value& value) {
  return value.visit([](const auto& held) -> nb::object {
    using Held = std::remove_cvref_t<decltype(held)>;
    if constexpr (std::is_same_v<Held, Value::Array>) {
      nb::list list;
      for (const Value& item : held) list.append(to_python(item));
      return list;
    } else if constexpr (std::is_same_v<Held, Value::Object>) {
      nb::dict dict;
      for (const Value::Member& member : held) dict[text(member.key)] = to_python(member.value);
      return dict;
    } else if constexpr (std::is_same_v<Held, std::string>) {
      return text(held);
    } else if constexpr (std::is_same_v<Held, std::nullptr_t>) {
      return nb::none();
    } else {
      return nb::cast(held);
    }
  });
}

nb::object inspect_jpeg(nb::handle jpeg, const Options& options, const std::string& name) {
  const InputBuffer input(jpeg);
  const Value model = [&] {
    const WithoutGil released;
    return inspect::inspect_bytes(name, input.bytes(), options.value);
  }();
  return to_python(model);
}

}  // namespace

void bind_heads(nb::module_& module) {
  module.def("size_of", &size_of, nb::arg("jpeg").none(), nb::arg("upright"), nb::arg("index"));
  module.def("inspect", &inspect_jpeg, nb::arg("jpeg").none(), nb::arg("options"), nb::arg("name"));
}

}  // namespace framewire::python
