// memory < photo.jpg > small.jpg: no copy on the way in or out. The engine reads the photograph
// where it lies, and writes the finished stream to memory of ours.
#include <framewire/engine.hpp>
#include <iostream>
#include <iterator>

namespace {

int failed(const framewire::Status& status) {
  std::cerr << status.to_string() << '\n';
  return 1;
}

}  // namespace

int main() {
  std::vector<std::uint8_t> jpeg(std::istreambuf_iterator<char>(std::cin), {});
  auto engine = framewire::Engine::make();
  if (!engine) return failed(engine.error());

  // In: registered once, for as many requests as lie in it; a GPU copies from there. It may be
  // shared with other processes, which may even write to it meanwhile.
  const auto registered = engine->register_memory(jpeg);
  if (!registered) return failed(registered.error());

  // Out: a span, or a function that is asked for room once the size is known.
  std::vector<std::uint8_t> small(std::size_t{1} << 20);
  framewire::EngineRequest request;
  request.jpeg = registered->bytes();
  request.options.width_px = request.options.height_px = 480;
  request.sink = framewire::OutputSink(small);
  request.completions = std::make_shared<framewire::CompletionQueue>();
  const auto answers = request.completions;
  engine->submit({&request, 1});

  const auto taken = answers->take(1, std::chrono::seconds(30));
  if (taken.empty()) return std::cerr << "no answer within 30 s\n", 1;
  const auto& resized = taken[0].result;
  if (!resized) return failed(resized.error());
  const std::span<const std::uint8_t> written = resized->written;
  std::cout.write(reinterpret_cast<const char*>(written.data()), std::ssize(written));
  return std::cout.flush() ? 0 : 1;
}
