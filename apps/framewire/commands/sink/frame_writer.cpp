#include <fmt/format.h>
#include <sys/stat.h>
#include <batch/file_place.hpp>
#include <commands/sink/frame_writer.hpp>
#include <files/y4m.hpp>
#include <filesystem>
#include <transport/device_copy.hpp>
#include <utility>
#include <vector>

namespace framewire::app {

using frames::FrameFormat;
using frames::ReceivedFrame;

namespace {

// Rows without the padding between them.
Result<std::vector<std::uint8_t>> y4m_of(const frames::PictureHeader& header,
                                         const std::uint8_t* samples) {
  std::vector<std::vector<std::uint8_t>> packed(static_cast<std::size_t>(header.plane_count));
  std::vector<Y4mPlane> planes;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const frames::PlaneShape& shape = header.planes[i];
    if (shape.pitch_bytes == static_cast<std::uint32_t>(shape.width_px)) {
      planes.push_back({samples, shape.width_px, shape.height_px});
    } else {
      for (std::int32_t y = 0; y < shape.height_px; ++y) {
        const std::uint8_t* row = samples + static_cast<std::size_t>(y) * shape.pitch_bytes;
        packed[i].insert(packed[i].end(), row, row + shape.width_px);
      }
      planes.push_back({packed[i].data(), shape.width_px, shape.height_px});
    }
    samples += shape.bytes();
  }
  return make_y4m(planes);
}

}  // namespace

FrameWriter::FrameWriter(transport::Region memory, std::string stem, Write write)
    : memory_(std::move(memory)),
      stem_(std::move(stem)),
      write_(std::move(write)),
      thread_([this] { work(); }) {}

FrameWriter::~FrameWriter() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  added_.notify_one();
  thread_.join();
}

void FrameWriter::add(const ReceivedFrame& frame) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(frame);
  }
  ++pending_;
  added_.notify_one();
}

std::optional<FrameWriter::Written> FrameWriter::take(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const auto one = [this] { return !written_.empty(); };
  if (!one() && (most.count() == 0 || !done_.wait_for(lock, most, one))) return std::nullopt;
  Written written = std::move(written_.front());
  written_.pop_front();
  --pending_;
  return written;
}

void FrameWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const ReceivedFrame frame = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    auto result = keep(frame);
    lock.lock();
    written_.push_back({frame, std::move(result)});
    done_.notify_one();
  }
}

batch::WriteResult FrameWriter::keep(const ReceivedFrame& frame) const {
  std::vector<std::byte> fetched;
  const std::byte* payload = memory_.data() + frame.offset_bytes;
  if (memory_.devices() != nullptr) {
    fetched.resize(static_cast<std::size_t>(frame.header.payload_bytes));
    if (auto copied = transport::copy_out(memory_, frame.offset_bytes, fetched); !copied) {
      return tl::unexpected<batch::WriteError>({copied.error(), true});
    }
    payload = fetched.data();
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(payload);
  const auto path = [&](const char* kind) {
    return fmt::format("{}{:08}.{}", stem_, frame.header.sequence, kind);
  };
  if (frame.header.format == FrameFormat::kJpeg) {
    return write_(path("jpg"), {bytes, static_cast<std::size_t>(frame.header.payload_bytes)});
  }
  const auto y4m = y4m_of(frame.header, bytes);
  if (!y4m) return tl::unexpected<batch::WriteError>({y4m.error(), false});
  return write_(path("y4m"), *y4m);
}

batch::WriteResult FrameWriter::write_file(const std::string& path,
                                           std::span<const std::uint8_t> bytes) {
  auto place = batch::find_file_place(path);
  if (!place) {
    // Somebody may have taken the folder away.
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    place = batch::find_file_place(path);
  }
  if (!place) return tl::unexpected<batch::WriteError>({std::move(place.error()), false});
  const auto may_replace = [&](const struct stat* existing) -> Result<void> {
    if (existing == nullptr) return {};
    return fail(Status(StatusCode::kIoError,
                       "there is a file of this name, and it is not replaced; does another sink "
                       "write to this folder?")
                    .about(path));
  };
  return batch::write_at(*place, path, bytes, batch::WriteOptions{}, may_replace);
}

}  // namespace framewire::app
