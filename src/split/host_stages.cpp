// The stages of a split on the CPU.
#include <split/stages.hpp>
#include <utility>

namespace framewire::split {
namespace {

class HostStages final : public Stages {
 public:
  explicit HostStages(const codec::TurboStages& turbo) : turbo_(turbo) {}

  Place place() const noexcept override { return {}; }

  Result<void> decode(Picture& picture) override {
    engine::Request& request = picture.request;
    return turbo_.decode(request.file, request.plan, request.context, picture.decoded.planes,
                         picture.outcome);
  }

  Result<void> resample(const plan::Plan& plan, const Stripe& stripe, const PlaneStack& in,
                        const PlaneStack& out) override {
    for (std::size_t p = 0; p < stripe.size(); ++p)
      if (stripe[p].out.count > 0)
        turbo_.resample(plan, static_cast<int>(p), stripe[p].out, in.planes[p].samples,
                        out.planes[p].samples);
    return {};
  }

  Result<Output> finish(Picture& picture, Form form) override {
    engine::Request& request = picture.request;
    auto planes = turbo_.finish(request.plan, request.context, picture.resampled.planes);
    if (!planes) return fail(planes.error());
    request.report.codec = turbo_.codec().kind();
    Output output;
    std::vector<std::uint8_t> stream;
    if (form == Form::kJpeg) {
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
    auto finished = engine::finish_request(request, std::move(stream));
    if (!finished) return fail(finished.error());
    output.resized = std::move(*finished);
    return output;
  }

 private:
  const codec::TurboStages& turbo_;
};

}  // namespace

std::unique_ptr<Stages> make_host_stages(const codec::TurboStages& turbo) {
  return std::make_unique<HostStages>(turbo);
}

}  // namespace framewire::split
