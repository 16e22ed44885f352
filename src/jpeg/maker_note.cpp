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
enum class Base : std::uint8_t { kTiff, kNote, kOwnHeader };

/// How a maker note begins: its letters, and where its directory follows.
struct Form {
  std::string_view id;
  Maker maker;
  std::size_t directory;
  Base base;
};

using namespace std::string_view_literals;
constexpr std::array kForms = {
    Form{"Nikon\0\2"sv, Maker::kNikon, 10, Base::kOwnHeader},
    Form{"Nikon\0\1"sv, Maker::kNikon, 8, Base::kTiff},
    Form{"OLYMPUS\0"sv, Maker::kOlympus, 12, Base::kNote},
    Form{"OM SYSTEM\0"sv, Maker::kOlympus, 16, Base::kNote},
    Form{"OLYMP\0"sv, Maker::kOlympus, 8, Base::kTiff},
    Form{"EPSON\0"sv, Maker::kOlympus, 8, Base::kTiff},
    Form{"MINOL\0"sv, Maker::kOlympus, 8, Base::kTiff},
    Form{"CAMER\0"sv, Maker::kOlympus, 8, Base::kTiff},
    Form{"AGFA"sv, Maker::kOlympus, 8, Base::kTiff},
    Form{"AOC\0"sv, Maker::kPentax, 6, Base::kTiff},
    Form{"PENTAX \0"sv, Maker::kPentax, 10, Base::kNote},
    Form{"QVC\0"sv, Maker::kCasio, 6, Base::kTiff},
    Form{"DCI\0"sv, Maker::kCasio, 6, Base::kTiff},
    Form{"SEMC MS\0"sv, Maker::kSonyEricsson, 20, Base::kTiff},
    Form{"SONY"sv, Maker::kSony, 12, Base::kTiff},
    Form{"LEICA\0"sv, Maker::kLeica, 8, Base::kNote},
    Form{"Panasonic\0"sv, Maker::kPanasonic, 12, Base::kTiff},
    Form{"SANYO\0"sv, Maker::kSanyo, 8, Base::kTiff},
    Form{"FUJIFILM"sv, Maker::kFujifilm, 12, Base::kNote},
};

/// Makers whose notes are a directory without letters before it, by EXIF's Make in capitals.
struct BareForm {
  std::string_view make;
  Maker maker;
  Base base;
};
constexpr std::array kBareForms = {
    BareForm{"CANON", Maker::kCanon, Base::kTiff},
    BareForm{"NIKON", Maker::kNikon, Base::kTiff},
    BareForm{"MINOLTA", Maker::kMinolta, Base::kTiff},
    BareForm{"KONICA", Maker::kMinolta, Base::kTiff},
    BareForm{"SAMSUNG", Maker::kSamsung, Base::kNote},
    BareForm{"PENTAX", Maker::kPentax, Base::kTiff},
    BareForm{"ASAHI", Maker::kPentax, Base::kTiff},
    BareForm{"SONY", Maker::kSony, Base::kTiff},
};

enum class Role : std::uint8_t {
  kPicture,     // the value is a picture
  kFaces,       // it tells of faces, by name or place
  kStart,       // where one lies
  kBytes,       // how long it is
  kSize,        // its width and height
  kDirectory,   // a thumbnail directory, as EXIF's second one
  kSettings,    // a directory with further such entries
  kCanonFacts,  // longs: quality, length, width, height, start
};

