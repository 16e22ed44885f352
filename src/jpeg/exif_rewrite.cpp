// Corrects a copied EXIF block where it lies, and takes the pictures in it out.
#include <algorithm>
#include <array>
#include <iterator>
#include <jpeg/embedded.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/exif_tags.hpp>
#include <jpeg/maker_note.hpp>
#include <jpeg/tiff.hpp>
#include <jpeg/tiff_edit.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::uint16_t kSrgb = 1;
constexpr int kMaxThumbnails = 8;  // directories behind the first, and sub-directories

/// Entries that are taken out: pictures, sub-directories of pictures, and metadata (XMP, Photoshop)
/// of which the output has a corrected copy in a segment of its own.
constexpr std::array kRemovedTags = {exif_tag::kSubDirectories, exif_tag::kThumbnailData,
                                     exif_tag::kXmp, exif_tag::kPhotoshop};

class ExifRewriter {
 public:
  ExifRewriter(const TiffView& view, const ExifChanges& changes)
      : view_(view), changes_(changes), block_(view.block().begin(), view.block().end()) {}

  Bytes run(const TiffDirectory& main) {
    const std::uint32_t main_offset = view_.first_directory_offset();
    structure_.push_back({0, 8});
    keep(main, main_offset);
    if (changes_.upright) set_number(main, exif_tag::kOrientation, 1);
    set_size(main, exif_tag::kImageWidth, exif_tag::kImageLength);
    child(main, exif_tag::kGpsDirectory);
    const auto exif = child(main, exif_tag::kExifDirectory);
    if (exif) {
      exif_place_ = {*view_.number(*main.find(exif_tag::kExifDirectory)), 0, little_endian()};
      set_size(*exif, exif_tag::kPixelXDimension, exif_tag::kPixelYDimension);
      if (changes_.is_srgb) set_number(*exif, exif_tag::kColorSpace, kSrgb);
      if (const auto interop = child(*exif, exif_tag::kInteropDirectory)) {
        set_size(*interop, exif_tag::kRelatedWidth, exif_tag::kRelatedLength);
        if (changes_.is_srgb) set_srgb_index(*interop);
      }
    }
    drop_thumbnails(main);
    drop_values(main);
    if (exif) drop_maker_note_pictures(main, *exif);
    erase(pictures_, values_);
    for (const auto tag : kRemovedTags) {
      remove_entry(block_, {main_offset, 0, little_endian()}, tag);
    }
    erase_streams();
    cut();
    if (changes_.places != Places::kSame && exif) {
      for (const auto tag : {exif_tag::kSubjectArea, exif_tag::kSubjectLocation}) {
        remove_entry(block_, exif_place_, tag);
      }
    }
    for (const auto& entry : retired_) retire_entry(block_, entry.directory, entry.tag);
    return std::move(block_);
  }

 private:
  [[nodiscard]] bool little_endian() const noexcept { return view_.little_endian(); }

  /// Overwrites a BYTE, SHORT or LONG, if the directory has it.
  void set_number(const TiffDirectory& directory, std::uint16_t tag, std::uint32_t value) {
    const TiffEntry* entry = directory.find(tag);
    if (entry == nullptr) return;
    const auto put = [&](int bytes) {
      put_number(block_, little_endian(), entry->value_offset, value, bytes);
    };
    if (entry->type == static_cast<std::uint16_t>(TiffType::kByte) && value < 256) put(1);
    if (entry->type == static_cast<std::uint16_t>(TiffType::kShort)) put(2);
    if (entry->type == static_cast<std::uint16_t>(TiffType::kLong)) put(4);
  }

  void set_size(const TiffDirectory& directory, std::uint16_t width, std::uint16_t height) {
    set_number(directory, width, static_cast<std::uint32_t>(changes_.width_px));
    set_number(directory, height, static_cast<std::uint32_t>(changes_.height_px));
  }

