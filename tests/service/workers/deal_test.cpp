#include <gtest/gtest.h>
#include <algorithm>
#include <service/workers/deal.hpp>

namespace framewire::service::workers {
namespace {

TEST(WorkerDeal, EveryDeviceIsUsedAndEveryWorkerHasOne) {
  for (std::size_t workers = 1; workers <= 9; ++workers) {
    for (std::size_t count = 1; count <= 9; ++count) {
      std::vector<int> devices;
      for (std::size_t i = 0; i < count; ++i) devices.push_back(static_cast<int>(10 + i));
      std::vector<int> all;
      for (std::size_t index = 0; index < workers; ++index) {
        const std::vector<int> dealt = dealt_devices(devices, workers, index);
        EXPECT_FALSE(dealt.empty()) << workers << ' ' << count;
        all.insert(all.end(), dealt.begin(), dealt.end());
      }
      std::size_t most = 0;
      for (const int device : devices) {
        const auto has = static_cast<std::size_t>(std::count(all.begin(), all.end(), device));
        EXPECT_GE(has, 1u) << workers << ' ' << count;
        most = std::max(most, has);
      }
      EXPECT_EQ(workers_of_a_device(workers, count), most) << workers << ' ' << count;
    }
  }
}

TEST(WorkerDeal, WithoutNamesEachWorkerHasAll) {
  EXPECT_TRUE(dealt_devices({}, 3, 1).empty());
  EXPECT_EQ(workers_of_a_device(3, 0), 3u);
}

}  // namespace
}  // namespace framewire::service::workers
