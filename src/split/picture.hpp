// The pictures of a split, and the groups and parcels in which they travel.
#pragma once

#include <codec/coefficients.hpp>
#include <codec/turbo/stages.hpp>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <transport/memory_place.hpp>
#include <vector>

namespace framewire::split {

/// Whose memory, and whose arithmetic.
using transport::MemoryPlace;

/// Planes behind one another in a region; on a GPU with rows at multiples of 16 bytes.
struct PlaneStack {
  transport::Region memory;
  std::uint64_t bytes = 0;                 ///< of it that the planes take
  std::vector<codec::PlaneView> planes;    ///< into memory, of whichever kind
  std::vector<std::uint64_t> pitch_bytes;  ///< from row to row

  /// Lays planes out, in the memory that is there if it is large enough. One stack, one place; the
  /// same sizes lie in the same way on all GPUs, and on the host.
  /// @return busy where memory runs out; device_lost
  [[nodiscard]] Result<void> lay_out(std::span<const codec::PlaneSize> sizes,
                                     const MemoryPlace& place);
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

/// Whether none of the planes has a row in it.
[[nodiscard]] bool is_empty(const Stripe& stripe);

/// In which form a picture leaves.
enum class PictureForm : std::uint8_t { kJpeg, kPlanes };

/// A resized picture: with PictureForm::kJpeg its stream, with PictureForm::kPlanes what would be
/// encoded.
struct SplitOutput {
  Resized resized;  ///< the report at any rate
  codec::Planes planes;
};

/// The answer to one request. Called once.
using PictureDone = std::function<void(Result<SplitOutput>)>;

struct Picture {
  std::vector<std::uint8_t> bytes;  ///< the JPEG
  ResizeOptions options;
  PictureDone done;
  engine::Request request;
  codec::CodecOutcome outcome;
  std::optional<codec::Coefficients> coefficients;  ///< where the host reads them for the decoder
  std::uint64_t host_bytes = 0;                     ///< that it holds until it is answered
  std::uint64_t decoded_bytes = 0;                  ///< samples
  std::vector<Stripe> stripes;                      ///< one a worker; empty for those that are lost
  std::optional<Status> error;                      ///< the first that was met
  bool undecoded = false;  ///< `error` is of decoding; for workers, which do not read `error`
  bool alone = false;      ///< memory ran out; tried once more with nothing else in work
};

/// A worker's stripes of a group's pictures, one behind the other, picture by picture and plane by
/// plane: one transfer there, one back.
struct Parcel {
  PlaneStack decoded;          ///< beside the decoder
  PlaneStack resampled;        ///< beside the encoder
  std::optional<Status> lost;  ///< why the rows are not there: peer_lost; busy where the worker's
                               ///< memory ran out
  [[nodiscard]] bool empty() const noexcept { return resampled.bytes == 0; }
};

/// Pictures that travel together: those that were waiting when the group began. A GPU, and what
/// feeds it, takes many small pictures for the price of one.
struct Group {
  std::vector<std::unique_ptr<Picture>> pictures;
  std::vector<Parcel> parcels;  ///< one a worker
  std::size_t open_parcels = 0;
};

/// Whether the group is one picture and nothing else is in work: all may free what they keep.
[[nodiscard]] inline bool is_alone(const Group& group) { return group.pictures.front()->alone; }

/// Sizes of the planes in a worker's parcel.
[[nodiscard]] std::vector<codec::PlaneSize> decoded_rows(const Group& group, std::size_t worker);
[[nodiscard]] std::vector<codec::PlaneSize> resampled_rows(const Group& group, std::size_t worker);

/// Calls visit(picture, plane, part, index) for every part in a worker's parcel, `index` being the
/// part's place in it and `picture` the picture's in the group.
template <typename Visit>
void for_each_part(const Group& group, std::size_t worker, Visit visit) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < group.pictures.size(); ++i) {
    const Stripe& stripe = group.pictures[i]->stripes[worker];
    for (std::size_t p = 0; p < stripe.size(); ++p) visit(i, p, stripe[p], index++);
  }
}

}  // namespace framewire::split
