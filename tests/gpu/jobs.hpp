// Whole resizes through the GPU, the CPU codec and the reference, from one parsed file and one
// plan.
#pragma once

#include <codec/cuda/encode/output_header.hpp>
#include <codec/cuda/transcoder.hpp>
#include <codec/reference/reference_codec.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <color/converter.hpp>
#include <functional>
#include <jpeg/writer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/gpu/gpu.hpp>

namespace framewire::gpu_tests {

/// One resize with everything that an item points to. Not to be moved once made.
class Job {
 public:
  /// @param change  may change the parsed file: its orientation, its profile
  Job(std::string name, std::vector<std::uint8_t> bytes, const ResizeOptions& options,
      const std::function<void(jpeg::JpegFile&)>& change = {})
      : name_(std::move(name)), bytes_(std::move(bytes)), file_(conformance::parse_or_die(bytes_)) {
    if (change) change(file_);
    const bool icc = color::classify_profile(file_) == color::ProfileUse::kConvertible;
    auto plan = plan::make_plan(file_, options, {}, icc);
    EXPECT_TRUE(plan) << name_;
    plan_ = *plan;
    if (plan_.color_path == plan::ColorPath::kConvert) {
      converter_ = color::Converter::make(file_, plan_.encode.model, plan_.convert_icc).value();
    }
    jpeg::write_marker(header_, 0xD8);
    codec::cuda::append_output_header(plan_.encode, header_);
    item.file = &file_;
    item.plan = &plan_;
    item.converter = converter_ ? &*converter_ : nullptr;
    item.header = header_;
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }

  /// What a codec of the host writes.
  [[nodiscard]] std::vector<std::uint8_t> run(const codec::Codec& codec,
                                              codec::CodecOutcome& outcome) const {
    codec::Context context;
    context.converter = converter_ ? &*converter_ : nullptr;
    std::vector<std::uint8_t> out{0xFF, 0xD8};
    auto ok = codec.transcode(file_, plan_, context, out, outcome);
    EXPECT_TRUE(ok) << name_ << ": " << ok.error().to_string();
    return out;
  }

  codec::cuda::Item item;

 private:
  std::string name_;
  std::vector<std::uint8_t> bytes_;
  jpeg::JpegFile file_;
  plan::Plan plan_;
  std::optional<color::Converter> converter_;
  std::vector<std::uint8_t> header_;
};

using Jobs = std::vector<std::unique_ptr<Job>>;

/// Runs all as one batch. Every job must be accepted.
inline codec::cuda::Transcoder run_batch(const Jobs& jobs) {
  std::vector<codec::cuda::Item> items;
  for (const auto& job : jobs) {
    const auto ok = codec::cuda::check_item(job->item);
    EXPECT_TRUE(ok) << job->name() << ": " << ok.error().to_string();
    items.push_back(job->item);
  }
  auto transcoder = codec::cuda::Transcoder::make();
  EXPECT_TRUE(transcoder->enqueue(items));
  EXPECT_TRUE(transcoder->wait());
  return std::move(*transcoder);
}

}  // namespace framewire::gpu_tests
