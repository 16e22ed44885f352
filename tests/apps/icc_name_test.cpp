// Names of colour profiles, which writers end in several ways.
#include <gtest/gtest.h>
#include <cstdint>
#include <inspect/icc_name.hpp>
#include <string_view>
#include <vector>

namespace framewire::app {
namespace {

using inspect::icc_name;

using Bytes = std::vector<std::uint8_t>;

void put_u32(Bytes& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

void put_word(Bytes& bytes, std::string_view word) {
  bytes.insert(bytes.end(), word.begin(), word.end());
}

// A profile of one tag, "desc", of type mluc with one name.
Bytes profile_named(std::u16string_view name) {
  Bytes tag;
  put_word(tag, "mluc");
  put_u32(tag, 0);
  put_u32(tag, 1);
  put_u32(tag, 12);
  put_word(tag, "enUS");
  put_u32(tag, static_cast<std::uint32_t>(name.size() * 2));
  put_u32(tag, 28);
  for (const char16_t c : name) {
    tag.push_back(static_cast<std::uint8_t>(c >> 8));
    tag.push_back(static_cast<std::uint8_t>(c & 0xff));
  }
  Bytes profile(128, 0);
  put_u32(profile, 1);
  put_word(profile, "desc");
  put_u32(profile, 144);
  put_u32(profile, static_cast<std::uint32_t>(tag.size()));
  profile.insert(profile.end(), tag.begin(), tag.end());
  return profile;
}

TEST(IccName, AFinalNulIsNoPartOfIt) {
  EXPECT_EQ(icc_name(profile_named(u"Display P3")), "Display P3");
  EXPECT_EQ(icc_name(profile_named(std::u16string_view(u"Display P3\0", 11))), "Display P3");
  EXPECT_EQ(icc_name(profile_named(std::u16string_view(u"P3\0rest", 7))), "P3");
  EXPECT_EQ(icc_name(profile_named(u"Grün")), "Gr?n");
}

}  // namespace
}  // namespace framewire::app
