// Tries our own entropy decoder first, and libjpeg's where the data proves to be damaged.
#pragma once

#include <codec/turbo/entropy_decoder.hpp>
#include <type_traits>

namespace framewire::codec::turbo {

/// One attempt at a file: with which entropy decoder, and whether another is needed.
struct Attempt {
  EntropyDecoder entropy;
  bool gave_up = false;
};

/// Runs `call` with the entropy decoder of choice and, where that gives up, again from the start
/// with libjpeg's.
template <typename Call>
std::invoke_result_t<Call, Attempt&> attempt(EntropyDecoder entropy, const Call& call) {
  Attempt first{entropy};
  auto result = call(first);
  if (!first.gave_up) return result;
  Attempt second{EntropyDecoder::kLibjpeg};
  return call(second);
}

}  // namespace framewire::codec::turbo
