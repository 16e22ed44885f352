#include <algorithm>
#include <cmath>
#include <codec/reference/reference_codec.hpp>
#include <jpeg/parser.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/conformance/tensor_twin.hpp>
#include <tests/support/tensors.hpp>
#include <transform/orient.hpp>

namespace framewire::conformance {
namespace {

TwinImage blank(int channels, int width, int height) {
  TwinImage image{channels, width, height, {}};
  image.samples.resize(static_cast<std::size_t>(channels) * width * height);
  return image;
}

double to_sample(double value) { return std::clamp(std::nearbyint(value), 0.0, 255.0); }

/// Adobe's four components as Pillow's cmyk2rgb() has them, after its inversion on reading.
void cmyk_to_rgb(TwinImage& image) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int white = static_cast<int>(image.at(3, y, x));
      for (int c = 0; c < 3; ++c) {
        const int ink = 255 - static_cast<int>(image.at(c, y, x));
        const int product = ink * white + 128;
        image.at(c, y, x) = std::clamp(white - (((product >> 8) + product) >> 8), 0, 255);
      }
    }
  }
  image.channels = 3;
  image.samples.resize(static_cast<std::size_t>(3) * image.width * image.height);
}

void convert_each(TwinImage& image, bool round, const auto& pixel) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      double p[3] = {image.at(0, y, x), image.at(1, y, x), image.at(2, y, x)};
      pixel(p);
      for (int c = 0; c < 3; ++c) {
        image.at(c, y, x) = round ? to_sample(p[c]) : std::clamp(p[c], 0.0, 255.0);
      }
    }
  }
}

void rgb_to_ycbcr(TwinImage& image) {
  convert_each(image, true, [](double* p) {
    const double y = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
    const double cb = (p[2] - y) / 1.772 + 128;
    const double cr = (p[0] - y) / 1.402 + 128;
    p[0] = y, p[1] = cb, p[2] = cr;
  });
}

void ycbcr_to_rgb(TwinImage& image, bool round) {
  convert_each(image, round, [](double* p) {
    const double cb = p[1] - 128;
    const double cr = p[2] - 128;
    const double y = p[0];
    p[0] = y + 1.402 * cr;
    p[1] = y - 0.344136286 * cb - 0.714136286 * cr;
    p[2] = y + 1.772 * cb;
  });
}

/// Where libjpeg refuses to upsample: its planes, each pixel from the sample under its centre.
std::optional<TwinImage> nearest_picture(std::span<const std::uint8_t> jpeg,
                                         const jpeg::JpegFile& file) {
  const auto planes = libjpeg_planes(jpeg);
  if (!planes) return std::nullopt;
  const auto& frame = file.frame;
  TwinImage image = blank(3, frame.width_px, frame.height_px);
  for (int c = 0; c < 3; ++c) {
    const auto& component = frame.components[static_cast<std::size_t>(c)];
    const auto& plane = planes->planes[static_cast<std::size_t>(c)];
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const int px = static_cast<int>((x + 0.5) * component.h / frame.h_max);
        const int py = static_cast<int>((y + 0.5) * component.v / frame.v_max);
        image.at(c, y, x) = plane.samples[static_cast<std::size_t>(py) * plane.width_px + px];
      }
    }
  }
  return image;
}

TwinImage upright(const TwinImage& stored, int orientation) {
  const bool swap = transform::swaps_axes(orientation);
  TwinImage out = blank(stored.channels, swap ? stored.height : stored.width,
                        swap ? stored.width : stored.height);
  for (int c = 0; c < out.channels; ++c) {
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        const auto at =
            transform::stored_position(orientation, {x, y}, stored.width, stored.height);
        out.at(c, y, x) = stored.at(c, at.y, at.x);
      }
    }
  }
  return out;
}

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}
double sinc(double x) {
  if (x == 0) return 1;
  const double p = x * std::acos(-1.0);
  return std::sin(p) / p;
}

using Weights = std::vector<double>;  ///< of every input sample

/// Pillow's Resample.c: support stretched by the scale, weights at the edge dropped.
Weights antialiased(Kernel kernel, int in, int out, int j, double origin, double step) {
  Weights weights(static_cast<std::size_t>(in), 0.0);
  const double scale = std::max(1.0, step);
  const double centre = origin + (j + 0.5) * step;
  if (kernel == Kernel::kArea && step < 1.0) kernel = Kernel::kBilinear;
  (void)out;
  for (int k = 0; k < in; ++k) {
    const double d = (k + 0.5 - centre) / scale;
    double w = 0;
    if (kernel == Kernel::kBilinear) w = std::max(0.0, 1 - std::fabs(d));
    if (kernel == Kernel::kBicubic) w = cubic(d, -0.5);
    if (kernel == Kernel::kLanczos3) w = std::fabs(d) < 3 ? sinc(d) * sinc(d / 3) : 0;
    if (kernel == Kernel::kArea) {  // by overlap, as OpenCV's INTER_AREA
      const double low = std::max<double>(k, centre - step / 2);
      const double high = std::min<double>(k + 1, centre + step / 2);
      w = std::max(0.0, high - low);
    }
    weights[static_cast<std::size_t>(k)] = w;
  }
  return weights;
}

