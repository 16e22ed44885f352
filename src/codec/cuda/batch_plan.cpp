#include <base/checked.hpp>
#include <codec/cuda/batch_plan.hpp>

namespace framewire::codec::cuda {

void BatchPlan::clear(const EntropyLayout& layout) {
  arena_.clear();
  bytes_.clear();
  decode_.clear(layout, arena_, bytes_);
  picture_.clear();
  encode_.clear(arena_, bytes_);
  images_ = 0;
  sources_.clear();
  first_source_.assign(1, 0);
  decoded_.clear();
  pictures_.clear();
  streams_.clear();
}

std::uint32_t BatchPlan::add(const Item& item) {
  const std::uint32_t image = images_++;
  decoded_.push_back(static_cast<std::uint32_t>(decode_.plane_count()));
  if (item.planes.empty()) {
    decode_.add(item, image, arena_, bytes_);
    for (std::size_t i = decoded_.back(); i < decode_.plane_count(); ++i) {
      sources_.push_back(decode_.samples(i));
    }
  } else {
    for (int i = 0; i < item.plan->plane_count; ++i) {
      const int component = item.plan->planes[static_cast<std::size_t>(i)].component;
      const DevicePlane& plane = item.planes[static_cast<std::size_t>(component)];
      sources_.push_back({{},
                          plane.samples,
                          static_cast<std::uint32_t>(plane.width_px),
                          static_cast<std::uint32_t>(plane.height_px),
                          static_cast<std::uint32_t>(plane.pitch_bytes)});
    }
  }
  first_source_.push_back(static_cast<std::uint32_t>(sources_.size()));
  pictures_.emplace_back();
  streams_.push_back(kNoStream);
  if (item.plan == nullptr) return image;
  pictures_.back() = picture_.add(item, image, sources(image), arena_, bytes_);
  if (item.encode) streams_.back() = encode_.add(item, image, pictures_.back(), arena_, bytes_);
  return image;
}

std::uint64_t BatchPlan::list_bytes() const {
  return decode_.list_bytes() + picture_.list_bytes() + encode_.list_bytes();
}

std::uint64_t BatchPlan::bytes_alone(bool among_few) const {
  // As if lay_out() had been called.
  gpu::Arena all = arena_;
  all.extend(gpu::Part::kUploaded, list_bytes());
  all.extend(gpu::Part::kZeroed, images_ * sizeof(std::uint32_t) + gpu::kAlignment);
  all.extend(gpu::Part::kEarly, decode_.array_bytes() + decode_.shared_growth_bytes(among_few));
  all.extend(gpu::Part::kLate, records_bytes() + gpu::kAlignment);
  return all.total_bytes();
}

std::uint64_t BatchPlan::pinned_bytes_alone() const {
  return arena_.bytes(gpu::Part::kUploaded) + arena_.bytes(gpu::Part::kFetched) + list_bytes() +
         records_bytes() + encode_.output_bytes() + images_ * sizeof(std::uint32_t);
}

std::uint64_t BatchPlan::records_bytes() const {
  const std::uint64_t bytes = encode_.stream_count() * sizeof(OutputRecord);
  return base::ceil_div(bytes, gpu::kAlignment) * gpu::kAlignment;
}

void BatchPlan::lay_out() {
  status_ = arena_.add<std::uint32_t>(gpu::Part::kZeroed, images_);
  decode_.lay_out(arena_);
  picture_.lay_out(arena_);
  encode_.lay_out(arena_);
}

void BatchPlan::write(std::uint8_t* staging, std::uint8_t* device) const {
  const gpu::Memory host(staging, arena_);
  const gpu::Memory there(device, arena_);
  decode_.write(host, there);
  picture_.write(host, there);
  encode_.write(host, there);
  bytes_.write(host, !decode_.is_small());
}

}  // namespace framewire::codec::cuda
