// Frames become files on another thread, from memory that stays theirs meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>
#include <commands/sink/frame_writer.hpp>
#include <commands/sink/kept_frames.hpp>
#include <cstring>
#include <filesystem>
#include <latch>
#include <map>
#include <string>

namespace framewire::app {
namespace {

using frames::FrameFormat;
using frames::ReceivedFrame;
using std::chrono::milliseconds;
using Bytes = std::vector<std::uint8_t>;

constexpr milliseconds kLong{20'000};

class FrameWriterTest : public ::testing::Test {
 protected:
  // A slot of 1000 bytes for each frame, filled with its number.
  ReceivedFrame frame(std::uint64_t sequence, std::uint64_t bytes) const {
    ReceivedFrame frame;
    frame.header.sequence = sequence;
    frame.header.payload_bytes = bytes;
    frame.offset_bytes = sequence * 1000;
    std::memset(memory_.data() + frame.offset_bytes, static_cast<int>(sequence), bytes);
    return frame;
  }
  FrameWriter::Write into_files() {
    return [this](const std::string& path, std::span<const std::uint8_t> bytes) {
      files_[path] = Bytes(bytes.begin(), bytes.end());
      return batch::WriteResult();
    };
  }

  transport::Region memory_ = transport::Region::allocate_host(8000).value();
  std::map<std::string, Bytes> files_;  ///< of the writer's thread, until its frames come back
};

TEST_F(FrameWriterTest, FramesBecomeFilesInOrder) {
  FrameWriter writer(memory_, "out/0001-", into_files());
  for (std::uint64_t i = 1; i <= 5; ++i) writer.add(frame(i, 10 * i));
  EXPECT_EQ(writer.pending(), 5U);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const auto written = writer.take(kLong);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->frame.header.sequence, i);
    EXPECT_TRUE(written->result);
  }
  EXPECT_EQ(writer.pending(), 0U);
  EXPECT_EQ(files_.size(), 5U);
  EXPECT_EQ(files_["out/0001-00000003.jpg"], Bytes(30, 3));
}

TEST_F(FrameWriterTest, AFrameComesBackWhenItIsAFileAndNotBefore) {
  std::latch go(1);
  FrameWriter writer(memory_, "", [&](const std::string&, std::span<const std::uint8_t>) {
    go.wait();
    return batch::WriteResult();
  });
  writer.add(frame(1, 10));
  EXPECT_FALSE(writer.take(milliseconds(1)));
  EXPECT_EQ(writer.pending(), 1U);
  go.count_down();
  EXPECT_TRUE(writer.take(kLong));
}

TEST_F(FrameWriterTest, WhatCannotBeWrittenComesBackWithItsReason) {
  FrameWriter writer(memory_, "", [](const std::string& path, std::span<const std::uint8_t>) {
    batch::WriteResult result;
    if (path == "00000001.jpg") {
      result = tl::unexpected<batch::WriteError>(
          {Status(StatusCode::kIoError, "No space left on device"), true});
    }
    return result;
  });
  writer.add(frame(1, 10));
  writer.add(frame(2, 10));
  const auto first = writer.take(kLong);
  ASSERT_TRUE(first && !first->result);
  EXPECT_TRUE(first->result.error().environment);
  EXPECT_EQ(first->result.error().status.message(), "No space left on device");
  const auto second = writer.take(kLong);
  EXPECT_TRUE(second && second->result);
}

TEST_F(FrameWriterTest, PlanesLoseTheirPadding) {
  FrameWriter writer(memory_, "", into_files());
  ReceivedFrame gray = frame(1, 32);
  gray.header.format = FrameFormat::kPlanes;
  gray.header.width_px = 6;
  gray.header.height_px = 4;
  gray.header.plane_count = 1;
  gray.header.planes[0] = {6, 4, 8};
  for (std::size_t i = 0; i < 32; ++i) memory_.data()[1000 + i] = std::byte(i % 8 < 6 ? 5 : 9);
  writer.add(gray);
  const auto written = writer.take(kLong);
  ASSERT_TRUE(written && written->result);
  const Bytes& y4m = files_["00000001.y4m"];
  ASSERT_GT(y4m.size(), 24U);
  EXPECT_EQ(Bytes(y4m.end() - 24, y4m.end()), Bytes(24, 5));
}

TEST_F(FrameWriterTest, AFileThatIsThereIsNotReplaced) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("frames-" + std::to_string(::getpid()));
  const Bytes bytes(10, 7);
  const std::string path = folder / "0003-00000001.jpg";
  EXPECT_TRUE(FrameWriter::write_file(path, bytes)) << "its folder is made";
  const auto again = FrameWriter::write_file(path, Bytes(20, 8));
  ASSERT_FALSE(again);
  EXPECT_FALSE(again.error().environment) << "the next frame has another name";
  EXPECT_EQ(again.error().status.subject(), path);
  EXPECT_EQ(std::filesystem::file_size(path), bytes.size());
  // Frames of planes count, and what a sink cannot have written does not.
  for (const char* name : {"0012-00000001.y4m", "0013-00000001.png", "0014.jpg", "-1-00000001.jpg",
                           "99999999999999999999-00000001.jpg", "0015-x.jpg", "0016--1.jpg"}) {
    EXPECT_TRUE(FrameWriter::write_file(folder / name, bytes));
  }
  const auto last = last_connection_in(folder);
  ASSERT_TRUE(last);
  EXPECT_EQ(*last, 12U);
  std::filesystem::remove_all(folder);
}

TEST_F(FrameWriterTest, EndsAfterWhatHasBeenAdded) {
  {
    FrameWriter writer(memory_, "", into_files());
    for (std::uint64_t i = 1; i <= 5; ++i) writer.add(frame(i, 10));
  }
  EXPECT_EQ(files_.size(), 5U);
}

}  // namespace
}  // namespace framewire::app