  /// Sets the interoperability index to R98 (sRGB) where it was R03 (Adobe RGB); DCF 2.0.
  void set_srgb_index(const TiffDirectory& interop) {
    const TiffEntry* entry = interop.find(exif_tag::kInteropIndex);
    if (entry == nullptr || entry->value_bytes != 4) return;
    constexpr std::string_view kR98 = "R98";
    std::copy(kR98.begin(), kR98.end(),
              block_.begin() + static_cast<std::ptrdiff_t>(entry->value_offset));
  }

  /// Notes what erase() and cut() must spare: the directory and the values of its entries. A maker
  /// note is noted by its beginning alone, so that pictures in it can go.
  void keep(const TiffDirectory& directory, std::size_t offset) {
    structure_.push_back({offset, directory.end_offset});
    values_.push_back(structure_.back());
    for (const auto& entry : directory.entries) {
      const ByteRange value{entry.value_offset, entry.value_offset + entry.value_bytes};
      if (std::find(kRemovedTags.begin(), kRemovedTags.end(), entry.tag) != kRemovedTags.end()) {
        continue;
      }
      kept_end_ = std::max(kept_end_, entry.tag == exif_tag::kMakerNote ? value.begin : value.end);
      if (entry.tag != exif_tag::kMakerNote) values_.push_back(value);
    }
    kept_end_ = std::max(kept_end_, directory.end_offset);
  }

  /// The directory that an entry points to.
  std::optional<TiffDirectory> child(const TiffDirectory& parent, std::uint16_t tag) {
    const TiffEntry* entry = parent.find(tag);
    const auto offset = entry == nullptr ? std::nullopt : view_.number(*entry);
    auto directory = offset ? view_.directory(*offset) : std::nullopt;
    if (directory) keep(*directory, *offset);
    return directory;
  }

  /// A directory that describes a picture goes with its values and its picture.
  void drop_directory(std::uint32_t offset, const TiffDirectory& directory) {
    pictures_.push_back({offset, directory.end_offset});
    for (const auto& entry : directory.entries) {
      pictures_.push_back({entry.value_offset, entry.value_offset + entry.value_bytes});
    }
    drop_pictures(directory);
  }

  void drop_pictures(const TiffDirectory& directory) {
    const auto ranges = picture_ranges(view_, directory);
    pictures_.insert(pictures_.end(), ranges.begin(), ranges.end());
  }

  void drop_thumbnails(const TiffDirectory& main) {
    drop_pictures(main);
    if (main.next_field_offset == 0) return;
    put_number(block_, little_endian(), main.next_field_offset, 0, 4);
    std::uint32_t offset = main.next_offset;
    for (int i = 0; i < kMaxThumbnails; ++i) {
      const auto thumbnail = view_.directory(offset);
      if (!thumbnail) return;
      drop_directory(offset, *thumbnail);
      offset = thumbnail->next_offset;
    }
  }

  void drop_values(const TiffDirectory& main) {
    for (const auto tag : kRemovedTags) {
      const TiffEntry* entry = main.find(tag);
      if (entry == nullptr) continue;
      pictures_.push_back({entry->value_offset, entry->value_offset + entry->value_bytes});
      for (std::uint32_t i = 0; tag == exif_tag::kSubDirectories && i < kMaxThumbnails; ++i) {
        const std::uint32_t offset = view_.number(*entry, i).value_or(0);
        if (const auto directory = view_.directory(offset)) drop_directory(offset, *directory);
      }
    }
  }

  void drop_maker_note_pictures(const TiffDirectory& main, const TiffDirectory& exif) {
    const TiffEntry* entry = exif.find(exif_tag::kMakerNote);
    if (entry == nullptr) return;
    maker_note_ = *entry;
    const TiffEntry* make = main.find(exif_tag::kMake);
    const ByteSpan name =
        make == nullptr ? ByteSpan() : view_.block().subspan(make->value_offset, make->value_bytes);
    const auto found = find_maker_note_pictures(
        view_.block(), little_endian(),
        {entry->value_offset, entry->value_offset + entry->value_bytes}, as_text(name),
        changes_.places == Places::kMoved ? Faces::kLeave : Faces::kStay);
    pictures_.insert(pictures_.end(), found.pictures.begin(), found.pictures.end());
    values_.insert(values_.end(), found.others.begin(), found.others.end());
    retired_.insert(retired_.end(), found.entries.begin(), found.entries.end());
  }

