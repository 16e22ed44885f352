// The bound on an item's device memory; needs no device.
#include <array>
#include <codec/cuda/item_sizer.hpp>
#include <random>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::Item;

/// Every source with every sink.
std::vector<Item> variants(const OwnedItem& from_scans, const OwnedItem& with_coefficients) {
  std::vector<Item> all;
  Item pinned = from_scans.item;
  pinned.pinned = true;  // planned, never copied
  for (const Item& source : {from_scans.item, pinned, with_coefficients.item}) {
    for (const int sink : {0, 1, 2}) {
      Item item = source;
      item.encode = sink == 0;
      if (sink == 2) item.plan = nullptr;
      all.push_back(item);
    }
  }
  return all;
}

/// The same picture in scans that the device decodes one after the other.
sample::Spec as_progressive(sample::Spec spec) {
  spec.separate_scans = false;
  spec.progressive = true;
  return spec;
}

TEST(ItemSizer, BatchesNeverTakeMoreThanTheSumOfTheirItems) {
  std::vector<std::unique_ptr<OwnedItem>> owned;
  std::vector<Item> items;
  for (const sample::Spec& spec : specs()) {
    for (const int target : {16, 200}) {
      owned.push_back(std::make_unique<OwnedItem>(draw(spec), resize_to(target, target)));
      owned.push_back(std::make_unique<OwnedItem>(draw(spec), resize_to(target, target)));
      owned.back()->use_coefficients();
      const auto more = variants(**(owned.end() - 2), *owned.back());
      items.insert(items.end(), more.begin(), more.end());
      owned.push_back(
          std::make_unique<OwnedItem>(draw(as_progressive(spec)), resize_to(target, target)));
      items.push_back(owned.back()->item);
      items.push_back(owned.back()->item);
      items.back().pinned = true;
    }
  }
  codec::cuda::ItemSizer sizer;
  std::vector<std::array<codec::BatchMemory, 2>> sizes;  // among few, and behind them
  for (const Item& item : items) {
    ASSERT_TRUE(codec::cuda::check_item(item));
    sizes.push_back({sizer.need(item, 0), sizer.need(item, codec::cuda::Tuning().lone_images)});
  }
  std::mt19937 random(1);
  codec::cuda::BatchPlan plan;
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = round == 0 ? 1 : 1 + random() % (round % 2 == 0 ? 10 : 400);
    codec::BatchMemory bound;
    std::vector<Item> batch;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = random() % items.size();
      const codec::BatchMemory& need = sizes[which][i < codec::cuda::Tuning().lone_images ? 0 : 1];
      bound.device_bytes += need.device_bytes;
      bound.pinned_bytes += need.pinned_bytes;
      batch.push_back(items[which]);
    }
    // Alone, or while other streams have work for the device.
    const std::uint64_t others = (round % 4) * (std::uint64_t{40} << 20);
    plan.clear(codec::cuda::choose_layout({}, codec::cuda::entropy_bytes(batch) + others, count));
    for (const Item& item : batch) plan.add(item);
    plan.lay_out();
    EXPECT_LE(plan.arena().total_bytes(), bound.device_bytes) << count << " items";
    EXPECT_LE(plan.arena().bytes(gpu::Part::kUploaded) + plan.status().bytes() +
                  plan.records_bytes() + plan.encode().output_bytes(),
              bound.pinned_bytes)
        << count << " items";
  }
}

/// Of pictures large enough to matter the bound is no gross overstatement.
TEST(ItemSizer, TheBoundIsClose) {
  sample::Spec sequential;
  sequential.width_px = 1920;
  sequential.height_px = 1080;
  sequential.h = sequential.v = 2;
  for (const sample::Spec& spec : {sequential, as_progressive(sequential)}) {
    const OwnedItem owned(draw(spec), resize_to(480, 270));
    codec::cuda::ItemSizer sizer;
    codec::cuda::BatchPlan plan;
    plan.clear();
    for (int i = 0; i < 64; ++i) plan.add(owned.item);
    plan.lay_out();
    EXPECT_LT(sizer.need(owned.item, 2).device_bytes * 64, plan.arena().total_bytes() * 3 / 2);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
