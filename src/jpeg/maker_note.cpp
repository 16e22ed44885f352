#include <algorithm>
#include <array>
#include <cctype>
#include <jpeg/maker_note.hpp>
#include <optional>
#include <string>

namespace framewire::jpeg {
namespace {

enum class Maker : std::uint8_t {
  kNikon,
  kOlympus,
  kOlympusSettings,  // a directory inside Olympus's
  kMinolta,
  kPentax,
  kCasio,
  kSony,
  kSonyEricsson,
  kCanon,
  kSamsung,
  kPanasonic,
  kLeica,
  kSanyo,
  kFujifilm,
};

/// What the offsets of a maker note count from.
enum class OffsetBase : std::uint8_t { kTiff, kNote, kOwnHeader };

/// How a maker note begins: its letters, and where its directory follows.
struct NoteForm {
  std::string_view id;
  Maker maker;
  std::size_t directory;
  OffsetBase base;
};

using namespace std::string_view_literals;
constexpr std::array kForms = {
    NoteForm{"Nikon\0\2"sv, Maker::kNikon, 10, OffsetBase::kOwnHeader},
    NoteForm{"Nikon\0\1"sv, Maker::kNikon, 8, OffsetBase::kTiff},
    NoteForm{"OLYMPUS\0"sv, Maker::kOlympus, 12, OffsetBase::kNote},
    NoteForm{"OM SYSTEM\0"sv, Maker::kOlympus, 16, OffsetBase::kNote},
    NoteForm{"OLYMP\0"sv, Maker::kOlympus, 8, OffsetBase::kTiff},
    NoteForm{"EPSON\0"sv, Maker::kOlympus, 8, OffsetBase::kTiff},
    NoteForm{"MINOL\0"sv, Maker::kOlympus, 8, OffsetBase::kTiff},
    NoteForm{"CAMER\0"sv, Maker::kOlympus, 8, OffsetBase::kTiff},
    NoteForm{"AGFA"sv, Maker::kOlympus, 8, OffsetBase::kTiff},
    NoteForm{"AOC\0"sv, Maker::kPentax, 6, OffsetBase::kTiff},
    NoteForm{"PENTAX \0"sv, Maker::kPentax, 10, OffsetBase::kNote},
    NoteForm{"QVC\0"sv, Maker::kCasio, 6, OffsetBase::kTiff},
    NoteForm{"DCI\0"sv, Maker::kCasio, 6, OffsetBase::kTiff},
    NoteForm{"SEMC MS\0"sv, Maker::kSonyEricsson, 20, OffsetBase::kTiff},
    NoteForm{"SONY"sv, Maker::kSony, 12, OffsetBase::kTiff},
    NoteForm{"LEICA\0"sv, Maker::kLeica, 8, OffsetBase::kNote},
    NoteForm{"Panasonic\0"sv, Maker::kPanasonic, 12, OffsetBase::kTiff},
    NoteForm{"SANYO\0"sv, Maker::kSanyo, 8, OffsetBase::kTiff},
    NoteForm{"FUJIFILM"sv, Maker::kFujifilm, 12, OffsetBase::kNote},
};

/// Makers whose notes are a directory without letters before it, by EXIF's Make in capitals.
struct BareForm {
  std::string_view make;
  Maker maker;
  OffsetBase base;
};
constexpr std::array kBareForms = {
    BareForm{"CANON", Maker::kCanon, OffsetBase::kTiff},
    BareForm{"NIKON", Maker::kNikon, OffsetBase::kTiff},
    BareForm{"MINOLTA", Maker::kMinolta, OffsetBase::kTiff},
    BareForm{"KONICA", Maker::kMinolta, OffsetBase::kTiff},
    BareForm{"SAMSUNG", Maker::kSamsung, OffsetBase::kNote},
    BareForm{"PENTAX", Maker::kPentax, OffsetBase::kTiff},
    BareForm{"ASAHI", Maker::kPentax, OffsetBase::kTiff},
    BareForm{"SONY", Maker::kSony, OffsetBase::kTiff},
};

enum class TagRole : std::uint8_t {
  kPicture,     // the value is a picture
  kFaces,       // it tells of faces, by name or place
  kStart,       // where one lies
  kBytes,       // how long it is
  kSize,        // its width and height
  kDirectory,   // a thumbnail directory, as EXIF's second one
  kSettings,    // a directory with further such entries
  kCanonFacts,  // longs: quality, length, width, height, start
};

struct NoteTag {
  Maker maker;
  std::uint16_t tag;
  TagRole role;
};
constexpr std::array kTags = {
    NoteTag{Maker::kNikon, 0x0011, TagRole::kDirectory},
    NoteTag{Maker::kOlympus, 0x0081, TagRole::kPicture},
    NoteTag{Maker::kOlympus, 0x0088, TagRole::kStart},
    NoteTag{Maker::kOlympus, 0x0089, TagRole::kBytes},
    NoteTag{Maker::kOlympus, 0x0100, TagRole::kPicture},
    NoteTag{Maker::kOlympus, 0x0280, TagRole::kPicture},
    NoteTag{Maker::kOlympus, 0x2020, TagRole::kSettings},
    NoteTag{Maker::kOlympusSettings, 0x0101, TagRole::kStart},
    NoteTag{Maker::kOlympusSettings, 0x0102, TagRole::kBytes},
    NoteTag{Maker::kMinolta, 0x0081, TagRole::kPicture},
    NoteTag{Maker::kMinolta, 0x0088, TagRole::kStart},
    NoteTag{Maker::kMinolta, 0x0089, TagRole::kBytes},
    NoteTag{Maker::kPentax, 0x0002, TagRole::kSize},
    NoteTag{Maker::kPentax, 0x0003, TagRole::kBytes},
    NoteTag{Maker::kPentax, 0x0004, TagRole::kStart},
    NoteTag{Maker::kCasio, 0x0002, TagRole::kSize},
    NoteTag{Maker::kCasio, 0x0003, TagRole::kBytes},
    NoteTag{Maker::kCasio, 0x0004, TagRole::kStart},
    NoteTag{Maker::kCasio, 0x2000, TagRole::kPicture},
    NoteTag{Maker::kSony, 0x2001, TagRole::kPicture},
    NoteTag{Maker::kSonyEricsson, 0x0201, TagRole::kStart},
    NoteTag{Maker::kSonyEricsson, 0x0202, TagRole::kBytes},
    NoteTag{Maker::kCanon, 0x00B6, TagRole::kCanonFacts},
    NoteTag{Maker::kSamsung, 0x0035, TagRole::kDirectory},
    NoteTag{Maker::kLeica, 0x0300, TagRole::kPicture},
    NoteTag{Maker::kLeica, 0x004E, TagRole::kFaces},
    NoteTag{Maker::kLeica, 0x0061, TagRole::kFaces},
    NoteTag{Maker::kPanasonic, 0x0300, TagRole::kPicture},
    NoteTag{Maker::kPanasonic, 0x004E, TagRole::kFaces},
    NoteTag{Maker::kPanasonic, 0x0061, TagRole::kFaces},
    NoteTag{Maker::kSanyo, 0x0100, TagRole::kPicture},
    NoteTag{Maker::kFujifilm, 0x4103, TagRole::kFaces},
    NoteTag{Maker::kFujifilm, 0x4282, TagRole::kFaces},
};

struct Located {
  TiffPlace place;
  Maker maker;
};

std::string capitals(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

/// Guesses the byte order. A directory of a maker note has few entries, so the order in which it
/// would have many is the wrong one.
bool order_at(ByteSpan block, std::size_t at, bool little_endian) {
  constexpr std::uint16_t kMaxEntries = 255;
  if (at + 2 > block.size()) return little_endian;
  const bool fits = TiffView(block, little_endian).u16(at) <= kMaxEntries;
  return fits ? little_endian : !little_endian;
}

std::optional<Located> locate(ByteSpan block, bool little, ByteRange note, std::string_view make) {
  const ByteSpan value = block.subspan(note.begin, note.end - note.begin);
  for (const auto& form : kForms) {
    if (!starts_with(value, form.id)) continue;
    const std::size_t at = note.begin + form.directory;
    if (form.base != OffsetBase::kOwnHeader) {
      const std::size_t base = form.base == OffsetBase::kNote ? note.begin : 0;
      return Located{{at, base, order_at(block, at, little)}, form.maker};
    }
    const auto own = TiffView::open(value.subspan(std::min(form.directory, value.size())));
    if (!own) return std::nullopt;
    return Located{{at + own->first_directory_offset(), at, own->little_endian()}, form.maker};
  }
  const std::string name = capitals(make);
  for (const auto& form : kBareForms) {
    if (!name.starts_with(form.make)) continue;
    const std::size_t base = form.base == OffsetBase::kNote ? note.begin : 0;
    return Located{{note.begin, base, order_at(block, note.begin, little)}, form.maker};
  }
  return std::nullopt;
}

/// Goes through one directory and those that it names.
class Search {
 public:
  Search(ByteSpan block, ByteRange note, Faces faces)
      : block_(block), note_(note), faces_leave_(faces == Faces::kLeave) {}

  void run(const TiffPlace& place, Maker maker) {
    if (place.at < place.base || place.base > block_.size()) return;
    const TiffView view(block_.subspan(place.base), place.little_endian);
    const auto directory = view.directory(place.at - place.base, 0);
    if (!directory) return;
    found_.others.push_back({place.at, place.base + directory->end_offset});
    for (const auto& entry : directory->entries) {
      const auto role = std::find_if(kTags.begin(), kTags.end(), [&](const NoteTag& tag) {
        return tag.maker == maker && tag.tag == entry.tag && goes(tag.role);
      });
      const std::size_t begin = place.base + entry.value_offset;
      if (role == kTags.end()) found_.others.push_back({begin, begin + entry.value_bytes});
    }
    std::optional<std::uint32_t> start;
    std::optional<std::uint32_t> bytes;
    for (const auto& tag : kTags) {
      if (tag.maker != maker || (tag.role == TagRole::kFaces && !faces_leave_)) continue;
      const TiffEntry* entry = directory->find(tag.tag);
      if (tag.role != TagRole::kSettings) found_.entries.push_back({place, tag.tag});
      if (entry == nullptr) continue;
      if (tag.role == TagRole::kStart) start = view.number(*entry);
      if (tag.role == TagRole::kBytes) bytes = view.number(*entry);
      if (goes(tag.role)) add_value(place, *entry);
      if (tag.role == TagRole::kDirectory) add_directory(place, view, *entry);
      if (tag.role == TagRole::kCanonFacts) {
        add(place, view.number(*entry, 5), view.number(*entry, 2));
      }
      if (tag.role == TagRole::kSettings) {
        // Older cameras store the directory as the value, newer ones its offset.
        const auto offset = view.number(*entry);
        const std::size_t at = place.base + (offset ? *offset : entry->value_offset);
        run({at, place.base, place.little_endian}, Maker::kOlympusSettings);
      }
    }
    add(place, start, bytes);
  }

  MakerNotePictures found() && { return std::move(found_); }

 private:
  /// Whether a value goes whole.
  [[nodiscard]] bool goes(TagRole role) const {
    return role == TagRole::kPicture || (role == TagRole::kFaces && faces_leave_);
  }

  /// Adds a picture only if one begins where the entry says: the offset may count from somewhere
  /// else, or lead out of the block.
  void add(const TiffPlace& place, std::optional<std::uint32_t> start,
           std::optional<std::uint32_t> bytes) {
    if (!start || !bytes) return;
    for (const std::size_t base : {place.base, std::size_t{0}, note_.begin}) {
      const std::size_t begin = base + *start;
      if (begin + 3 > block_.size() || block_[begin + 1] != 0xD8 || block_[begin + 2] != 0xFF) {
        continue;
      }
      found_.pictures.push_back(
          {begin, begin + std::min<std::size_t>(*bytes, block_.size() - begin)});
      return;
    }
  }

  void add_value(const TiffPlace& place, const TiffEntry& entry) {
    const std::size_t begin = place.base + entry.value_offset;
    if (entry.value_bytes > 4) found_.pictures.push_back({begin, begin + entry.value_bytes});
  }

  void add_directory(const TiffPlace& place, const TiffView& view, const TiffEntry& entry) {
    const auto offset = view.number(entry);
    const auto directory = offset ? view.directory(*offset, 0) : std::nullopt;
    if (!directory) return;
    for (const auto& range : picture_ranges(view, *directory)) {
      add(place, static_cast<std::uint32_t>(range.begin),
          static_cast<std::uint32_t>(range.end - range.begin));
    }
  }

  ByteSpan block_;
  ByteRange note_;
  bool faces_leave_;
  MakerNotePictures found_;
};

}  // namespace

MakerNotePictures find_maker_note_pictures(ByteSpan block, bool little_endian, ByteRange note,
                                           std::string_view make, Faces faces) {
  const auto located = locate(block, little_endian, note, make);
  if (!located) return {};
  Search search(block, note, faces);
  search.run(located->place, located->maker);
  return std::move(search).found();
}

}  // namespace framewire::jpeg
