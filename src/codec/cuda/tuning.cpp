#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>
#include <charconv>
#include <codec/cuda/tuning.hpp>
#include <string>
#include <vector>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kMaxValue = 1u << 30;

struct TuningKey {
  std::string_view name;
  std::uint32_t Tuning::*value;
  std::uint32_t min;
  std::uint32_t max;
  std::uint32_t step = 1;
};
constexpr std::uint32_t kSubsequence = kMinSubsequenceBytes;
constexpr std::array kKeys = {
    TuningKey{"medium_batch_bytes", &Tuning::medium_batch_bytes, 0, kMaxValue},
    TuningKey{"small_batch_bytes", &Tuning::small_batch_bytes, 0, kMaxValue},
    TuningKey{"tiny_batch_bytes", &Tuning::tiny_batch_bytes, 0, kMaxValue},
    TuningKey{"lone_batch_bytes", &Tuning::lone_batch_bytes, 0, kMaxValue},
    TuningKey{"lone_images", &Tuning::lone_images, 0, kMaxValue},
    TuningKey{"medium_subsequence_bytes", &Tuning::medium_subsequence_bytes, kSubsequence,
              kMaxSubsequenceBytes, kSubsequence},
    TuningKey{"small_subsequence_bytes", &Tuning::small_subsequence_bytes, kSubsequence,
              kMaxSubsequenceBytes, kSubsequence},
    TuningKey{"tiny_subsequence_bytes", &Tuning::tiny_subsequence_bytes, kSubsequence,
              kMaxSubsequenceBytes, kSubsequence},
    TuningKey{"lone_subsequence_bytes", &Tuning::lone_subsequence_bytes, kSubsequence,
              kMaxSubsequenceBytes, kSubsequence},
    TuningKey{"warm_bits", &Tuning::warm_bits, 0, 1 << 20},
    TuningKey{"medium_warm_bits", &Tuning::medium_warm_bits, 0, 1 << 20},
    TuningKey{"small_warm_bits", &Tuning::small_warm_bits, 0, 1 << 20},
    TuningKey{"tiny_warm_bits", &Tuning::tiny_warm_bits, 0, 1 << 20},
    TuningKey{"lone_warm_bits", &Tuning::lone_warm_bits, 0, 1 << 20},
    TuningKey{"sync_rounds", &Tuning::sync_rounds, 0, 1000},
    TuningKey{"chain_rounds", &Tuning::chain_rounds, 1, 1000},
    TuningKey{"chain_length", &Tuning::chain_length, 0, 1000},
    TuningKey{"many_scans", &Tuning::many_scans, 0, kMaxValue},
    TuningKey{"progressive_images", &Tuning::progressive_images, 0, kMaxValue},
    TuningKey{"progressive_batch", &Tuning::progressive_batch, 0, kMaxValue},
    TuningKey{"progressive_batch_bytes", &Tuning::progressive_batch_bytes, 1, kMaxValue},
    TuningKey{"chain_lanes", &Tuning::chain_lanes, 1, 32},
    TuningKey{"graph_credit_us", &Tuning::graph_credit_us, 0, kMaxValue},
};

}  // namespace

Result<void> tune(Tuning& tuning, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  for (const TuningKey& key : kKeys) {
    if (key.name != name || equals == std::string_view::npos) continue;
    const std::string_view text = assignment.substr(equals + 1);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < key.min ||
        value > key.max || value % key.step != 0) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("{} is {}; a multiple of {} from {} to {} would do", name, text,
                              key.step, key.min, key.max));
    }
    tuning.*key.value = value;
    return {};
  }
  std::vector<std::string_view> names;
  for (const TuningKey& key : kKeys) names.push_back(key.name);
  return fail(StatusCode::kInvalidInput, fmt::format("{} sets nothing; key=value with one of {}",
                                                     assignment, fmt::join(names, ", ")));
}

}  // namespace framewire::codec::cuda