/// torch's upsample_bilinear2d and upsample_bicubic2d with align_corners=False.
Weights interpolated(Kernel kernel, int in, int j, double origin, double step) {
  Weights weights(static_cast<std::size_t>(in), 0.0);
  const auto add = [&](int k, double w) {
    weights[static_cast<std::size_t>(std::clamp(k, 0, in - 1))] += w;
  };
  const double source = origin + step * (j + 0.5) - 0.5;
  const int first = static_cast<int>(std::floor(source));
  const double t = source - first;
  if (kernel == Kernel::kBilinear) {
    add(first, 1 - t);
    add(first + 1, t);
  } else {
    for (int k = -1; k <= 2; ++k) add(first + k, cubic(t - k, -0.75));
  }
  return weights;
}

Weights weights_of(const TensorOptions& options, int in, int out, int j, double origin,
                   double step) {
  Weights weights = options.antialias ? antialiased(options.kernel, in, out, j, origin, step)
                                      : interpolated(options.kernel, in, j, origin, step);
  double sum = 0;
  for (const double w : weights) sum += w;
  for (double& w : weights) w /= sum;
  return weights;
}

struct Part {
  int left, top, width, height;
  double origin_x, origin_y, step_x, step_y;
};

/// Not rounded.
TwinImage resize_part(const TwinImage& picture, const Part& part, const TensorOptions& options,
                      int out_width, int out_height) {
  TwinImage rows = blank(picture.channels, part.width, out_height);
  for (int j = 0; j < out_height; ++j) {
    const Weights w = weights_of(options, part.height, out_height, j, part.origin_y, part.step_y);
    for (int c = 0; c < picture.channels; ++c) {
      for (int k = 0; k < part.height; ++k) {
        if (w[static_cast<std::size_t>(k)] == 0) continue;
        for (int x = 0; x < part.width; ++x) {
          rows.at(c, j, x) +=
              w[static_cast<std::size_t>(k)] * picture.at(c, part.top + k, part.left + x);
        }
      }
    }
  }
  TwinImage out = blank(picture.channels, out_width, out_height);
  for (int i = 0; i < out_width; ++i) {
    const Weights w = weights_of(options, part.width, out_width, i, part.origin_x, part.step_x);
    for (int k = 0; k < part.width; ++k) {
      if (w[static_cast<std::size_t>(k)] == 0) continue;
      for (int c = 0; c < picture.channels; ++c) {
        for (int j = 0; j < out_height; ++j) {
          out.at(c, j, i) += w[static_cast<std::size_t>(k)] * rows.at(c, j, k);
        }
      }
    }
  }
  return out;
}

TwinImage flipped(TwinImage image) {
  for (int c = 0; c < image.channels; ++c) {
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width / 2; ++x) {
        std::swap(image.at(c, y, x), image.at(c, y, image.width - 1 - x));
      }
    }
  }
  return image;
}

}  // namespace

std::optional<TwinImage> twin_picture(std::span<const std::uint8_t> jpeg,
                                      const TensorOptions& options) {
  const auto file = parse_or_die(jpeg);
  const bool four = file.frame.component_count == 4;
  const bool rgb = file.color_model == jpeg::ColorModel::kRgb;
  const bool gray_file = file.color_model == jpeg::ColorModel::kGray;
  const bool gray = options.color == TensorColor::kGray;
  const bool ycbcr = options.color == TensorColor::kYcbcr;
  LibjpegColor wanted = LibjpegColor::kRgb;
  if (four) wanted = LibjpegColor::kCmyk;
  if (!four && ycbcr && !rgb && !gray_file) wanted = LibjpegColor::kYcbcr;
  if (!four && (gray || gray_file)) wanted = LibjpegColor::kGray;
  std::optional<TwinImage> image;
  if (const auto pixels = libjpeg_pixels(jpeg, wanted)) {
    image = blank(pixels->channels, pixels->width_px, pixels->height_px);
    for (int y = 0; y < image->height; ++y) {
      for (int x = 0; x < image->width; ++x) {
        for (int c = 0; c < image->channels; ++c) {
          image->at(c, y, x) =
              pixels
                  ->samples[(static_cast<std::size_t>(y) * image->width + x) * image->channels + c];
        }
      }
    }
    if (four) cmyk_to_rgb(*image);
  } else {
    image = nearest_picture(jpeg, file);
    if (!image) return std::nullopt;
    if (!ycbcr && !gray) ycbcr_to_rgb(*image, true);
    if (gray) image->channels = 1;
  }
  if (ycbcr && (four || rgb)) rgb_to_ycbcr(*image);
  if (gray && four) {
    rgb_to_ycbcr(*image);
    image->channels = 1;
  }
  if (gray_file && !gray) {
    TwinImage three = blank(3, image->width, image->height);
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < three.height; ++y) {
        for (int x = 0; x < three.width; ++x) {
          three.at(c, y, x) = ycbcr && c > 0 ? 128 : image->at(0, y, x);
        }
      }
    }
    image = std::move(three);
  }
  return upright(*image, options.exif ? file.orientation : 1);
}

