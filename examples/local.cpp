// local SOCKET PHOTO.jpg…: all of them at once, at most 480 pixels wide and high, by the engine of
// `framewire serve --local SOCKET`. Files are read straight into the memory that both processes
// share, and the streams are used where they lie there.
#include <filesystem>
#include <framewire/client.hpp>
#include <fstream>
#include <iostream>
#include <mutex>

namespace {

/// A file in the client's memory. Where there is no room, the client says so: wait for answers.
framewire::Result<framewire::InputSlice> read(framewire::Client& client, const char* name) {
  const auto bytes = std::filesystem::file_size(name);
  auto slice = client.input_slice(bytes);
  if (!slice) {
    client.drain();
    slice = client.input_slice(bytes);
  }
  if (!slice) return slice;
  std::ifstream file(name, std::ios::binary);
  file.read(reinterpret_cast<char*>(slice->bytes.data()), static_cast<std::streamsize>(bytes));
  return slice;
}

}  // namespace

int main(int count, char** names) try {
  if (count < 2) return std::cerr << "usage: local SOCKET PHOTO.jpg…\n", 2;
  auto client = framewire::Client::connect(names[1]);
  if (!client) return std::cerr << client.error().to_string() << '\n', 1;
  framewire::ResizeOptions options;
  options.width_px = options.height_px = 480;
  std::mutex mutex;
  int failures = 0;
  for (int i = 2; i < count; ++i) {
    const auto slice = read(*client, names[i]);
    if (!slice) return std::cerr << names[i] << ": " << slice.error().to_string() << '\n', 1;
    // The slice goes along, so that its memory is given back once the answer has come.
    client->submit_view(
        slice->bytes, options,
        [&, name = names[i], slice](framewire::Result<framewire::ResizedView> made) {
          const std::lock_guard lock(mutex);
          if (!made) {
            ++failures;
            std::cerr << name << ": " << made.error().to_string() << '\n';
            return;
          }
          std::cout << name << ": " << made->bytes.size() << " bytes\n";
        });
  }
  client->drain();
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  return std::cerr << error.what() << '\n', 1;
}
