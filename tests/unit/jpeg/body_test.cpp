// What remains of a finished stream when its head is taken off.
#include <gtest/gtest.h>
#include <jpeg/body.hpp>
#include <tests/support/tiny_jpeg.hpp>

namespace framewire::jpeg {
namespace {

Bytes soi() {
  Bytes out;
  write_marker(out, marker::kSoi);
  return out;
}

/// DQT to EOI of a small picture with restart markers, fill bytes and stuffing in its data.
Bytes make_body() {
  Bytes out;
  tiny::write_standard_tables(out);
  write_sof(out, tiny::color_frame(32, 16));
  write_dri(out, 1);
  write_sos(out, tiny::color_scan());
  const Bytes entropy{0x12, 0xFF, 0x00, 0x34, 0xFF, 0xD0, 0xFF, 0x00, 0x56};
  out.insert(out.end(), entropy.begin(), entropy.end());
  write_eoi(out);
  return out;
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(AppendBody, LeavesOutTheHeadAndWhatFollowsEoi) {
  Bytes head = soi();
  write_segment(head, marker::kApp0, Bytes(14, 7));
  write_segment(head, marker::kCom, Bytes{});
  Bytes stream = joined(head, make_body());
  stream.push_back(0x99);
  Bytes out{1, 2, 3};
  const auto done = append_body(stream, out);
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(out, joined({1, 2, 3}, make_body()));
}

TEST(AppendBody, TakesApplicationSegmentsFromBetweenTables) {
  Bytes stream = soi();
  write_dqt(stream, 0, quality_tables(50).luminance);
  Bytes expected(stream.begin() + 2, stream.end());
  write_segment(stream, marker::kApp14, Bytes(12, 1));
  const Bytes body = make_body();
  Bytes out;
  ASSERT_TRUE(append_body(joined(stream, body), out));
  EXPECT_EQ(out, joined(expected, body));
}

TEST(AppendBody, CutAnywhereItRefusesAndAppendsNothing) {
  const Bytes stream = joined(soi(), make_body());
  for (std::size_t length = 0; length < stream.size(); ++length) {
    Bytes out{42};
    auto done = append_body({stream.data(), length}, out);
    ASSERT_FALSE(done) << length;
    EXPECT_EQ(done.error().code(), StatusCode::kInvalidInput);
    EXPECT_EQ(out, Bytes{42});
  }
}

TEST(AppendBody, BytesBetweenSegmentsAreRefused) {
  Bytes stream = soi();
  stream.push_back(0x00);
  Bytes out;
  EXPECT_FALSE(append_body(joined(stream, make_body()), out));
}

}  // namespace
}  // namespace framewire::jpeg
