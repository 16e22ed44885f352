// engine PHOTO.jpg…: all of them at once, at most 480 pixels wide and high, on GPUs where there are
// any. Says what became of each as soon as it is done.
#include <framewire/engine.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>

namespace {

using framewire::Resized;
using framewire::Result;

/// Callbacks come from the engine's threads, several at once: be quick, and guard what they share.
class Answers {
 public:
  void put(const std::string& name, const Result<Resized>& resized) {
    const std::lock_guard lock(mutex_);
    if (!resized) {
      ++failures_;
      std::cerr << name << ": " << resized.error().to_string() << '\n';
      return;
    }
    const framewire::ImageSummary& output = resized->report.output;
    std::cout << name << ": " << output.width_px << "x" << output.height_px << ", "
              << resized->bytes.size() << " bytes\n";
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  std::mutex mutex_;
  int failures_ = 0;
};

}  // namespace

int main(int count, char** names) {
  auto engine = framewire::Engine::make();
  if (!engine) return std::cerr << engine.error().to_string() << '\n', 1;
  framewire::ResizeOptions options;
  options.width_px = options.height_px = 480;
  Answers answers;
  std::vector<std::vector<std::uint8_t>> files;  // which the engine reads until it has answered
  files.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    engine->submit(files.back(), options,
                   [&answers, name = std::string(names[i])](Result<Resized> resized) {
                     answers.put(name, resized);
                   });
  }
  engine->drain();  // until every callback has returned
  return answers.failures() == 0 ? 0 : 1;
}
