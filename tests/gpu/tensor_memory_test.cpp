// What images of a training batch are expected to take of a device; needs none.
#include <gtest/gtest.h>
#include <codec/cuda/item_sizer.hpp>
#include <tensor/cuda/lane.hpp>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/items.hpp>
#include <tests/support/tensors.hpp>

namespace framewire::gpu_tests {
namespace {

/// With a restart marker behind each MCU the decoder keeps five times what it decodes to.
TEST(TensorMemory, IsExpectedAlsoOfManySegments) {
  for (const char* layout : {"gray", "420", "444"}) {
    for (const char* coding : {"baseline", "separate_scans"}) {
      for (const int restart : {0, 1, 2, 9}) {
        const conformance::Case c{
            conformance::layout(layout), conformance::coding(coding), 640, 480, 75, restart, 1};
        SCOPED_TRACE(c.name());
        const OwnedItem owned(conformance::make_jpeg(c), 8);
        const std::uint64_t need = codec::cuda::ItemSizer().need(owned.item, 100).device_bytes;
        const auto geometry =
            tensor::plan_image(*owned.item.file, CropBox{0, 0, 1, 1}, test::tensor_options(1, 1));
        const std::uint64_t expected =
            tensor::cuda::TensorLane::estimate_device_bytes(*owned.item.file, geometry.value());
        EXPECT_LT(need, expected * 8 / 5);
        EXPECT_LT(expected, need * 8 / 5);
      }
    }
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
