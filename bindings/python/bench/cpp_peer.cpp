// What beyond_cpp.py compares the package with: the same work from C++, in the same process, by the
// library as the package has it. Called by ctypes.
#include <chrono>
#include <framewire/completion_queue.hpp>
#include <framewire/engine.hpp>
#include <framewire/resizer.hpp>

namespace {

using namespace framewire;

struct PeerInput {
  const std::uint8_t* bytes;
  std::size_t size;
};

ResizeOptions peer_options(int width, int height, int quality) {
  ResizeOptions options;
  options.width_px = width;
  options.height_px = height;
  options.quality = quality;
  return options;
}

}  // namespace

// Returns how many were resized, one after the other, on this thread.
extern "C" [[gnu::visibility("default")]] std::size_t peer_resize(const PeerInput* inputs,
                                                                  std::size_t count, int width,
                                                                  int height, int quality) {
  static const Resizer resizer;
  const ResizeOptions options = peer_options(width, height, quality);
  std::size_t resized = 0;
  for (std::size_t i = 0; i < count; ++i) {
    resized += resizer.resize({inputs[i].bytes, inputs[i].size}, options) ? 1 : 0;
  }
  return resized;
}

extern "C" [[gnu::visibility("default")]] void* peer_engine(unsigned threads) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = threads;
  auto engine = Engine::make(options);
  return engine ? new Engine(std::move(*engine)) : nullptr;
}

// Hands in all inputs, no more than `window` ahead of the answers, `group` at once, as Engine.map()
// does. Returns how many were resized.
extern "C" [[gnu::visibility("default")]] std::size_t peer_map(
    void* engine, const PeerInput* inputs, std::size_t count, std::size_t window, std::size_t group,
    int width, int height, int quality) {
  const ResizeOptions options = peer_options(width, height, quality);
  const auto completions = std::make_shared<CompletionQueue>();
  std::size_t sent = 0;
  std::size_t answered = 0;
  std::size_t resized = 0;
  while (answered < count) {
    while (sent < count && sent + std::min(group, count - sent) <= answered + window) {
      std::vector<EngineRequest> requests;
      for (const std::size_t end = std::min(sent + group, count); sent < end; ++sent) {
        EngineRequest& request = requests.emplace_back(
            std::span(inputs[sent].bytes, inputs[sent].size), options, Engine::Callback());
        request.completions = completions;
        request.tag = sent;
      }
      static_cast<Engine*>(engine)->submit(requests);
    }
    for (const Completion& completion : completions->take(window, std::chrono::seconds(60))) {
      ++answered;
      resized += completion.result ? 1 : 0;
    }
  }
  return resized;
}
