#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <cstring>
#include <framewire/tensor.hpp>
#include <jpeg/parser.hpp>
#include <new>
#include <tensor/geometry.hpp>
#include <tensor/tensor_options.hpp>
#include <tensor/tensor_writer.hpp>
#include <tensor/worker_pool.hpp>
#include <tensor/workspace.hpp>
#include <thread>

namespace framewire {
namespace {

using namespace tensor;

/// Memory for a file that a workspace keeps for the next image; larger files are rare.
constexpr std::size_t kMaxKeptFileBytes = 8u << 20;

Result<TensorImage> fail_image(std::size_t index, const Status& status) {
  Status named(status.code(), fmt::format("image {}: {}", index, status.message()));
  if (status.offset()) (void)std::move(named).at(*status.offset());  // both change it in place
  if (!status.subject().empty()) (void)std::move(named).about(status.subject());
  return fail(std::move(named));
}

/// The file, checked, from a copy: whoever changes the original meanwhile changes nothing here.
Result<jpeg::JpegFile> read_file(std::span<const std::uint8_t> bytes, const Limits& limits,
                                 base::Deadline deadline, Workspace& workspace) {
  if (bytes.size() <= limits.max_input_bytes) {  // otherwise parse() refuses it by its size
    workspace.file.assign(bytes.begin(), bytes.end());
    bytes = workspace.file;
  }
  auto file = jpeg::parse(bytes, limits, jpeg::ParseDepth::kWhole, deadline);
  if (!file) return file;
  if (auto good = jpeg::check_supported(*file); !good) return fail(good.error());
  return file;
}

}  // namespace

class TensorDecoder::Impl {
 public:
  explicit Impl(const TensorOptions& options)
      : options_(options), writer_(options), workers_(options.threads) {
    image_bytes_ = element_bytes(options.type) *
                   static_cast<std::uint64_t>(channel_count(options.color)) *
                   static_cast<std::uint64_t>(options.width_px) *
                   static_cast<std::uint64_t>(options.height_px);
    workspaces_.resize(options.threads);
  }

  [[nodiscard]] Result<void> decode(std::span<const TensorItem> items, const HostTensorView& out) {
    images_.clear();
    if (auto good = check(items.size(), out); !good) return good;
    images_.assign(items.size(), fail(StatusCode::kInternal, "the image was not reached"));
    auto done = workers_.run(items.size(), [&](std::size_t thread, std::size_t i) {
      auto* to = static_cast<std::uint8_t*>(out.data) + i * image_bytes_;
      images_[i] = decode_one(i, items[i], to, workspaces_[thread]);
      if (!images_[i]) std::memset(to, 0, image_bytes_);
      if (out.ok != nullptr) out.ok[i] = images_[i] ? 1 : 0;
    });
    if (!done) images_.clear();
    return done;
  }

  [[nodiscard]] const Result<TensorImage>& image(std::size_t index) const {
    return index < images_.size() ? images_[index] : no_image_;
  }
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t image_bytes() const noexcept { return image_bytes_; }
  void forget() noexcept { images_.clear(); }

