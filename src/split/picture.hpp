// A picture on its way through several devices.
#pragma once

#include <codec/turbo/stages.hpp>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace framewire::split {

/// Whose memory and arithmetic: the host's, or a GPU's.
struct Place {
  transport::DeviceMemory* devices = nullptr;  ///< null: the host
  int device = -1;
};

/// Planes behind one another in a region; on a GPU with rows at multiples of 16 bytes.
struct PlaneStack {
  transport::Region memory;
  std::vector<codec::PlaneView> planes;     ///< into memory, of whichever kind
  std::vector<std::uint64_t> offset_bytes;  ///< of each plane in memory
  std::vector<std::uint64_t> pitch_bytes;   ///< from row to row

  /// Lays planes out, in the memory that is there if it is large enough. One stack, one place.
  /// @return busy where memory runs out; device_lost
  [[nodiscard]] Result<void> lay_out(std::span<const codec::PlaneSize> sizes, const Place& place);
};

/// What one device makes of one plane: some resampled rows, of some decoded ones.
struct PlanePart {
  codec::RowSpan out;
  codec::RowSpan in;
};
/// One entry a plane; a plane may have no row in it.
using Stripe = std::vector<PlanePart>;

/// Divides the resampled picture into stripes of rows, as equal as can be. The stripes' inputs
/// overlap by what the filter reaches across a border.
[[nodiscard]] std::vector<Stripe> divide(const codec::TurboStages& stages, const plan::Plan& plan,
                                         std::size_t count);

/// Where some rows of a plane lie in its stack.
struct Stretch {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};
[[nodiscard]] Stretch stretch_of(const PlaneStack& stack, std::size_t plane,
                                 const codec::RowSpan& rows);

/// In which form a picture leaves.
enum class Form : std::uint8_t { kJpeg, kPlanes };

/// A resized picture: with Form::kJpeg its stream, with Form::kPlanes what would be encoded.
struct Output {
  Resized resized;  ///< the report at any rate
  codec::Planes planes;
};

/// The answer to one request. Called once, from a thread of the splitter's.
using Done = std::function<void(Result<Output>)>;

struct Picture {
  std::vector<std::uint8_t> bytes;  ///< the JPEG
  ResizeOptions options;
  Done done;
  engine::Request request;
  codec::Outcome outcome;
  PlaneStack decoded;
  PlaneStack resampled;
  std::vector<Stripe> stripes;  ///< one a device
  std::size_t open_stripes = 0;
  std::optional<Status> error;  ///< the first that a stripe met
};

}  // namespace framewire::split