  /// Overwrites ranges, save what lies in others, with zeros.
  void erase(const std::vector<ByteRange>& ranges, const std::vector<ByteRange>& spared) {
    std::vector<bool> safe(block_.size(), false);
    for (const auto& range : merged(spared)) {
      std::fill(safe.begin() + static_cast<std::ptrdiff_t>(range.begin),
                safe.begin() + static_cast<std::ptrdiff_t>(range.end), true);
    }
    for (const auto& range : merged(ranges)) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (!safe[i]) block_[i] = 0;
      }
      erased_.push_back(range);
    }
  }

  /// Erases JPEG streams that no entry points to. A stream without EOI seems to reach to the
  /// block's end, but may be shorter, so values behind its beginning are spared. One of those
  /// values may hold the next such stream, so the search is repeated.
  void erase_streams() {
    constexpr int kMaxRounds = 16;  // in the last one nothing is spared but the structure
    for (int round = 0; round <= kMaxRounds; ++round) {
      std::vector<ByteRange> whole;
      std::optional<ByteRange> endless;
      for (auto picture = find_picture(block_); picture;
           picture = find_picture(block_, picture->end)) {
        const bool ends = block_[picture->end - 2] == 0xFF && block_[picture->end - 1] == 0xD9;
        if (ends || round == kMaxRounds) {
          whole.push_back(*picture);
        } else {
          endless = *picture;
        }
      }
      if (whole.empty() && !endless) return;
      erase(whole, structure_);
      if (!endless) continue;
      auto spared = structure_;
      std::copy_if(values_.begin(), values_.end(), std::back_inserter(spared),
                   [&](const ByteRange& value) { return !value.contains(endless->begin); });
      erase({*endless}, spared);
    }
  }

  /// Cuts off erased bytes at the block's end, and shortens a maker note that ends with them. Bytes
  /// that no entry points to stay, since some of them belong to maker notes.
  void cut() {
    const auto ranges = merged(std::move(erased_));
    if (ranges.empty() || ranges.back().end != block_.size()) return;
    const std::size_t end = std::max(ranges.back().begin, kept_end_);
    if (maker_note_ && maker_note_->value_offset + maker_note_->value_bytes > end) {
      const auto at = entry_position(block_, exif_place_, exif_tag::kMakerNote);
      if (!at || end <= maker_note_->value_offset + 4 ||
          maker_note_->value_bytes != maker_note_->count) {
        return;
      }
      put_number(block_, little_endian(), *at + 4,
                 static_cast<std::uint32_t>(end - maker_note_->value_offset), 4);
    }
    block_.resize(end);
  }

  const TiffView& view_;
  const ExifChanges& changes_;
  Bytes block_;
  std::vector<ByteRange> structure_;  ///< header and directories
  std::vector<ByteRange> values_;     ///< these and the values that stay
  std::vector<ByteRange> pictures_;   ///< what goes, by what the directories say
  std::vector<ByteRange> erased_;
  std::vector<MakerNotePictures::Entry> retired_;
  std::optional<TiffEntry> maker_note_;
  TiffPlace exif_place_;
  std::size_t kept_end_ = 8;  ///< one past all that stays, the maker note not counted
};

}  // namespace

Bytes rewrite_exif(ByteSpan original, const ExifChanges& changes) {
  const auto view = TiffView::open(original);
  const auto main = view ? view->directory(view->first_directory_offset()) : std::nullopt;
  if (!main) return {};
  Bytes block = ExifRewriter(*view, changes).run(*main);
  // In a hostile block a value may lie inside a directory. Changing that value has then broken the
  // directory, and erasing has spared a picture that begins there: both are looked for.
  if (!read_exif(block) || find_picture(block)) return {};
  return block;
}

}  // namespace framewire::jpeg
