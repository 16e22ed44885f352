#include <codec/cuda/status_text.hpp>

namespace framewire::codec::cuda {
namespace {

struct Line {
  std::uint32_t bit;
  const char* text;
};

constexpr Line kLines[] = {
    {kNeverSynchronised, "its entropy-coded data does not synchronise"},
    {kBadCode, "bits that are no Huffman code, or runs beyond a block"},
    {kFillBytes, "fill bytes (FF FF) inside the entropy-coded data"},
    {kTruncated, "fewer blocks than the frame has, or no marker behind them"},
    {kExtraneous, "bytes behind the last block, or restart markers out of order"},
    {kAfterScan, "something between the scan and the end of the image"},
    {kTooLarge, "an output beyond what was set aside for it"},
};

}  // namespace

std::string describe(std::uint32_t status) {
  if ((status & kFillBytes) != 0) status &= ~std::uint32_t{kTruncated};
  std::string text;
  for (const Line& line : kLines) {
    if ((status & line.bit) == 0) continue;
    if (!text.empty()) text += "; ";
    text += line.text;
    status &= ~line.bit;
  }
  if (status != 0) text += (text.empty() ? "" : "; ") + ("status " + std::to_string(status));
  return text;
}

}  // namespace framewire::codec::cuda
