#include <jpeg/parser.hpp>
#include <new>
#include <tensor/image_maker.hpp>

namespace framewire::tensor {
namespace {

/// Memory for a file that a workspace keeps for the next image; larger files are rare.
constexpr std::size_t kMaxKeptFileBytes = 8u << 20;

}  // namespace

Result<jpeg::JpegFile> read_file(std::span<const std::uint8_t> bytes, const Limits& limits,
                                 base::Deadline deadline) {
  auto file = jpeg::parse(bytes, limits, jpeg::ParseDepth::kWhole, deadline);
  if (!file) return file;
  if (auto good = jpeg::check_supported(*file); !good) return fail(good.error());
  return file;
}

TensorImage describe(jpeg::JpegFile& file, const ImageGeometry& geometry) {
  TensorImage image;
  image.width_px = geometry.shown.width_px;
  image.height_px = geometry.shown.height_px;
  image.crop = geometry.crop;
  image.orientation = file.orientation;
  image.warnings = std::move(file.warnings);
  return image;
}

Result<TensorImage> ImageMaker::make(const TensorItem& item, void* out, Workspace& workspace) const
    try {
  auto made = make_image(item, out, workspace);
  if (workspace.file.capacity() > kMaxKeptFileBytes) workspace.file = {};
  return made;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<TensorImage> ImageMaker::make_image(const TensorItem& item, void* out,
                                           Workspace& workspace) const {
  const base::Deadline deadline(options_.limits.deadline_ms);
  std::span<const std::uint8_t> bytes = item.jpeg;
  // A copy: whoever changes the original meanwhile changes nothing here.
  if (bytes.size() <=
      options_.limits.max_input_bytes) {  // otherwise parse() refuses it by its size
    workspace.file.assign(bytes.begin(), bytes.end());
    bytes = workspace.file;
  }
  auto file = read_file(bytes, options_.limits, deadline);
  if (!file) return fail(file.error());
  const auto geometry = plan_image(*file, item.crop, options_);
  if (!geometry) return fail(geometry.error());
  codec::Context context;
  context.deadline = deadline;
  context.max_scans = options_.limits.max_scans;
  codec::CodecOutcome outcome;
  auto made = make_picture(*file, *geometry, options_, context, workspace, outcome);
  if (!made) return fail(made.error());
  TensorPicture picture;
  picture.channel_count = geometry->channels;
  picture.pitch = workspace.pitch;
  picture.width_px = geometry->width_px;
  picture.height_px = geometry->height_px;
  picture.orientation = geometry->orientation;
  for (std::size_t c = 0; c < static_cast<std::size_t>(geometry->channels); ++c) {
    picture.channels[c] = workspace.picture.data() + workspace.offset(*geometry, c, 0);
  }
  writer_.write(picture, item.flip, out);
  TensorImage image = describe(*file, *geometry);
  image.warnings.insert(image.warnings.end(), std::make_move_iterator(outcome.warnings.begin()),
                        std::make_move_iterator(outcome.warnings.end()));
  return image;
}

}  // namespace framewire::tensor
