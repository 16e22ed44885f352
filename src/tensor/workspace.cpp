#include <tensor/color_rows.hpp>
#include <tensor/resample_passes.hpp>
#include <tensor/workspace.hpp>

namespace framewire::tensor {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Upsamples, converts, then filters: TensorFidelity::kExact.
class ExactSink final : public codec::RegionSink {
 public:
  ExactSink(const jpeg::JpegFile& file, const ImageGeometry& image, const TensorOptions& options,
            Workspace& workspace)
      : file_(file), image_(image), options_(options), work_(workspace) {
    const CropBox& crop = image.stored;
    const transform::AxisGeometry x{crop.width_px, image.width_px, 0,
                                    static_cast<double>(crop.width_px) / image.width_px};
    const transform::AxisGeometry y{crop.height_px, image.height_px, 0,
                                    static_cast<double>(crop.height_px) / image.height_px};
    work_.filters[0].make(options.kernel, x, options.antialias);
    work_.filters[1].make(options.kernel, y, options.antialias);
    for (auto& row : work_.converted) {
      row.resize(static_cast<std::size_t>(crop.width_px) + kColorPadding);
    }
  }

  void begin() override {
    next_ = image_.stored.top_px;
    for (int i = 0; i < image_.component_count; ++i) {
      const auto& region = image_.components[index(i)].region;
      if (region.empty()) continue;
      work_.components[index(i)].begin(file_.frame, file_.frame.components[index(i)], region,
                                       image_.stored);
    }
    for (int i = 0; i < image_.channels; ++i) {
      work_.resamplers[index(i)].begin(work_.filters[0], work_.filters[1]);
    }
  }

  void rows(int component, std::int32_t first_row,
            std::span<const std::uint8_t* const> rows) override {
    work_.components[index(component)].ring().put(first_row, rows);
  }

  void end_band() override {
    const std::int32_t bottom = image_.stored.top_px + image_.stored.height_px;
    for (; next_ < bottom && has(next_); ++next_) {
      if (work_.resamplers[0].needs_next()) {
        push(next_);
      } else {
        for (int i = 0; i < image_.channels; ++i) work_.resamplers[index(i)].skip();
      }
    }
  }

  [[nodiscard]] bool done() const { return work_.resamplers[0].done(); }

 private:
  [[nodiscard]] bool has(std::int32_t y) const {
    for (int i = 0; i < image_.component_count; ++i) {
      if (image_.components[index(i)].region.empty()) continue;
      if (!work_.components[index(i)].has(y)) return false;
    }
    return true;
  }

  void push(std::int32_t y) {
    InRows in{};
    for (int i = 0; i < image_.component_count; ++i) {
      if (image_.components[index(i)].region.empty()) continue;
      in[index(i)] = work_.components[index(i)].make(y);
    }
    const InRows channels = convert(in);
    for (int i = 0; i < image_.channels; ++i) {
      work_.resamplers[index(i)].push(channels[index(i)], [&](std::int32_t j, const float* row) {
        round_row(row, index(image_.width_px),
                  work_.picture.data() + work_.offset(image_, index(i), j));
      });
    }
  }

  [[nodiscard]] InRows convert(const InRows& in) {
    const std::size_t count = index(image_.stored.width_px);
    const OutRows out{work_.converted[0].data(), work_.converted[1].data(),
                      work_.converted[2].data()};
    const InRows converted{out[0], out[1], out[2], nullptr};
    switch (image_.conversion) {
      case Conversion::kNone:
        return in;
      case Conversion::kYcbcrToRgb:
        ycbcr_to_rgb(in, count, out);
        return converted;
      case Conversion::kRgbToYcbcr:
        rgb_to_ycbcr(in, count, out);
        return converted;
      case Conversion::kRgbToGray:
        rgb_to_gray(in, count, out[0]);
        return converted;
      case Conversion::kCmykToRgb:
        cmyk_to_rgb(in, count, out);
        break;
      case Conversion::kYcckToRgb:
        ycck_to_rgb(in, count, out);
        break;
    }
    if (options_.color == TensorColor::kGray) rgb_to_gray(converted, count, out[0]);
    if (options_.color == TensorColor::kYcbcr) rgb_to_ycbcr(converted, count, out);
    return converted;
  }

