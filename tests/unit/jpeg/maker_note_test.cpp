// Maker notes in a kept EXIF: their pictures go, all else stays where it was.
#include <gtest/gtest.h>
#include <algorithm>
#include <jpeg/embedded.hpp>
#include <jpeg/exif.hpp>
#include <tests/support/camera_exif.hpp>

namespace framewire::jpeg {
namespace {

using camera::append_directory;
using camera::Camera;
using camera::Entry;
using camera::preview;

constexpr ExifChanges kChanges{300, 200, true, false};
const Bytes kSecret = camera::text("a setting of the camera");

std::uint32_t long_of(std::size_t value) { return static_cast<std::uint32_t>(value); }

std::size_t position(const Bytes& block, const Bytes& what) {
  const auto found = std::search(block.begin(), block.end(), what.begin(), what.end());
  return static_cast<std::size_t>(found - block.begin());
}

/// What holds for every camera: no picture, and the setting where it was.
void check(const Bytes& original) {
  ASSERT_TRUE(find_picture(original));
  const Bytes copy = rewrite_exif(original, kChanges);
  ASSERT_FALSE(copy.empty());
  EXPECT_FALSE(find_picture(copy));
  // Entropy bytes and tables of the preview are gone too, not only its first bytes.
  const Bytes picture = preview();
  const Bytes tables(picture.begin() + 30, picture.begin() + 60);
  ASSERT_LT(position(original, tables), original.size());
  EXPECT_EQ(position(copy, tables), copy.size());
  EXPECT_EQ(position(copy, kSecret), position(original, kSecret));
  EXPECT_LE(copy.size(), original.size());
}

bool has_tag(const Bytes& block, std::size_t base, std::size_t directory, std::uint16_t tag,
             bool little) {
  const TiffView view(ByteSpan(block).subspan(base), little);
  const auto found = view.directory(directory - base, 0);
  return found && found->find(tag) != nullptr;
}

TEST(JpegMakerNote, ANikonPreviewGoes) {
  for (const bool little : {false, true}) {
    std::size_t note_at = 0;
    Camera nikon{"NIKON CORPORATION", little, {}, false, {}, true};
    nikon.maker_note = [&](std::size_t at) {
      note_at = at;
      Bytes note = camera::text(std::string_view("Nikon\0\2\x10\0\0", 10));
      append_bytes(note, camera::text(little ? "II" : "MM"));
      camera::put(note, little, 42, 2);
      camera::put(note, little, 8, 4);
      const std::size_t preview_directory = 8 + 2 + 2 * 12 + 4 + kSecret.size();
      append_directory(note, little, 10,
                       {{0x0011, TiffType::kLong, 1, long_of(preview_directory), {}},
                        {0x0084, TiffType::kAscii, 1, 0, kSecret}});
      const std::size_t picture = preview_directory + 2 + 2 * 12 + 4;
      append_directory(note, little, 10,
                       {{0x0201, TiffType::kLong, 1, long_of(picture), {}},
                        {0x0202, TiffType::kLong, 1, long_of(preview().size()), {}}});
      append_bytes(note, preview());
      append_bytes(note, camera::text("the end"));
      return note;
    };
    const Bytes original = exif_block(nikon);
    check(original);
    const Bytes copy = rewrite_exif(original, kChanges);
    EXPECT_FALSE(has_tag(copy, note_at + 10, note_at + 18, 0x0011, little));
    EXPECT_TRUE(has_tag(copy, note_at + 10, note_at + 18, 0x0084, little));
    EXPECT_EQ(position(copy, camera::text("the end")), position(original, camera::text("the end")));
  }
}

/// A maker note with letters before a directory whose offsets count from the TIFF header.
std::function<Bytes(std::size_t)> absolute_note(std::string letters, std::vector<Entry> entries,
                                                bool little) {
  return [=](std::size_t at) {
    Bytes whole(at);
    append_text(whole, letters);
    auto list = entries;
    std::size_t end = whole.size() + 2 + (list.size() + 1) * 12 + 4 + kSecret.size();
    list.push_back({0xEEEE, TiffType::kAscii, 1, 0, kSecret});
    for (auto& entry : list) {
      if (entry.number == 0xFFFFFFFF) {
        entry.number = long_of(end);  // stands for the picture's place
      }
      end += entry.data.size() > 4 && entry.tag != 0xEEEE ? entry.data.size() : 0;
    }
    append_directory(whole, little, 0, list);
    append_bytes(whole, preview());
    return Bytes(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end());
  };
}

TEST(JpegMakerNote, PreviewsOfOtherMakersGo) {
  const auto bytes = long_of(preview().size());
  struct Case {
    std::string make;
    std::string letters;
    std::uint16_t start;
    std::uint16_t size;
  };
  for (const Case& c : {Case{"OLYMPUS OPTICAL", std::string("OLYMP\0\1\0", 8), 0x0088, 0x0089},
                        Case{"Minolta Co., Ltd.", "", 0x0088, 0x0089},
                        Case{"PENTAX Corporation", std::string("AOC\0MM", 6), 0x0004, 0x0003},
                        Case{"CASIO COMPUTER", std::string("QVC\0\0\0", 6), 0x0004, 0x0003},
                        Case{"Sony Ericsson", std::string("SEMC MS\0\0\0\0\0\1\0\0\0\0\0\0\0", 20),
                             0x0201, 0x0202}}) {
    for (const bool little : {false, true}) {
      for (const bool thumbnail_first : {false, true}) {
        std::size_t note_at = 0;
        const auto note = absolute_note(c.letters,
                                        {{c.start, TiffType::kLong, 1, 0xFFFFFFFF, {}},
                                         {c.size, TiffType::kLong, 1, bytes, {}}},
                                        little);
        Camera maker{c.make, little, {}, thumbnail_first, {}, true};
        maker.maker_note = [&](std::size_t at) {
          note_at = at;
          return note(at);
        };
        const Bytes original = exif_block(maker);
        check(original);
        const Bytes copy = rewrite_exif(original, kChanges);
        const std::size_t directory = note_at + c.letters.size();
        EXPECT_TRUE(has_tag(original, 0, directory, c.start, little)) << c.make;
        EXPECT_FALSE(has_tag(copy, 0, directory, c.start, little)) << c.make;
        EXPECT_FALSE(has_tag(copy, 0, directory, c.size, little)) << c.make;
        EXPECT_TRUE(has_tag(copy, 0, directory, 0xEEEE, little)) << c.make;
      }
    }
  }
}

TEST(JpegMakerNote, APreviewWithoutItsFirstByteGoes) {
  // Minolta overwrote it.
  Camera minolta{"Minolta Co., Ltd.", false, {}, false, {}, false};
  const auto note = absolute_note("",
                                  {{0x0088, TiffType::kLong, 1, 0xFFFFFFFF, {}},
                                   {0x0089, TiffType::kLong, 1, long_of(preview().size()), {}}},
                                  false);
  minolta.maker_note = [&](std::size_t at) {
    Bytes bytes = note(at);
    bytes[position(bytes, preview())] = 2;
    return bytes;
  };
  check(exif_block(minolta));
}

TEST(JpegMakerNote, APictureInAnUnknownMakerNoteGoes) {
  for (const bool cut_off : {false, true}) {
    Camera unknown;
    unknown.thumbnail = false;
    unknown.maker_note = [&](std::size_t) {
      Bytes note = kSecret;
      append_bytes(note, preview());
      if (cut_off) note.resize(note.size() - 4);
      return note;
    };
    check(exif_block(unknown));
  }
}

TEST(JpegMakerNote, APictureInAnyOtherValueGoes) {
  Camera unknown;
  unknown.maker_note = [](std::size_t) { return kSecret; };
  unknown.behind = preview();
  const Bytes block = exif_block(unknown);
  check(block);
  const Bytes copy = rewrite_exif(block, kChanges);
  EXPECT_LT(copy.size() + 2 * preview().size(), block.size()) << "cut off, not only zeroed";
}

TEST(JpegMakerNote, WithoutAPictureItStaysByteForByte) {
  for (const bool thumbnail_first : {false, true}) {
    Camera unknown;
    unknown.thumbnail_first = thumbnail_first;
    Bytes note = kSecret;
    for (int i = 0; i < 3000; ++i) note.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
    std::size_t note_at = 0;
    unknown.maker_note = [&](std::size_t at) {
      note_at = at;
      return note;
    };
    // Values of the maker note that its entry does not cover, as Olympus and old Nikons write them.
    unknown.behind = camera::text("values behind everything");
    const Bytes original = exif_block(unknown);
    const Bytes copy = rewrite_exif(original, kChanges);
    ASSERT_EQ(copy.size(), original.size());
    EXPECT_TRUE(std::equal(note.begin(), note.end(), copy.begin() + long_of(note_at)));
    EXPECT_EQ(position(copy, unknown.behind), position(original, unknown.behind));
    EXPECT_FALSE(find_picture(copy));
  }
}

TEST(JpegMakerNote, AThumbnailBehindItIsCutOff) {
  Camera unknown;
  unknown.maker_note = [](std::size_t) { return kSecret; };
  const Bytes original = exif_block(unknown);
  const Bytes copy = rewrite_exif(original, kChanges);
  EXPECT_LE(copy.size() + preview().size(), original.size());
}

TEST(JpegMakerNote, DamageOfAnyByteIsSurvived) {
  Camera pentax{"PENTAX Corporation", false, {}, false, {}, true};
  pentax.maker_note = absolute_note(
      std::string("AOC\0MM", 6),
      {{0x0003, TiffType::kLong, 1, 600, {}}, {0x0004, TiffType::kLong, 1, 0xFFFFFFFF, {}}}, false);
  const Bytes whole = exif_block(pentax);
  for (std::size_t at = 0; at < 260; ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      Bytes block = whole;
      block[at] = static_cast<std::uint8_t>(value);
      const Bytes copy = rewrite_exif(block, kChanges);
      EXPECT_LE(copy.size(), block.size());
      if (!copy.empty()) {
        EXPECT_TRUE(read_exif(copy));
      }
    }
  }
}

TEST(JpegMakerNote, FacesLeaveWhereTheyHaveMoved) {
  const Bytes name = camera::text("Ann, who was cropped away");
  struct Case {
    std::string make;
    std::string letters;
    std::uint16_t tag;
    bool from_note;  ///< offsets count from it, else from the block
  };
  for (const Case& c : {Case{"Panasonic", std::string("Panasonic\0\0\0", 12), 0x0061, false},
                        Case{"LEICA", std::string("LEICA\0\0\0", 8), 0x0061, true},
                        Case{"FUJIFILM", std::string("FUJIFILM\x0C\0\0\0", 12), 0x4282, true}}) {
    Camera maker{c.make, true, {}, false, {}, false};
    std::size_t note_at = 0;
    maker.maker_note = [&](std::size_t at) {
      note_at = at;
      const std::size_t base = c.from_note ? 0 : at;
      Bytes whole(base);
      append_text(whole, c.letters);
      append_directory(
          whole, true, 0,
          {{c.tag, TiffType::kUndefined, 1, 0, name}, {0xEEEE, TiffType::kAscii, 1, 0, kSecret}});
      return Bytes(whole.begin() + static_cast<std::ptrdiff_t>(base), whole.end());
    };
    const Bytes original = exif_block(maker);
    ExifChanges changes = kChanges;
    for (const auto places : {Places::kSame, Places::kScaled}) {
      changes.places = places;
      EXPECT_LT(position(rewrite_exif(original, changes), name), original.size()) << c.make;
    }
    changes.places = Places::kMoved;
    const Bytes copy = rewrite_exif(original, changes);
    EXPECT_EQ(position(copy, name), copy.size()) << c.make;
    EXPECT_EQ(position(copy, kSecret), position(original, kSecret)) << c.make;
    const std::size_t base = c.from_note ? note_at : 0;
    const std::size_t directory = note_at + c.letters.size();
    EXPECT_FALSE(has_tag(copy, base, directory, c.tag, true)) << c.make;
    EXPECT_TRUE(has_tag(copy, base, directory, 0xEEEE, true)) << c.make;
  }
}

TEST(JpegExif, TheSubjectStaysWhereItsPixelsAre) {
  Bytes block = camera::text("II");
  camera::put(block, true, 42, 2);
  camera::put(block, true, 8, 4);
  append_directory(block, true, 0, {{0x8769, TiffType::kLong, 1, 26, {}}});
  append_directory(block, true, 0,
                   {{0x9214, TiffType::kShort, 1, 0, {1, 0, 2, 0, 3, 0, 4, 0}},
                    {0xA002, TiffType::kLong, 1, 4000, {}},
                    {0xA214, TiffType::kShort, 1, 0, {1, 0, 2, 0}}});
  for (const auto places : {Places::kSame, Places::kScaled, Places::kMoved}) {
    const Bytes copy = rewrite_exif(block, {300, 200, true, true, places});
    ASSERT_FALSE(copy.empty());
    EXPECT_EQ(has_tag(copy, 0, 26, 0x9214, true), places == Places::kSame);
    EXPECT_EQ(has_tag(copy, 0, 26, 0xA214, true), places == Places::kSame);
    EXPECT_TRUE(has_tag(copy, 0, 26, 0xA002, true));
  }
}

TEST(JpegExif, InteropSaysTheOutputsSizeAndColourSpace) {
  Bytes block = camera::text("II");
  camera::put(block, true, 42, 2);
  camera::put(block, true, 8, 4);
  append_directory(block, true, 0, {{0x8769, TiffType::kLong, 1, 26, {}}});
  append_directory(block, true, 0, {{0xA005, TiffType::kLong, 1, 44, {}}});
  append_directory(block, true, 0,
                   {{0x0001, TiffType::kAscii, 1, 0, camera::text({"R03\0", 4})},
                    {0x1001, TiffType::kLong, 1, 4000, {}},
                    {0x1002, TiffType::kShort, 1, 3000, {}}});
  const Bytes copy = rewrite_exif(block, {300, 200, true, true});
  ASSERT_FALSE(copy.empty());
  const auto interop = TiffView::open(copy)->directory(44);
  ASSERT_TRUE(interop && interop->entries.size() == 3);
  const TiffView view(copy, true);
  EXPECT_EQ(view.number(interop->entries[1]), 300u);
  EXPECT_EQ(view.number(interop->entries[2]), 200u);
  EXPECT_EQ(copy[interop->entries[0].value_offset + 1], '9');
}

}  // namespace
}  // namespace framewire::jpeg
