// tensor PHOTO.jpg…: one training batch of the files, each with its random crop and flip, and what
// was taken of each.
#include <framewire/random_crop.hpp>
#include <framewire/tensor.hpp>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int count, char** names) {
  std::vector<std::vector<std::uint8_t>> files;
  for (int i = 1; i < count; ++i) {
    std::ifstream in(names[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  framewire::TensorOptions options;
  options.width_px = options.height_px = 224;
  options.type = framewire::TensorType::kFloat16;
  options.mean = {0.485f, 0.456f, 0.406f};
  options.stddev = {0.229f, 0.224f, 0.225f};
  auto decoder = framewire::TensorDecoder::make(options);
  if (!decoder) return std::cerr << decoder.error().to_string() << '\n', 1;

  std::vector<framewire::TensorItem> items;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const framewire::SampleKey key{.seed = 42, .epoch = 0, .sample = i};
    framewire::TensorItem item{files[i], std::nullopt, framewire::random_flip(key)};
    // A file without a size is no picture: decode() says so below.
    if (const auto size = framewire::read_picture_size(files[i])) {
      const auto crop = framewire::random_resized_crop(size->width_px, size->height_px, key);
      if (crop) item.crop = *crop;
    }
    items.push_back(item);
  }
  std::vector<std::uint16_t> batch(items.size() * decoder->image_bytes() / sizeof(std::uint16_t));
  const auto done =
      decoder->decode(items, {batch.data(), batch.size() * sizeof(batch[0]), nullptr});
  if (!done) return std::cerr << done.error().to_string() << '\n', 1;

  int failed = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& image = decoder->image(i);
    if (!image) {
      std::cerr << image.error().to_string() << '\n';
      failed = 1;
      continue;
    }
    const framewire::CropBox& crop = image->crop;
    std::cout << names[i + 1] << ": " << crop.width_px << 'x' << crop.height_px << " at "
              << crop.left_px << ',' << crop.top_px << " of " << image->width_px << 'x'
              << image->height_px << '\n';
  }
  return failed;
}
