#include <nanobind/stl/optional.h>
#include <extension/errors.hpp>
#include <extension/resized.hpp>
#include <extension/without_gil.hpp>

namespace framewire::python {
namespace nb = nanobind;

namespace {

nb::bytes copy(const std::vector<std::uint8_t>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

nb::tuple fields(const ImageSummary& image) {
  return nb::make_tuple(image.width_px, image.height_px, image.bytes, image.components,
                        text(image.sampling), text(image.process));
}

nb::object make_report(const Report& report) {
  const StageTimes& times = report.times;
  nb::list warnings;
  for (const Warning& warning : report.warnings) {
    const nb::object offset = warning.offset ? nb::int_(*warning.offset) : nb::object(nb::none());
    warnings.append(nb::make_tuple(text(to_string(warning.kind)), text(warning.message), offset));
  }
  return call_object(
      nb::module_::import_("framewire._report").attr("make_report"), fields(report.input),
      fields(report.output), text(to_string(report.codec)), text(report.codec_reason),
      report.decode_scale, report.quality, report.color_converted, text(report.assumed_profile),
      report.gain_map_kept, report.original_kept,
      nb::make_tuple(times.parse_us, times.decode_resample_us, times.encode_us, times.total_us),
      warnings);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (!is_made(self)) return -1;
  const auto& bytes = nb::inst_ptr<Answer>(self)->bytes();
  return PyBuffer_FillInfo(view, self, const_cast<std::uint8_t*>(bytes.data()),
                           static_cast<Py_ssize_t>(bytes.size()), 1, flags);
}

const PyType_Slot kSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                              {0, nullptr}};

nb::object reduce(nb::handle_t<Answer> self) {
  auto& answer = nb::cast<Answer&>(self);
  return nb::make_tuple(self.type(),
                        nb::make_tuple(answer.jpeg(), answer.report(), nb::cast(answer.index())));
}

void unpickle(Answer* self, nb::bytes jpeg, nb::object report, std::optional<std::uint64_t> index) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(jpeg.c_str());
  new (self) Answer(std::vector<std::uint8_t>(data, data + jpeg.size()), std::move(report), index);
}

}  // namespace

nb::object Answer::report() {
  {
    const nb::ft_lock_guard lock(mutex_);
    if (report_.is_valid()) return report_;
  }
  // Python code runs here, on several threads maybe; the first one's report counts.
  nb::object made = make_report(*native_);
  const nb::ft_lock_guard lock(mutex_);
  if (!report_.is_valid()) report_ = std::move(made);
  return report_;
}

nb::object Answer::jpeg() {
  const nb::ft_lock_guard lock(mutex_);
  if (!jpeg_.is_valid()) jpeg_ = copy(bytes_);
  return jpeg_;
}

void bind_resized(nb::module_& module) {
  nb::class_<Answer>(
      module, "Resized", nb::type_slots(kSlots),
      "A finished JPEG and the report of how it was made.\n\n"
      "Has the buffer protocol, read only: file.write(result), memoryview(result)\n"
      "and numpy.frombuffer(memoryview(result), \"uint8\") read the stream without a copy.")
      .def("__init__", &unpickle, nb::arg("jpeg"), nb::arg("report"),
           nb::arg("index").none() = nb::none())
      .def_prop_ro("jpeg", &Answer::jpeg, "bytes: the stream; copied at the first use.")
      .def_prop_ro("report", &Answer::report, "Report: what was done to make the stream.")
      .def_prop_ro(
          "index", &Answer::index,
          "int: the position of the input in the iterable of Engine.map(); otherwise None.")
      .def("__bytes__", &Answer::jpeg)
      .def("__len__", [](const Answer& self) { return self.bytes().size(); })
      .def("__reduce__", &reduce)
      .def("__repr__", [](Answer& self) {
        return nb::str("<framewire.Resized {}x{}, {} bytes>")
            .format(self.report().attr("output").attr("width"),
                    self.report().attr("output").attr("height"), self.bytes().size());
      });
}

}  // namespace framewire::python
