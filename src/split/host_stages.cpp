// The stages of a split on the CPU.
#include <cstring>
#include <new>
#include <split/stages.hpp>
#include <utility>

namespace framewire::split {
namespace {

std::size_t bytes_of(const codec::PlaneView& plane) {
  return static_cast<std::size_t>(plane.width_px) * static_cast<std::size_t>(plane.height_px);
}

std::uint8_t* row_of(const codec::PlaneView& plane, std::int32_t y) {
  return plane.samples + static_cast<std::size_t>(y) * static_cast<std::size_t>(plane.width_px);
}

class HostStages final : public Stages {
 public:
  explicit HostStages(const codec::TurboStages& turbo) : turbo_(turbo) {}

  MemoryPlace place() const noexcept override { return {}; }
  Result<void> prepare(Picture&) override { return {}; }

  Result<void> decode(Group& group) override {
    std::vector<std::size_t> index(group.parcels.size());
    for (const auto& picture : group.pictures) {
      auto decoded = decode(*picture);
      if (!decoded) picture->error = decoded.error();
      for (std::size_t w = 0; w < group.parcels.size(); ++w) {
        for (std::size_t p = 0; p < picture->stripes[w].size(); ++p) {
          const codec::PlaneView& to = group.parcels[w].decoded.planes[index[w]++];
          if (decoded && to.height_px > 0) {
            std::memcpy(to.samples, row_of(whole_.planes[p], picture->stripes[w][p].in.first),
                        bytes_of(to));
          }
        }
      }
    }
    return {};
  }

  Result<void> resample(const Group& group, std::size_t worker, const PlaneStack& in,
                        const PlaneStack& out) override {
    for_each_part(group, worker,
                  [&](std::size_t i, std::size_t p, const PlanePart& part, std::size_t index) {
                    const Picture& picture = *group.pictures[i];
                    if (part.out.count == 0 || picture.undecoded) return;
                    turbo_.resample(picture.request.plan, static_cast<int>(p), part.out,
                                    in.planes[index].samples, out.planes[index].samples);
                  });
    return {};
  }

  Result<std::vector<Result<SplitOutput>>> make_outputs(Group& group, PictureForm form) override {
    std::vector<Result<SplitOutput>> outputs;
    std::vector<std::size_t> index(group.parcels.size());
    for (const auto& picture : group.pictures) {
      auto gathered = gather(group, *picture, index);
      outputs.push_back(gathered ? make_output(*picture, form) : fail(gathered.error()));
    }
    return outputs;
  }

  Result<void> let_go() override {
    whole_ = {};
    return {};
  }

 private:
  Result<void> decode(Picture& picture) try {
    engine::Request& request = picture.request;
    if (auto ok = whole_.lay_out(codec::decoded_sizes(request.file, request.plan), {}); !ok) {
      return ok;
    }
    return turbo_.decode(request.file, request.plan, request.context, whole_.planes,
                         picture.outcome);
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }

  // The picture's rows from all parcels; `index` says how far each has been read.
  Result<void> gather(const Group& group, const Picture& picture, std::vector<std::size_t>& index) {
    auto ready = picture.error ? fail(*picture.error)
                               : whole_.lay_out(codec::resampled_sizes(picture.request.plan), {});
    for (std::size_t w = 0; w < group.parcels.size(); ++w) {
      for (std::size_t p = 0; p < picture.stripes[w].size(); ++p) {
        const codec::PlaneView& from = group.parcels[w].resampled.planes[index[w]++];
        if (ready && from.height_px > 0) {
          std::memcpy(row_of(whole_.planes[p], picture.stripes[w][p].out.first), from.samples,
                      bytes_of(from));
        }
      }
    }
    return ready;
  }

  Result<SplitOutput> make_output(Picture& picture, PictureForm form) try {
    engine::Request& request = picture.request;
    auto planes = turbo_.post_process(request.plan, request.context, whole_.planes);
    if (!planes) return fail(planes.error());
    request.report.codec = turbo_.codec().kind();
    SplitOutput output;
    std::vector<std::uint8_t> stream;
    if (form == PictureForm::kJpeg) {
      auto head = engine::make_head(request);
      if (!head) return fail(head.error());
      stream = std::move(*head);
      auto encoded = turbo_.codec().encode(*planes, request.plan.encode, request.context, stream,
                                           picture.outcome);
      if (!encoded) return fail(encoded.error());
      request.report.quality = picture.outcome.quality;
      request.report.times.encode_us = picture.outcome.encode_us;
    } else {
      output.planes = std::move(*planes);
    }
    engine::add_warnings(request.report, picture.outcome.warnings);
    auto finished = engine::complete_request(request, std::move(stream));
    if (!finished) return fail(finished.error());
    output.resized = std::move(*finished);
    return output;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }

  const codec::TurboStages& turbo_;
  PlaneStack whole_;  ///< planes of the picture in work, decoded or resampled
};

}  // namespace

std::unique_ptr<Stages> make_host_stages(const codec::TurboStages& turbo) {
  return std::make_unique<HostStages>(turbo);
}

}  // namespace framewire::split
