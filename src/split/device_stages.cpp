// The stages of a split on a GPU.
#include <engine/device_stages.hpp>
#include <engine/device_verdict.hpp>
#include <split/stages.hpp>
#include <utility>

namespace framewire::split {
namespace {

using engine::DeviceStages;

DevicePlane plane_of(const PlaneStack& stack, std::size_t index) {
  const codec::PlaneView& plane = stack.planes[index];
  return {plane.samples, plane.width_px, plane.height_px,
          static_cast<std::int32_t>(stack.pitch_bytes[index])};
}

DevicePlane rows_of(DevicePlane plane, const codec::RowSpan& rows) {
  plane.samples += static_cast<std::ptrdiff_t>(rows.first) * plane.pitch_bytes;
  plane.height_px = rows.count;
  return plane;
}

DeviceStages::Copy copy_to(const DevicePlane& to, DevicePlane from) {
  from.width_px = to.width_px;
  return {from, to.samples, static_cast<std::uint32_t>(to.pitch_bytes)};
}

class GpuStages final : public Stages {
 public:
  GpuStages(const MemoryPlace& place, DeviceStages stages)
      : place_(place), stages_(std::move(stages)) {}

  MemoryPlace place() const noexcept override { return place_; }

  // As in an engine, the host reads the coefficients that the GPU's entropy decoder never takes.
  Result<void> prepare(Picture& picture) override {
    engine::Request& request = picture.request;
    if (auto ok = engine::check_for_cuda(request.file, request.plan, request.converter.get());
        !ok) {
      return ok;
    }
    if (!engine::entropy_on_host(request.file.frame)) return {};
    auto read = engine::read_on_host(request, picture.outcome);
    if (!read) return fail(read.error());
    picture.coefficients = std::move(*read);
    return {};
  }

  Result<void> decode(Group& group) override {
    const auto start = base::Clock::now();
    std::vector<DeviceStages::Source> sources;
    for (const auto& picture : group.pictures) {
      sources.push_back({&picture->request.file,
                         picture->coefficients ? &*picture->coefficients : nullptr,
                         picture->request.plan.scales});
    }
    auto done = stages_.decode(sources);
    if (done) {
      for (std::size_t i = 0; i < group.pictures.size(); ++i) {
        if (!stages_.result(i)) group.pictures[i]->error = stages_.result(i).error();
      }
      done = hand_out(group);
    }
    const double us = base::elapsed_us(start);
    for (const auto& picture : group.pictures) picture->outcome.decode_resample_us = us;
    return done;
  }

  Result<void> resample(const Group& group, std::size_t worker, const PlaneStack& in,
                        const PlaneStack& out) override {
    std::vector<DeviceStages::Striped> pictures;
    std::vector<DevicePlane> targets;
    const Picture* last = nullptr;
    for_each_part(
        group, worker, [&](std::size_t i, std::size_t p, const PlanePart& part, std::size_t index) {
          const Picture& picture = *group.pictures[i];
          if (part.out.count == 0 || picture.undecoded) return;
          if (std::exchange(last, &picture) != &picture) {
            pictures.push_back({&picture.request.plan, {}});
          }
          pictures.back().stripes.push_back({static_cast<int>(p), part.out.first, part.out.count,
                                             part.in.first, plane_of(in, index)});
          targets.push_back(plane_of(out, index));
        });
    if (auto ok = stages_.resample(pictures); !ok) return ok;
    std::vector<DeviceStages::Copy> copies;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      if (!stages_.result(i)) return fail(stages_.result(i).error());
      for (const DevicePlane& plane : stages_.planes(i)) {
        copies.push_back(copy_to(targets[copies.size()], plane));
      }
    }
    return stages_.copy(copies);
  }

  Result<std::vector<Result<SplitOutput>>> make_outputs(Group& group, PictureForm form) override {
    const auto start = base::Clock::now();
    auto done = gather(group);
    std::vector<DeviceStages::Resampled> pictures;
    std::vector<Result<SplitOutput>> outputs;
    if (done) choose(group, form, pictures, outputs);
    if (done) {
      done = form == PictureForm::kJpeg ? stages_.encode(pictures) : stages_.post_process(pictures);
    }
    if (!done) return fail(done.error());
    const double us = base::elapsed_us(start);
    std::size_t next = 0;
    for (std::size_t i = 0; i < group.pictures.size(); ++i) {
      if (!outputs[i]) continue;
      group.pictures[i]->request.report.times.encode_us = us;
      outputs[i] = take(*group.pictures[i], next++, form);
    }
    return outputs;
  }

  Result<void> let_go() override {
    auto fresh = DeviceStages::make(place_.device);
    if (!fresh) return fail(fresh.error());
    stages_ = std::move(*fresh);
    whole_ = {};
    return {};
  }

