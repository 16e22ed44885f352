// Fails to compile if an installed header needs one that is not installed.
#include <cstdio>
#include <framewire/batch.hpp>
#include <framewire/device.hpp>
#include <framewire/engine.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <framewire/version.hpp>

int main() {
  std::printf("%s\n", framewire::kVersion);
  return framewire::option_specs().empty() ? 1 : 0;
}
