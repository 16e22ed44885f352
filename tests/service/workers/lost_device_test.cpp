// Workers whose GPU fails. There is none here: the test's worker answers as an engine does then.
#include <tests/service/support/temporary_folder.hpp>
#include <tests/service/workers/pool_fixture.hpp>

namespace framewire::service::workers::test {
namespace {

class WorkerDeviceTest : public WorkerPoolTest {
 protected:
  void start(unsigned workers) {
    WorkerPoolOptions options = pool_options(workers);
    options.sandbox = false;  // the file is removed by the worker
    WorkerPoolTest::start(std::move(options));
    ASSERT_TRUE(soon([&] { return pool_->workers()->alive == workers; }));
  }
  /// Loses a GPU the first time.
  Bytes once(const std::string& name) {
    return faulty("device:" + folder_.write(name, "").string());
  }

  service::test::TemporaryFolder folder_;
};

TEST_F(WorkerDeviceTest, AWorkerThatLostAGpuIsReplacedAndItsRequestAnswered) {
  for (const unsigned workers : {1u, 2u}) {
    start(workers);
    const Bytes jpeg = once("a");
    const auto answer = resize(jpeg);
    ASSERT_TRUE(answer) << answer.error().to_string();
    EXPECT_EQ(answer->bytes, expected(jpeg));
    EXPECT_TRUE(told("worker killed: it has lost a GPU"));
    WorkerFigures figures;
    EXPECT_TRUE(soon([&] {
      figures = *pool_->workers();
      return figures.crashed == 1 && figures.alive == workers;
    }));
    EXPECT_EQ(figures.lost_devices, 1u);
    EXPECT_EQ(figures.killed, 0u);
    EXPECT_EQ(figures.quarantined, 0u);
    EXPECT_GT(figures.resident_bytes, workers * 1'000'000u);
  }
}

TEST_F(WorkerDeviceTest, WhatLiesBesideIsAnswered) {
  start(2);
  std::vector<Bytes> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(i % 20 == 7 ? once("lost" + std::to_string(i)) : make_jpeg(100 + i, 90));
  }
  for (std::size_t i = 0; i < all.size(); ++i) submit(all[i], i);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto answer = take();
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->result) << answer->tag << answer->result.error().to_string();
    EXPECT_EQ(answer->result->bytes, expected(all[answer->tag])) << answer->tag;
  }
  EXPECT_GE(pool_->workers()->lost_devices, 1u);
}

// A file that fails each GPU it comes to is found out like one that ends processes.
TEST_F(WorkerDeviceTest, AFileThatLosesEveryGpuIsRefused) {
  start(2);
  const Bytes bad = faulty("device");
  const auto refused = resize(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(pool_->workers()->lost_devices, 2u);
  EXPECT_EQ(pool_->workers()->quarantined, 1u);
  EXPECT_TRUE(resize(make_jpeg(64, 48)));
}

}  // namespace
}  // namespace framewire::service::workers::test
