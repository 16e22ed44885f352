#include <fmt/format.h>
#include <codec/nvjpeg/decoder.hpp>
#include <codec/nvjpeg/error.hpp>
#include <gpu/error.hpp>

namespace framewire::codec::nvjpeg {
namespace {

/// Sample value that undecoded parts have.
constexpr int kMidGrey = 128;
constexpr std::uint32_t kPitchStep = 64;  // in bytes: rows begin at multiples of it

nvjpegBackend_t library_backend(Backend backend) {
  switch (backend) {
    case Backend::kHardware:
      return NVJPEG_BACKEND_HARDWARE;
    case Backend::kCuda:
      return NVJPEG_BACKEND_GPU_HYBRID;
    case Backend::kHybrid:
      return NVJPEG_BACKEND_HYBRID;
  }
  return NVJPEG_BACKEND_DEFAULT;
}

/// Turns a failure that the device has survived into the image's own.
Result<void> as_image_status(Result<void> status) {
  if (status || status.error().code() == StatusCode::kInvalidInput) return status;
  return fail(StatusCode::kUnsupported, status.error().message());
}

}  // namespace

std::string_view to_string(Backend backend) noexcept {
  switch (backend) {
    case Backend::kHardware:
      return "hardware";
    case Backend::kCuda:
      return "cuda";
    case Backend::kHybrid:
      return "hybrid";
  }
  return "";
}

Result<NvjpegDecoder> NvjpegDecoder::make(Backend backend) {
  NvjpegDecoder decoder;
  decoder.backend_ = backend;
  const std::string doing = fmt::format("making nvJPEG's {} decoder", to_string(backend));
  nvjpegHandle_t handle = nullptr;
  if (auto ok = nvjpeg::check(
          nvjpegCreateEx(library_backend(backend), nullptr, nullptr, NVJPEG_FLAGS_DEFAULT, &handle),
          doing.c_str());
      !ok) {
    return fail(ok.error());
  }
  decoder.handle_.reset(handle);
  nvjpegJpegState_t state = nullptr;
  if (auto ok = nvjpeg::check(nvjpegJpegStateCreate(handle, &state), doing.c_str()); !ok) {
    return fail(ok.error());
  }
  decoder.state_.reset(state);
  nvjpegJpegStream_t parsed = nullptr;
  if (auto ok = nvjpeg::check(nvjpegJpegStreamCreate(handle, &parsed), doing.c_str()); !ok) {
    return fail(ok.error());
  }
  decoder.parsed_.reset(parsed);
  unsigned cores = 0;
  if (backend == Backend::kHardware &&
      nvjpegGetHardwareDecoderInfo(handle, &decoder.engines_, &cores) != NVJPEG_STATUS_SUCCESS) {
    decoder.engines_ = 0;
  }
  return decoder;
}

void NvjpegDecoder::lay_out(std::span<const jpeg::JpegFile* const> files) {
  arena_.clear();
  planes_.assign(files.size(), {});
  slices_.assign(files.size(), {});
  data_.clear();
  lengths_.clear();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const jpeg::FrameHeader& frame = files[i]->frame;
    for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
      const jpeg::Component& component = frame.components[c];
      const auto padded = static_cast<std::uint32_t>(component.padded_width_blocks) * 8;
      const std::uint32_t pitch = (padded + kPitchStep - 1) / kPitchStep * kPitchStep;
      planes_[i][c] = {nullptr, component.width_px, component.height_px,
                       static_cast<std::int32_t>(pitch)};
      slices_[i][c] = arena_.add<std::uint8_t>(
          gpu::Part::kScratch,
          std::uint64_t{pitch} * static_cast<unsigned>(component.padded_height_blocks) * 8);
    }
    data_.push_back(files[i]->bytes.data());
    lengths_.push_back(files[i]->end_offset);
  }
}

Result<void> NvjpegDecoder::prepare_memory(cudaStream_t stream) {
  const std::uint64_t bytes = arena_.total_bytes();
  if (bytes > memory_.bytes()) {
    // A quarter more, so that batches of similar size do not grow the buffer again.
    auto ok = memory_.reserve(gpu::BufferKind::kDevice, bytes + bytes / 4);
    if (!ok) return ok;
  }
  const gpu::Memory memory(memory_.data(), arena_);
  images_.assign(planes_.size(), {});
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    for (std::size_t c = 0; c < jpeg::kMaxComponents && planes_[i][c].pitch_bytes != 0; ++c) {
      planes_[i][c].samples = memory.at(slices_[i][c]);
      images_[i].channel[c] = planes_[i][c].samples;
      images_[i].pitch[c] = planes_[i][c].pitch_bytes;
    }
  }
  // Otherwise an image that nvJPEG gives up half-way would show what lay in the memory before.
  if (auto ok =
          gpu::check(cudaMemsetAsync(memory_.data(), kMidGrey, bytes, stream), "clearing planes");
      !ok || backend_ != Backend::kHardware) {
    return ok;
  }
  // The JPEG engines write as soon as nvJPEG is called, not when the stream gets there (seen on
  // H100; pytorch/vision issue 9606), so the stream must be empty.
  return gpu::check(cudaStreamSynchronize(stream), "waiting before the JPEG engines");
}

nvjpegStatus_t NvjpegDecoder::decode_once(std::size_t first, std::size_t count,
                                          cudaStream_t stream) {
  if (initialised_for_ != count) {
    const nvjpegStatus_t ready = nvjpegDecodeBatchedInitialize(
        handle_.get(), state_.get(), static_cast<int>(count), 1, NVJPEG_OUTPUT_UNCHANGED);
    if (ready != NVJPEG_STATUS_SUCCESS) return ready;
    initialised_for_ = count;
  }
  const nvjpegStatus_t done =
      nvjpegDecodeBatched(handle_.get(), state_.get(), data_.data() + first,
                          lengths_.data() + first, images_.data() + first, stream);
  if (done != NVJPEG_STATUS_SUCCESS) initialised_for_ = 0;  // a failed state must be made anew
  return done;
}

Result<void> NvjpegDecoder::decode_range(std::size_t first, std::size_t count,
                                         cudaStream_t stream) {
  auto done = nvjpeg::check(decode_once(first, count, stream), "decoding");
  if (done) return {};
  (void)cudaGetLastError();  // clears errors of nvJPEG's own calls; a lasting one shows below
  if (auto alive = gpu::check(cudaStreamSynchronize(stream), "decoding through nvJPEG"); !alive) {
    return alive;
  }
  if (done.error().code() == StatusCode::kBusy) return done;
  if (count == 1) {
    statuses_[first] = as_image_status(std::move(done));
    return {};
  }
  const std::size_t half = count / 2;
  if (auto ok = decode_range(first, half, stream); !ok) return ok;
  return decode_range(first + half, count - half, stream);
}

Result<void> NvjpegDecoder::enqueue(std::span<const jpeg::JpegFile* const> files,
                                    cudaStream_t stream) {
  if (files.empty()) return fail(StatusCode::kInternal, "a batch without images was enqueued");
  lay_out(files);
  statuses_.assign(files.size(), {});
  if (auto ok = prepare_memory(stream); !ok) return ok;
  return decode_range(0, files.size(), stream);
}

DevicePlane NvjpegDecoder::plane(std::size_t image, std::size_t component) const {
  return planes_[image][component];
}

}  // namespace framewire::codec::nvjpeg
