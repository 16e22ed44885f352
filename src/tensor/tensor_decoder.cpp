#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <base/cores.hpp>
#include <base/null_stream.hpp>
#include <cstring>
#include <framewire/tensor.hpp>
#include <jpeg/parser.hpp>
#include <new>
#include <tensor/device_batches.hpp>
#include <tensor/image_maker.hpp>
#include <tensor/tensor_options.hpp>
#include <tensor/thread_pool.hpp>
#include <utility>

namespace framewire {
namespace {

using namespace tensor;

}  // namespace

class TensorBatch::Impl {
 public:
  /// @param batch  null: no images
  Impl(std::unique_ptr<DeviceBatch> batch, std::uint8_t* ok) : batch_(std::move(batch)), ok_(ok) {}

  [[nodiscard]] Result<void> wait() {
    if (std::exchange(waited_, true)) return done_;
    std::swap(no_image_, beyond_);
    if (const auto batch = std::exchange(batch_, nullptr)) done_ = await(*batch);
    return done_;
  }
  [[nodiscard]] const Result<TensorImage>& image(std::size_t index) const {
    return index < images_.size() ? images_[index] : no_image_;
  }
  [[nodiscard]] std::vector<Result<TensorImage>> take_images() { return std::move(images_); }

 private:
  [[nodiscard]] Result<void> await(DeviceBatch& batch) try {
    if (auto done = batch.wait(); !done) return done;
    images_ = std::move(batch.images());
    for (std::size_t i = 0; ok_ != nullptr && i < images_.size(); ++i) ok_[i] = images_[i] ? 1 : 0;
    return {};
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }

  std::unique_ptr<DeviceBatch> batch_;  ///< null: over
  std::uint8_t* ok_;
  bool waited_ = false;
  Result<void> done_;
  std::vector<Result<TensorImage>> images_;
  Result<TensorImage> no_image_ =
      fail(StatusCode::kInvalidInput,
           "images are known when the batch is there; accepted: wait() first");
  Result<TensorImage> beyond_ =
      fail(StatusCode::kInvalidInput, "the batch has no image of that index");
};

TensorBatch::TensorBatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorBatch::~TensorBatch() = default;
TensorBatch::TensorBatch(TensorBatch&&) noexcept = default;
TensorBatch& TensorBatch::operator=(TensorBatch&&) noexcept = default;
Result<void> TensorBatch::wait() { return impl_->wait(); }
const Result<TensorImage>& TensorBatch::image(std::size_t index) const {
  return impl_->image(index);
}

class TensorDecoder::Impl {
 public:
  explicit Impl(const TensorOptions& options)
      : options_(options),
        maker_(std::make_shared<const ImageMaker>(options)),
        workers_(options.threads) {
    image_bytes_ = element_bytes(options.type) *
                   static_cast<std::uint64_t>(channel_count(options.color)) *
                   static_cast<std::uint64_t>(options.width_px) *
                   static_cast<std::uint64_t>(options.height_px);
    workspaces_.resize(options.threads);
  }

