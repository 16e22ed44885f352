#include <codec/reference/entropy_source.hpp>
#include <jpeg/markers.hpp>

namespace framewire::codec::reference {
namespace {

/// Stands for whatever ends the range: a marker that a restart neither takes nor passes over.
constexpr std::uint8_t kEnd = jpeg::marker::kEoi;

enum class Resync { kTake, kPassOver, kLeave };

/// What to do about `marker` where RSTn of number `expected` should be.
Resync resync_action(std::uint8_t marker, int expected) {
  if (marker < jpeg::marker::kSof0) return Resync::kPassOver;
  if (!jpeg::is_restart(marker)) return Resync::kLeave;
  const int ahead = (marker - jpeg::marker::kRst0 - expected) & 7;
  if (ahead == 1 || ahead == 2) return Resync::kLeave;
  if (ahead == 6 || ahead == 7) return Resync::kPassOver;
  return Resync::kTake;
}

}  // namespace

std::uint8_t EntropySource::next_byte() {
  if (marker_ != 0) return 0;
  if (at_ >= end_) {
    marker_ = kEnd;
    return 0;
  }
  const std::uint8_t byte = file_[at_++];
  if (byte != 0xFF) return byte;
  while (at_ < end_ && file_[at_] == 0xFF) ++at_;  // fill bytes
  const std::uint8_t code = at_ < end_ ? file_[at_++] : kEnd;
  if (code == 0) return 0xFF;
  marker_ = code;
  return 0;
}

int EntropySource::next_bit() {
  if (bit_count_ == 0 && !exhausted_) {
    bits_ = next_byte();
    if (marker_ != 0) {
      exhausted_ = true;
    } else {
      bit_count_ = 8;
    }
  }
  if (bit_count_ == 0) return 0;
  return bits_ >> --bit_count_ & 1;
}

std::int32_t EntropySource::next_bits(int count) {
  std::int32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 1 | next_bit();
  return value;
}

void EntropySource::find_marker() {
  while (marker_ == 0) {
    next_byte();
    if (marker_ == 0) resynchronised_ = true;
  }
}

void EntropySource::restart(int expected) {
  bit_count_ = 0;
  find_marker();
  if (marker_ != jpeg::marker::kRst0 + expected) {
    resynchronised_ = true;
    while (resync_action(marker_, expected) == Resync::kPassOver) {
      marker_ = 0;
      find_marker();
    }
    if (resync_action(marker_, expected) == Resync::kLeave) return;
  }
  marker_ = 0;
  exhausted_ = false;
}

bool EntropySource::has_leftover() const {
  EntropySource rest = *this;
  while (rest.at_ < rest.end_) {
    rest.marker_ = 0;
    rest.next_byte();
    if (rest.marker_ == 0) return true;
  }
  return false;
}

}  // namespace framewire::codec::reference
