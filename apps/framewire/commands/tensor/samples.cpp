#include <batch/input_file.hpp>
#include <commands/tensor/samples.hpp>

namespace framewire::app {
namespace {

Sample read_one(const batch::Input& input, const TensorPlan& plan, std::uint64_t number) {
  Sample sample;
  sample.path = input.label;
  sample.number = number;
  sample.error = input.error;
  if (sample.error) return sample;
  const auto file = batch::InputFile::open(input.label);
  if (!file) {
    sample.error = file.error();
    return sample;
  }
  sample.permissions = file->permissions();
  auto bytes = file->read(plan.options.limits.max_input_bytes);
  if (!bytes) {
    sample.error = bytes.error();
    return sample;
  }
  sample.bytes = std::move(*bytes);
  if (plan.crop == CropChoice::kCenter || plan.crop == CropChoice::kRandom) {
    // A file without a size fails when it is decoded, and says why then.
    const auto size = read_picture_size(sample.bytes, plan.options.exif, plan.options.limits);
    if (size) sample.size = *size;
  }
  return sample;
}

std::optional<CropBox> choose_crop(const Sample& sample, const TensorPlan& plan,
                                   const SampleKey& key) {
  if (plan.crop == CropChoice::kBox) return plan.box;
  if (!sample.size) return std::nullopt;
  const auto box = plan.crop == CropChoice::kRandom
                       ? random_resized_crop(sample.size->width_px, sample.size->height_px, key)
                       : center_crop_to_shape(sample.size->width_px, sample.size->height_px,
                                              plan.options.width_px, plan.options.height_px);
  return box ? std::optional(*box) : std::nullopt;
}

}  // namespace

Result<std::vector<Sample>> read_samples(batch::Source& source, const TensorPlan& plan,
                                         std::size_t count, std::uint64_t first_number) {
  std::vector<Sample> samples;
  while (samples.size() < count) {
    auto input = source.next();
    if (!input) return fail(input.error());
    if (!*input) break;
    if (!(*input)->expected) continue;
    samples.push_back(read_one(**input, plan, first_number + samples.size()));
  }
  return samples;
}

std::vector<TensorItem> make_items(const std::vector<Sample>& samples, const TensorPlan& plan,
                                   std::uint32_t epoch) {
  std::vector<TensorItem> items;
  items.reserve(samples.size());
  for (const Sample& sample : samples) {
    const SampleKey key{plan.seed, epoch, sample.number};
    TensorItem item;
    item.jpeg = sample.bytes;
    item.crop = choose_crop(sample, plan, key);
    item.flip =
        plan.flip == FlipChoice::kAlways || (plan.flip == FlipChoice::kRandom && random_flip(key));
    items.push_back(item);
  }
  return items;
}

}  // namespace framewire::app
