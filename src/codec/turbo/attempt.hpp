// Tries our own entropy decoder first, and libjpeg's where the data proves to be damaged.
#pragma once

#include <codec/turbo/entropy_decoder.hpp>
#include <type_traits>

namespace framewire::codec::turbo {

/// One attempt at a file.
struct Attempt {
  EntropyDecoder entropy;
  bool damaged = false;  ///< our own decoder has met damage, in this attempt or in an earlier one
};

/// Runs `call` with the entropy decoder of choice and, where that meets damage, again from the
/// start with libjpeg's.
template <typename Call>
std::invoke_result_t<Call, Attempt&> attempt(EntropyDecoder entropy, const Call& call) {
  Attempt first{entropy};
  auto result = call(first);
  if (!first.damaged) return result;
  Attempt second{EntropyDecoder::kLibjpeg, true};
  return call(second);
}

}  // namespace framewire::codec::turbo
