#include <codec/cuda/item.hpp>
#include <engine/device_verdict.hpp>

namespace framewire::engine {

Result<void> check_for_cuda(const jpeg::JpegFile& file, const plan::Plan& plan,
                            const color::Converter* converter) {
  codec::cuda::Item item;
  item.file = &file;
  item.plan = &plan;
  item.converter = converter;
  return entropy_on_host(file.frame) ? codec::cuda::check_output(item)
                                     : codec::cuda::check_item(item);
}

}  // namespace framewire::engine