TwinImage twin_resize(const TwinImage& picture, const TensorItem& item,
                      const TensorOptions& options) {
  const CropBox crop = item.crop.value_or(CropBox{0, 0, picture.width, picture.height});
  const Part part{crop.left_px,
                  crop.top_px,
                  crop.width_px,
                  crop.height_px,
                  0,
                  0,
                  static_cast<double>(crop.width_px) / options.width_px,
                  static_cast<double>(crop.height_px) / options.height_px};
  TwinImage out = resize_part(picture, part, options, options.width_px, options.height_px);
  for (double& sample : out.samples) sample = std::clamp(sample, 0.0, 255.0);
  return item.flip ? flipped(std::move(out)) : out;
}

TwinImage twin_fast(std::span<const std::uint8_t> jpeg, const TensorItem& item,
                    const TensorOptions& options) {
  const auto file = parse_or_die(jpeg);
  const auto& frame = file.frame;
  const CropBox crop = item.crop.value_or(CropBox{0, 0, frame.width_px, frame.height_px});
  const int channels = options.color == TensorColor::kGray ? 1 : frame.component_count;
  plan::Scales scales = plan::kFullScale;
  std::vector<double> density_x, density_y;
  for (int c = 0; c < frame.component_count; ++c) {
    const auto& component = frame.components[static_cast<std::size_t>(c)];
    const double x = static_cast<double>(component.h) / frame.h_max;
    const double y = static_cast<double>(component.v) / frame.v_max;
    int scale = 8;
    while (options.antialias && scale > 1 &&
           crop.width_px * x * (scale / 2) / 8 >= options.width_px &&
           crop.height_px * y * (scale / 2) / 8 >= options.height_px) {
      scale /= 2;
    }
    scales[static_cast<std::size_t>(c)] = scale;
    density_x.push_back(x * scale / 8);
    density_y.push_back(y * scale / 8);
  }
  codec::CodecOutcome outcome;
  const auto planes = codec::make_reference_codec()->decode(file, scales, {}, outcome).value();
  TwinImage out = blank(3, options.width_px, options.height_px);
  for (int c = 0; c < channels; ++c) {
    const auto& plane = planes.planes[static_cast<std::size_t>(c)];
    TwinImage one = blank(1, plane.width_px, plane.height_px);
    std::copy(plane.samples.begin(), plane.samples.end(), one.samples.begin());
    const double left = crop.left_px * density_x[static_cast<std::size_t>(c)];
    const double right = (crop.left_px + crop.width_px) * density_x[static_cast<std::size_t>(c)];
    const double top = crop.top_px * density_y[static_cast<std::size_t>(c)];
    const double bottom = (crop.top_px + crop.height_px) * density_y[static_cast<std::size_t>(c)];
    Part part{};
    part.left = static_cast<int>(left);
    part.top = static_cast<int>(top);
    part.width = std::min(static_cast<int>(std::ceil(right)), one.width) - part.left;
    part.height = std::min(static_cast<int>(std::ceil(bottom)), one.height) - part.top;
    part.origin_x = left - part.left;
    part.origin_y = top - part.top;
    part.step_x = (right - left) / options.width_px;
    part.step_y = (bottom - top) / options.height_px;
    const TwinImage made = resize_part(one, part, options, options.width_px, options.height_px);
    std::copy(made.samples.begin(), made.samples.end(),
              out.samples.begin() + static_cast<std::ptrdiff_t>(made.samples.size()) * c);
  }
  out.channels = channels;
  out.samples.resize(static_cast<std::size_t>(channels) * out.width * out.height);
  if (channels == 3 && options.color == TensorColor::kRgb) {
    ycbcr_to_rgb(out, false);
  } else {
    for (double& sample : out.samples) sample = std::clamp(sample, 0.0, 255.0);
  }
  return item.flip ? flipped(std::move(out)) : out;
}

TwinImage read_back(const void* image, const TensorOptions& options) {
  const int channels = options.color == TensorColor::kGray ? 1 : 3;
  TwinImage out = blank(channels, options.width_px, options.height_px);
  for (int c = 0; c < channels; ++c) {
    const int source = options.color == TensorColor::kBgr ? 2 - c : c;
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        const int index = options.layout == TensorLayout::kNchw
                              ? (c * out.height + y) * out.width + x
                              : (y * out.width + x) * channels + c;
        const double value = test::element_at(image, static_cast<std::size_t>(index), options.type);
        const auto at = static_cast<std::size_t>(c);
        out.at(source, y, x) = options.type == TensorType::kUint8
                                   ? value
                                   : (value * options.stddev[at] + options.mean[at]) * 255.0;
      }
    }
  }
  return out;
}

TwinDistance distance(const TwinImage& a, const TwinImage& b) {
  TwinDistance found;
  if (a.samples.size() != b.samples.size()) return {1e9, 1e9};
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const double d = std::fabs(a.samples[i] - b.samples[i]);
    found.largest = std::max(found.largest, d);
    found.mean += d;
  }
  found.mean /= static_cast<double>(a.samples.size());
  return found;
}

}  // namespace framewire::conformance