  [[nodiscard]] Result<void> decode(std::span<const TensorItem> items, const HostTensorView& out) {
    images_.clear();
    if (device_ != nullptr) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("this decoder's batches are made on device {}; accepted: "
                              "decode_to_device()",
                              options_.device));
    }
    if (auto good = check(items.size(), out.data, out.bytes); !good) return good;
    images_.assign(items.size(), fail(StatusCode::kInternal, "the image was not reached"));
    auto done = workers_.run(items.size(), [&](std::size_t thread, std::size_t i) {
      auto* to = static_cast<std::uint8_t*>(out.data) + i * image_bytes_;
      images_[i] = maker_->make(items[i], to, workspaces_[thread]);
      if (!images_[i]) std::memset(to, 0, image_bytes_);
      if (out.ok != nullptr) out.ok[i] = images_[i] ? 1 : 0;
    });
    if (!done) images_.clear();
    return done;
  }

  [[nodiscard]] Result<void> decode_to_device(std::span<const TensorItem> items,
                                              const DeviceTensorView& out) {
    auto batch = begin_to_device(items, out);
    if (!batch) return fail(batch.error());
    if (auto done = (*batch)->wait(); !done) return done;
    images_ = (*batch)->take_images();
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<TensorBatch::Impl>> begin_to_device(
      std::span<const TensorItem> items, const DeviceTensorView& out) {
    images_.clear();
    if (device_ == nullptr) {
      return fail(StatusCode::kInvalidInput,
                  "this decoder's batches are made on the CPU; accepted: decode()");
    }
    if (out.stream.is_null()) return base::null_stream();
    if (auto good = check(items.size(), out.data, out.bytes); !good) return fail(good.error());
    if (items.empty()) return std::make_unique<TensorBatch::Impl>(nullptr, nullptr);
    if (auto good = device_->check_memory(out.data); !good) return fail(good.error());
    auto batch = device_->begin(items, out);
    if (!batch) return fail(batch.error());
    return std::make_unique<TensorBatch::Impl>(std::move(*batch), out.ok);
  }

  /// For options with a device. @return as TensorDecoder::make()
  [[nodiscard]] Result<void> use_device() {
    auto made = make_device_batches(options_, maker_);
    if (!made) return fail(made.error());
    device_ = std::move(*made);
    return {};
  }

  [[nodiscard]] const Result<TensorImage>& image(std::size_t index) const {
    return index < images_.size() ? images_[index] : no_image_;
  }
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t image_bytes() const noexcept { return image_bytes_; }

  /// Makes a batch by `call`. Where memory runs out no image of it is known.
  template <typename Call>
  [[nodiscard]] auto guard(Call call) -> decltype(call()) try {
    return call();
  } catch (const std::bad_alloc&) {
    images_.clear();
    return fail(StatusCode::kBusy, "memory ran out");
  }

 private:
  [[nodiscard]] Result<void> check(std::size_t count, const void* data, std::uint64_t bytes) const {
    if (count == 0) return {};
    const auto wanted = base::checked_mul<std::uint64_t>(count, image_bytes_);
    if (!wanted || bytes < *wanted) {
      return fail(StatusCode::kTooLarge,
                  fmt::format("{} images of {} bytes do not fit into {}; accepted: {} bytes", count,
                              image_bytes_, bytes, wanted ? fmt::to_string(*wanted) : "fewer"));
    }
    if (data == nullptr) {
      return fail(StatusCode::kInvalidInput, "the batch's memory is null");
    }
    const std::uint64_t element = element_bytes(options_.type);
    if (reinterpret_cast<std::uintptr_t>(data) % element != 0) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("the batch's memory is not aligned to its elements; accepted: an "
                              "address that is a multiple of {}",
                              element));
    }
    return {};
  }

  TensorOptions options_;
  std::shared_ptr<const ImageMaker> maker_;
  std::uint64_t image_bytes_ = 0;
  std::vector<Workspace> workspaces_;  ///< one a thread
  std::vector<Result<TensorImage>> images_;
  Result<TensorImage> no_image_ =
      fail(StatusCode::kInvalidInput, "the last batch has no image of that index");
  std::shared_ptr<DeviceBatches> device_;  ///< null: the CPU
  ThreadPool workers_;                     ///< last: ends its threads before the rest goes
};

TensorDecoder::TensorDecoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorDecoder::~TensorDecoder() = default;
TensorDecoder::TensorDecoder(TensorDecoder&&) noexcept = default;
TensorDecoder& TensorDecoder::operator=(TensorDecoder&&) noexcept = default;

Result<TensorDecoder> TensorDecoder::make(const TensorOptions& options) try {
  if (auto good = check_options(options); !good) return fail(good.error());
  TensorOptions effective = options;
  if (effective.threads == 0) effective.threads = base::usable_cores();
  auto impl = std::make_unique<Impl>(effective);
  if (options.device >= 0) {
    if (auto ready = impl->use_device(); !ready) return fail(ready.error());
  }
  return TensorDecoder(std::move(impl));
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

const TensorOptions& TensorDecoder::options() const noexcept { return impl_->options(); }
std::uint64_t TensorDecoder::image_bytes() const noexcept { return impl_->image_bytes(); }
int TensorDecoder::channels() const noexcept { return channel_count(impl_->options().color); }

Result<void> TensorDecoder::decode(std::span<const TensorItem> items, const HostTensorView& out) {
  return impl_->guard([&] { return impl_->decode(items, out); });
}

Result<void> TensorDecoder::decode_to_device(std::span<const TensorItem> items,
                                             const DeviceTensorView& out) {
  return impl_->guard([&] { return impl_->decode_to_device(items, out); });
}

Result<TensorBatch> TensorDecoder::begin_to_device(std::span<const TensorItem> items,
                                                   const DeviceTensorView& out) {
  auto batch = impl_->guard([&] { return impl_->begin_to_device(items, out); });
  if (!batch) return fail(batch.error());
  return TensorBatch(std::move(*batch));
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
