#include <extension/errors.hpp>
#include <extension/options.hpp>
#include <string_view>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// framewire._options has refused what is no Unicode, as half of a surrogate pair.
std::string_view utf8(nb::handle text) {
  Py_ssize_t bytes = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(bytes)};
}

// Names and values come as the grammar writes them; framewire._options has turned Python's values
// into text and knows the names.
Options parse(nb::sequence settings, const Options* base) {
  Options options;
  if (base != nullptr) options = *base;
  for (const nb::handle setting : settings) {
    const nb::object name = setting[0];
    const nb::object value = setting[1];
    const auto set = set_option(options.value, utf8(name), utf8(value));
    if (!set) raise(set.error());
  }
  if (const auto valid = validate(options.value); !valid) raise(valid.error());
  return options;
}

nb::list specs() {
  nb::list rows;
  for (const OptionSpec& spec : option_specs()) {
    rows.append(nb::make_tuple(text(spec.name), text(spec.metavar), text(spec.choices),
                               text(spec.default_value), text(spec.help), text(spec.group)));
  }
  return rows;
}

}  // namespace

void bind_options(nb::module_& module) {
  nb::class_<Options>(module, "Options", "Parsed options of a resize; immutable.")
      .def("__repr__",
           [](const Options& self) { return text("Options(" + to_string(self.value) + ")"); });
  module.def("parse_options", &parse, nb::arg("settings"), nb::arg("base").none() = nb::none(),
             "Parses (name, value) pairs of the grammar on top of `base`.");
  module.def("option_specs", &specs,
             "(name, metavar, choices, default, help, group) of each option of the grammar.");
}

}  // namespace framewire::python