 private:
  // Components that the output has no use for, such as the chroma of a gray one, stay behind.
  Result<void> hand_out(const Group& group) {
    std::vector<DeviceStages::Copy> copies;
    for (std::size_t w = 0; w < group.parcels.size(); ++w) {
      for_each_part(group, w,
                    [&](std::size_t i, std::size_t p, const PlanePart& part, std::size_t index) {
                      const Picture& picture = *group.pictures[i];
                      if (part.in.count == 0 || picture.error) return;
                      const auto component =
                          static_cast<std::size_t>(picture.request.plan.planes[p].component);
                      copies.push_back(copy_to(plane_of(group.parcels[w].decoded, index),
                                               rows_of(stages_.planes(i)[component], part.in)));
                    });
    }
    return stages_.copy(copies);
  }

  // Gathers whole planes from the rows in all parcels.
  Result<void> gather(const Group& group) {
    std::vector<codec::PlaneSize> sizes;
    first_plane_.clear();
    for (const auto& picture : group.pictures) {
      first_plane_.push_back(sizes.size());
      const auto planes = codec::resampled_sizes(picture->request.plan);
      sizes.insert(sizes.end(), planes.begin(), planes.end());
    }
    if (auto ok = whole_.lay_out(sizes, place_); !ok) return ok;
    std::vector<DeviceStages::Copy> copies;
    for (std::size_t w = 0; w < group.parcels.size(); ++w) {
      for_each_part(
          group, w, [&](std::size_t i, std::size_t p, const PlanePart& part, std::size_t index) {
            if (part.out.count == 0 || group.pictures[i]->error) return;
            copies.push_back(copy_to(rows_of(plane_of(whole_, first_plane_[i] + p), part.out),
                                     plane_of(group.parcels[w].resampled, index)));
          });
    }
    return stages_.copy(copies);
  }

  // The pictures that can be post-processed, and the outcome of the others.
  void choose(const Group& group, PictureForm form, std::vector<DeviceStages::Resampled>& pictures,
              std::vector<Result<SplitOutput>>& outputs) const {
    for (std::size_t i = 0; i < group.pictures.size(); ++i) {
      const Picture& picture = *group.pictures[i];
      if (picture.error) {
        outputs.push_back(fail(*picture.error));
        continue;
      }
      DeviceStages::Resampled one;
      if (form == PictureForm::kJpeg) {
        auto head = engine::make_head(picture.request);
        if (!head) {
          outputs.push_back(fail(head.error()));
          continue;
        }
        one.head = std::move(*head);
      }
      one.request = &picture.request;
      for (int p = 0; p < picture.request.plan.plane_count; ++p) {
        one.planes.push_back(plane_of(whole_, first_plane_[i] + static_cast<std::size_t>(p)));
      }
      pictures.push_back(std::move(one));
      outputs.emplace_back(SplitOutput{});
    }
  }

  Result<SplitOutput> take(Picture& picture, std::size_t index, PictureForm form) {
    if (!stages_.result(index)) return fail(stages_.result(index).error());
    engine::Request& request = picture.request;
    request.report.codec = CodecKind::kCuda;
    SplitOutput output;
    std::vector<std::uint8_t> bytes;
    if (form == PictureForm::kJpeg) {
      const engine::DeviceStream stream = stages_.stream(index);
      request.report.quality = stream.quality;
      bytes.assign(stream.bytes.begin(), stream.bytes.end());
    } else if (auto kept = keep(stages_.planes(index), output.planes); !kept) {
      return fail(kept.error());
    }
    engine::add_warnings(request.report, picture.outcome.warnings);
    auto finished = engine::complete_request(request, std::move(bytes));
    if (!finished) return fail(finished.error());
    output.resized = std::move(*finished);
    return output;
  }

  Result<void> keep(std::span<const DevicePlane> planes, codec::Planes& kept) {
    const auto samples = stages_.read(planes);
    if (!samples) return fail(samples.error());
    const std::uint8_t* from = samples->data();
    for (const DevicePlane& plane : planes) {
      codec::Plane& one = kept.planes.emplace_back();
      one.width_px = plane.width_px;
      one.height_px = plane.height_px;
      one.samples.assign(from, from + sample_count(plane));
      from += one.samples.size();
    }
    return {};
  }

  MemoryPlace place_;
  DeviceStages stages_;
  PlaneStack whole_;                      ///< of make_outputs()
  std::vector<std::size_t> first_plane_;  ///< in it, of each picture
};

}  // namespace

Result<std::unique_ptr<Stages>> make_device_stages(int device) {
  auto stages = DeviceStages::make(device);
  if (!stages) return fail(stages.error());
  const auto devices = transport::cuda_devices();
  if (!devices) return fail(devices.error());
  return std::make_unique<GpuStages>(MemoryPlace{*devices, device}, std::move(*stages));
}

}  // namespace framewire::split
