// Files for which no descriptor or memory is left: busy, as everywhere, since that passes.
#include <gtest/gtest.h>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include <cerrno>
#include <tests/support/no_descriptors.hpp>

namespace framewire::batch {
namespace {

TEST(BatchShortage, OfDescriptorsIsBusy) {
  const framewire::test::NoDescriptors none;
  const auto input = InputFile::open("/dev/null");
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code(), StatusCode::kBusy) << input.error().to_string();
  const auto written = write_atomically("/tmp/framewire-shortage-test", {}, WriteOptions{});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().status.code(), StatusCode::kBusy) << written.error().status.to_string();
}

TEST(BatchShortage, MeetsEveryOutput) {
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    const WriteError made = write_error("out.jpg", "create", error);
    EXPECT_EQ(made.status.code(), StatusCode::kBusy) << error;
    EXPECT_TRUE(made.environment) << error;
  }
  for (const int error : {ENOSPC, EDQUOT, EROFS, EIO}) {
    const WriteError made = write_error("out.jpg", "create", error);
    EXPECT_EQ(made.status.code(), StatusCode::kIoError) << error;
    EXPECT_TRUE(made.environment) << error;
  }
  const WriteError missing = write_error("out.jpg", "create", ENOENT);
  EXPECT_EQ(missing.status.code(), StatusCode::kIoError);
  EXPECT_FALSE(missing.environment);
}

}  // namespace
}  // namespace framewire::batch
