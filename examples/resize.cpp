// resize < photo.jpg > small.jpg: at most 480 pixels wide and high.
#include <framewire/resizer.hpp>
#include <iostream>
#include <iterator>

int main() {
  const std::vector<std::uint8_t> jpeg(std::istreambuf_iterator<char>(std::cin), {});
  framewire::ResizeOptions options;
  options.width_px = options.height_px = 480;
  const auto resized = framewire::Resizer().resize(jpeg, options);
  if (!resized) return std::cerr << resized.error().to_string() << '\n', 1;
  std::cout.write(reinterpret_cast<const char*>(resized->bytes.data()), std::ssize(resized->bytes));
  return std::cout.flush() ? 0 : 1;
}
