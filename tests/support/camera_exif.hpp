// EXIF blocks as cameras write them: maker notes with previews, thumbnails before and behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <jpeg/bytes.hpp>
#include <jpeg/tiff.hpp>
#include <string>
#include <string_view>
#include <tests/support/tiny_jpeg.hpp>
#include <vector>

namespace framewire::jpeg::camera {

/// A directory under construction: inline values, or values placed behind it.
struct Entry {
  std::uint16_t tag = 0;
  TiffType type = TiffType::kLong;
  std::uint32_t count = 1;
  std::uint32_t number = 0;  ///< the value, or its offset where `data` is empty
  Bytes data;                ///< placed behind the directory where it is longer than 4 bytes
};

inline void put(Bytes& out, bool little, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * (little ? i : bytes - 1 - i))));
  }
}

inline std::size_t value_bytes(TiffType type, std::uint32_t count) {
  const std::size_t each = type == TiffType::kShort ? 2 : type == TiffType::kLong ? 4 : 1;
  return each * count;
}

/// Appends a directory whose offsets count from `base`; values follow it.
inline void append_directory(Bytes& out, bool little, std::size_t base,
                             const std::vector<Entry>& entries, std::uint32_t next = 0) {
  std::size_t data_at = out.size() - base + 2 + entries.size() * 12 + 4;
  Bytes data;
  put(out, little, static_cast<std::uint32_t>(entries.size()), 2);
  for (const auto& entry : entries) {
    const auto count =
        entry.data.empty()
            ? entry.count
            : static_cast<std::uint32_t>(entry.data.size() / value_bytes(entry.type, 1));
    put(out, little, entry.tag, 2);
    put(out, little, static_cast<std::uint32_t>(entry.type), 2);
    put(out, little, count, 4);
    if (entry.data.empty()) {
      const bool is_short = entry.type == TiffType::kShort && entry.count == 1;
      put(out, little, entry.number, is_short ? 2 : 4);
      if (is_short) put(out, little, 0, 2);
    } else if (entry.data.size() <= 4) {
      append_bytes(out, entry.data);
      out.resize(out.size() + 4 - entry.data.size());
    } else {
      put(out, little, static_cast<std::uint32_t>(data_at + data.size()), 4);
      append_bytes(data, entry.data);
    }
  }
  put(out, little, next, 4);
  append_bytes(out, data);
}

inline Bytes text(std::string_view value) { return Bytes(value.begin(), value.end()); }

/// A JPEG of the whole scene, as previews are: what must not travel along.
inline Bytes preview() { return tiny::baseline(); }

struct Camera {
  std::string make = "ACME";
  bool little = true;
  /// Builds the maker note that will lie at this offset.
  std::function<Bytes(std::size_t)> maker_note;
  bool thumbnail_first = false;  ///< before the maker note, as Olympus and Minolta do
  Bytes behind;                  ///< bytes behind everything, which no EXIF entry covers
  bool thumbnail = true;
};

/// Make, Exif directory {sizes, maker note}, and a thumbnail directory.
inline Bytes exif_block(const Camera& camera) {
  Bytes make = text(camera.make);
  make.push_back(0);
  if (make.size() % 2 != 0) make.push_back(0);
  while (make.size() < 6) make.push_back(0);
  const std::size_t exif_at = 8 + 2 + 2 * 12 + 4 + make.size();
  const std::size_t behind_exif = exif_at + 2 + 3 * 12 + 4;
  const std::size_t thumbnail_bytes = 2 + 2 * 12 + 4 + preview().size();
  const std::size_t note_at = behind_exif + (camera.thumbnail_first ? thumbnail_bytes : 0);
  const Bytes note = camera.maker_note(note_at);
  const std::size_t thumbnail_at =
      camera.thumbnail_first ? behind_exif : behind_exif + note.size() + note.size() % 2;

  Bytes out = text(camera.little ? "II" : "MM");
  put(out, camera.little, 42, 2);
  put(out, camera.little, 8, 4);
  append_directory(out, camera.little, 0,
                   {{0x010F, TiffType::kAscii, 1, 0, make},
                    {0x8769, TiffType::kLong, 1, static_cast<std::uint32_t>(exif_at), {}}},
                   camera.thumbnail ? static_cast<std::uint32_t>(thumbnail_at) : 0);
  append_directory(out, camera.little, 0,
                   {{0x927C,
                     TiffType::kUndefined,
                     static_cast<std::uint32_t>(note.size()),
                     static_cast<std::uint32_t>(note_at),
                     {}},
                    {0xA002, TiffType::kLong, 1, 4000, {}},
                    {0xA003, TiffType::kLong, 1, 3000, {}}});
  const auto append_thumbnail = [&] {
    const auto picture_at = static_cast<std::uint32_t>(thumbnail_at + 2 + 2 * 12 + 4);
    const auto bytes = static_cast<std::uint32_t>(preview().size());
    append_directory(
        out, camera.little, 0,
        {{0x0201, TiffType::kLong, 1, picture_at, {}}, {0x0202, TiffType::kLong, 1, bytes, {}}});
    append_bytes(out, preview());
  };
  if (camera.thumbnail && camera.thumbnail_first) append_thumbnail();
  if (!camera.thumbnail && camera.thumbnail_first) out.resize(note_at);
  append_bytes(out, note);
  if (camera.thumbnail && !camera.thumbnail_first) {
    out.resize(thumbnail_at);
    append_thumbnail();
  }
  append_bytes(out, camera.behind);
  return out;
}

}  // namespace framewire::jpeg::camera
