#include <batch/atomic_file.hpp>
#include <files/whole_file.hpp>
#include <utility>

namespace framewire::app {

Result<void> write_whole_file(const std::string& path, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto written = batch::write_atomically(path, {bytes, text.size()}, batch::WriteOptions{});
  if (!written) return fail(std::move(written.error().status));
  return {};
}

}  // namespace framewire::app