 private:
  [[nodiscard]] Result<void> check(std::size_t count, const HostTensorView& out) const {
    if (count == 0) return {};
    const auto wanted = base::checked_mul<std::uint64_t>(count, image_bytes_);
    if (!wanted || out.bytes < *wanted) {
      return fail(StatusCode::kTooLarge,
                  fmt::format("{} images of {} bytes do not fit into {}; accepted: {} bytes", count,
                              image_bytes_, out.bytes, wanted ? fmt::to_string(*wanted) : "fewer"));
    }
    if (out.data == nullptr) {
      return fail(StatusCode::kInvalidInput, "the batch's memory is null");
    }
    const std::uint64_t element = element_bytes(options_.type);
    if (reinterpret_cast<std::uintptr_t>(out.data) % element != 0) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("the batch's memory is at an odd address; accepted: multiples of {}",
                              element));
    }
    return {};
  }

  [[nodiscard]] Result<TensorImage> decode_one(std::size_t index, const TensorItem& item, void* out,
                                               Workspace& workspace) const try {
    auto made = make_image(item, out, workspace);
    if (workspace.file.capacity() > kMaxKeptFileBytes) workspace.file = {};
    if (!made) return fail_image(index, made.error());
    return made;
  } catch (const std::bad_alloc&) {
    return fail_image(index, Status(StatusCode::kBusy, "memory ran out"));
  }

  [[nodiscard]] Result<TensorImage> make_image(const TensorItem& item, void* out,
                                               Workspace& workspace) const {
    const base::Deadline deadline(options_.limits.deadline_ms);
    auto file = read_file(item.jpeg, options_.limits, deadline, workspace);
    if (!file) return fail(file.error());
    const auto geometry = plan_image(*file, item.crop, options_);
    if (!geometry) return fail(geometry.error());
    codec::Context context;
    context.deadline = deadline;
    context.max_scans = options_.limits.max_scans;
    codec::Outcome outcome;
    auto made = make_picture(*file, *geometry, options_, context, workspace, outcome);
    if (!made) return fail(made.error());
    PictureView picture;
    picture.channel_count = geometry->channels;
    picture.pitch = workspace.pitch;
    picture.width_px = geometry->width_px;
    picture.height_px = geometry->height_px;
    picture.orientation = geometry->orientation;
    for (std::size_t c = 0; c < static_cast<std::size_t>(geometry->channels); ++c) {
      picture.channels[c] = workspace.picture.data() + workspace.offset(*geometry, c, 0);
    }
    writer_.write(picture, item.flip, out);
    TensorImage image;
    image.width_px = geometry->shown.width_px;
    image.height_px = geometry->shown.height_px;
    image.crop = geometry->crop;
    image.orientation = file->orientation;
    image.warnings = std::move(file->warnings);
    image.warnings.insert(image.warnings.end(), std::make_move_iterator(outcome.warnings.begin()),
                          std::make_move_iterator(outcome.warnings.end()));
    return image;
  }

  TensorOptions options_;
  TensorWriter writer_;
  std::uint64_t image_bytes_ = 0;
  std::vector<Workspace> workspaces_;  ///< one a thread
  std::vector<Result<TensorImage>> images_;
  Result<TensorImage> no_image_ =
      fail(StatusCode::kInvalidInput, "the last batch has no image of that index");
  WorkerPool workers_;  ///< last: ends its threads before the rest goes
};

TensorDecoder::TensorDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorDecoder::~TensorDecoder() = default;
TensorDecoder::TensorDecoder(TensorDecoder&&) noexcept = default;
TensorDecoder& TensorDecoder::operator=(TensorDecoder&&) noexcept = default;

Result<TensorDecoder> TensorDecoder::make(const TensorOptions& options) try {
  if (auto good = check_options(options); !good) return fail(good.error());
  TensorOptions effective = options;
  if (effective.threads == 0) effective.threads = std::max(1u, std::thread::hardware_concurrency());
  return TensorDecoder(std::make_unique<Impl>(effective));
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

const TensorOptions& TensorDecoder::options() const noexcept { return impl_->options(); }
std::uint64_t TensorDecoder::image_bytes() const noexcept { return impl_->image_bytes(); }
int TensorDecoder::channels() const noexcept { return channel_count(impl_->options().color); }

Result<void> TensorDecoder::decode(std::span<const TensorItem> items,
                                   const HostTensorView& out) try {
  return impl_->decode(items, out);
} catch (const std::bad_alloc&) {
  impl_->forget();
  return fail(StatusCode::kBusy, "memory ran out");
}

const Result<TensorImage>& TensorDecoder::image(std::size_t index) const {
  return impl_->image(index);
}

Result<PictureSize> read_picture_size(std::span<const std::uint8_t> jpeg, bool exif,
                                      const Limits& limits) try {
  const auto file = jpeg::parse(jpeg, limits, jpeg::ParseDepth::kThroughFirst);
  if (!file) return fail(file.error());
  if (auto good = jpeg::check_supported(*file); !good) return fail(good.error());
  return shown_size(*file, exif);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace framewire