  const jpeg::JpegFile& file_;
  const ImageGeometry& image_;
  const TensorOptions& options_;
  Workspace& work_;
  std::int32_t next_ = 0;
};

/// Filters each plane as it is stored, then converts: TensorFidelity::kFast.
class FastSink final : public codec::RegionSink {
 public:
  FastSink(const ImageGeometry& image, const TensorOptions& options, Workspace& workspace)
      : image_(image), converts_(image.conversion != Conversion::kNone), work_(workspace) {
    for (int i = 0; i < image.channels; ++i) {
      const ComponentGeometry& c = image.components[index(i)];
      work_.filters[index(2 * i)].make(options.kernel, c.x, options.antialias);
      work_.filters[index(2 * i + 1)].make(options.kernel, c.y, options.antialias);
    }
    if (converts_) work_.planes.resize(work_.offset(image, index(image.channels), 0));
  }

  void begin() override {
    for (int i = 0; i < image_.channels; ++i) {
      work_.resamplers[index(i)].begin(work_.filters[index(2 * i)],
                                       work_.filters[index(2 * i + 1)]);
    }
  }

  void rows(int component, std::int32_t first_row,
            std::span<const std::uint8_t* const> rows) override {
    const codec::SampleRegion& region = image_.components[index(component)].region;
    PlaneResampler& resampler = work_.resamplers[index(component)];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t row = first_row + static_cast<std::int32_t>(i);
      if (row < region.top || row >= region.bottom) continue;
      if (!resampler.needs_next()) {
        resampler.skip();
        continue;
      }
      resampler.push(rows[i] + region.left, [&](std::int32_t j, const float* made) {
        take(work_.offset(image_, index(component), j), made);
      });
    }
  }

  void end_band() override {}

  [[nodiscard]] bool done() const {
    for (int i = 0; i < image_.channels; ++i) {
      if (!work_.resamplers[index(i)].done()) return false;
    }
    return true;
  }

  /// After the last row.
  void convert() {
    if (!converts_) return;
    for (std::int32_t j = 0; j < image_.height_px; ++j) {
      std::array<const float*, 3> in{};
      OutRows out{};
      for (std::size_t c = 0; c < 3; ++c) {
        in[c] = work_.planes.data() + work_.offset(image_, c, j);
        out[c] = work_.picture.data() + work_.offset(image_, c, j);
      }
      ycbcr_to_rgb_once(in, index(image_.width_px), out);
    }
  }

 private:
  void take(std::size_t offset, const float* row) {
    const std::size_t count = index(image_.width_px);
    if (converts_) {
      std::copy_n(row, count, work_.planes.data() + offset);
    } else {
      round_row(row, count, work_.picture.data() + offset);
    }
  }

  const ImageGeometry& image_;
  bool converts_;
  Workspace& work_;
};

}  // namespace

Result<void> make_picture(const jpeg::JpegFile& file, const ImageGeometry& image,
                          const TensorOptions& options, const codec::Context& context,
                          Workspace& workspace, codec::CodecOutcome& outcome) {
  // Vectors pass a row's end, and must not meet the next channel.
  workspace.pitch = index(image.width_px) + kRowPadding;
  workspace.picture.resize(workspace.offset(image, index(image.channels), 0));
  plan::Scales scales = plan::kFullScale;
  std::array<codec::SampleRegion, jpeg::kMaxComponents> regions{};
  for (int i = 0; i < image.component_count; ++i) {
    scales[index(i)] = image.components[index(i)].scale;
    regions[index(i)] = image.components[index(i)].region;
  }
  const auto wanted =
      std::span<const codec::SampleRegion>(regions).first(index(image.component_count));
  bool done = false;
  if (image.exact) {
    ExactSink sink(file, image, options, workspace);
    auto decoded = codec::decode_regions(file, scales, wanted, context, sink, outcome);
    if (!decoded) return decoded;
    done = sink.done();
  } else {
    FastSink sink(image, options, workspace);
    auto decoded = codec::decode_regions(file, scales, wanted, context, sink, outcome);
    if (!decoded) return decoded;
    done = sink.done();
    if (done) sink.convert();
  }
  if (!done) return fail(StatusCode::kInternal, "the decoder delivered fewer rows than planned");
  return {};
}

}  // namespace framewire::tensor
