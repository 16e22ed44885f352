// framewire._framewire: what of the package is C++. Its users go by the package, which adds types,
// futures, asyncio and documentation.
#include <nanobind/nanobind.h>
#include <extension/crops.hpp>
#include <extension/decoded_images.hpp>
#include <extension/engine.hpp>
#include <extension/heads.hpp>
#include <extension/map_iterator.hpp>
#include <extension/options.hpp>
#include <extension/request_queue.hpp>
#include <extension/resized.hpp>
#include <extension/resizing.hpp>
#include <extension/tensor.hpp>
#include <extension/tensor_decoder.hpp>
#include <extension/without_gil.hpp>
#include <framewire/version.hpp>

NB_MODULE(_framewire, module) {
  using namespace framewire::python;
  // Threads that are daemons, and children after fork(), may hold objects when the interpreter
  // ends.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = framewire::kVersion;
  prepare_exit();
  bind_options(module);
  bind_resized(module);
  bind_resizing(module);
  bind_heads(module);
  bind_request_queue(module);
  bind_engine(module);
  bind_map_iterator(module);
  bind_tensor(module);
  bind_decoded_images(module);
  bind_tensor_decoder(module);
  bind_crops(module);
}