struct Tag {
  Maker maker;
  std::uint16_t tag;
  Role role;
};
constexpr std::array kTags = {
    Tag{Maker::kNikon, 0x0011, Role::kDirectory},
    Tag{Maker::kOlympus, 0x0081, Role::kPicture},
    Tag{Maker::kOlympus, 0x0088, Role::kStart},
    Tag{Maker::kOlympus, 0x0089, Role::kBytes},
    Tag{Maker::kOlympus, 0x0100, Role::kPicture},
    Tag{Maker::kOlympus, 0x0280, Role::kPicture},
    Tag{Maker::kOlympus, 0x2020, Role::kSettings},
    Tag{Maker::kOlympusSettings, 0x0101, Role::kStart},
    Tag{Maker::kOlympusSettings, 0x0102, Role::kBytes},
    Tag{Maker::kMinolta, 0x0081, Role::kPicture},
    Tag{Maker::kMinolta, 0x0088, Role::kStart},
    Tag{Maker::kMinolta, 0x0089, Role::kBytes},
    Tag{Maker::kPentax, 0x0002, Role::kSize},
    Tag{Maker::kPentax, 0x0003, Role::kBytes},
    Tag{Maker::kPentax, 0x0004, Role::kStart},
    Tag{Maker::kCasio, 0x0002, Role::kSize},
    Tag{Maker::kCasio, 0x0003, Role::kBytes},
    Tag{Maker::kCasio, 0x0004, Role::kStart},
    Tag{Maker::kCasio, 0x2000, Role::kPicture},
    Tag{Maker::kSony, 0x2001, Role::kPicture},
    Tag{Maker::kSonyEricsson, 0x0201, Role::kStart},
    Tag{Maker::kSonyEricsson, 0x0202, Role::kBytes},
    Tag{Maker::kCanon, 0x00B6, Role::kCanonFacts},
    Tag{Maker::kSamsung, 0x0035, Role::kDirectory},
    Tag{Maker::kLeica, 0x0300, Role::kPicture},
    Tag{Maker::kLeica, 0x004E, Role::kFaces},
    Tag{Maker::kLeica, 0x0061, Role::kFaces},
    Tag{Maker::kPanasonic, 0x0300, Role::kPicture},
    Tag{Maker::kPanasonic, 0x004E, Role::kFaces},
    Tag{Maker::kPanasonic, 0x0061, Role::kFaces},
    Tag{Maker::kSanyo, 0x0100, Role::kPicture},
    Tag{Maker::kFujifilm, 0x4103, Role::kFaces},
    Tag{Maker::kFujifilm, 0x4282, Role::kFaces},
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
    if (form.base != Base::kOwnHeader) {
      const std::size_t base = form.base == Base::kNote ? note.begin : 0;
      return Located{{at, base, order_at(block, at, little)}, form.maker};
    }
    const auto own = TiffView::open(value.subspan(std::min(form.directory, value.size())));
    if (!own) return std::nullopt;
    return Located{{at + own->first_directory_offset(), at, own->little_endian()}, form.maker};
  }
  const std::string name = capitals(make);
  for (const auto& form : kBareForms) {
    if (!name.starts_with(form.make)) continue;
    const std::size_t base = form.base == Base::kNote ? note.begin : 0;
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
      const auto role = std::find_if(kTags.begin(), kTags.end(), [&](const Tag& tag) {
        return tag.maker == maker && tag.tag == entry.tag && goes(tag.role);
      });
      const std::size_t begin = place.base + entry.value_offset;
      if (role == kTags.end()) found_.others.push_back({begin, begin + entry.value_bytes});
    }
    std::optional<std::uint32_t> start;
    std::optional<std::uint32_t> bytes;
    for (const auto& tag : kTags) {
      if (tag.maker != maker || (tag.role == Role::kFaces && !faces_leave_)) continue;
      const TiffEntry* entry = directory->find(tag.tag);
      if (tag.role != Role::kSettings) found_.entries.push_back({place, tag.tag});
      if (entry == nullptr) continue;
      if (tag.role == Role::kStart) start = view.number(*entry);
      if (tag.role == Role::kBytes) bytes = view.number(*entry);
      if (goes(tag.role)) add_value(place, *entry);
      if (tag.role == Role::kDirectory) add_directory(place, view, *entry);
      if (tag.role == Role::kCanonFacts) add(place, view.number(*entry, 5), view.number(*entry, 2));
      if (tag.role == Role::kSettings) {
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
  [[nodiscard]] bool goes(Role role) const {
    return role == Role::kPicture || (role == Role::kFaces && faces_leave_);
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
