// Tar headers: what is read, what is written, and what a hostile archive may say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/support/archive.hpp>

namespace framewire::dataset::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TarReader, ListsMembersWithTheirPlaces) {
  Archive archive;
  archive.file("a.jpg", std::string(700, 'a')).file("a.json", "{}").file("dir/", "", '5').end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_THAT(all.names(), ElementsAre("a.jpg", "a.json", "dir/"));
  EXPECT_EQ(all.members[0].begin, 0u);
  EXPECT_EQ(all.members[0].content, 512u);
  EXPECT_EQ(all.members[0].header.size, 700u);
  EXPECT_EQ(all.members[0].end, 512u + 1024);
  EXPECT_EQ(all.members[1].begin, all.members[0].end);
  EXPECT_EQ(all.members[0].header.mode, 0644u);
  EXPECT_EQ(all.members[0].header.user, 01750u);
  EXPECT_EQ(all.members[0].header.mtime_s, 014371573000);
  EXPECT_TRUE(all.members[1].is_file());
  EXPECT_FALSE(all.members[2].is_file());
}

TEST(TarReader, TakesLongNamesInEveryForm) {
  const std::string name = std::string(300, 'n') + ".jpg";
  Archive archive;
  archive.file("././@LongLink", name + '\0', 'L').file("cut", "1");
  archive.pax("path", name).file("cut", "2");
  archive.file("tail.jpg", "3").field(345, "folder/deep");
  archive.end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error);
  EXPECT_THAT(all.names(), ElementsAre(name, name, "folder/deep/tail.jpg"));
  EXPECT_EQ(all.members[1].begin, all.members[0].end) << "extended headers belong to their member";
}

TEST(TarReader, PaxAttributesReplaceFields) {
  Archive archive;
  archive.pax("size", "3").header("a", '0', "00000000000").content("abc");
  archive.pax("mtime", "-1.5").file("b", "");
  archive.pax("uid", "4294967296").file("c", "");
  archive.pax("SCHILY.xattr.user.a=b", "odd").file("d", "").end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_EQ(all.members.size(), 4u);
  EXPECT_EQ(all.members[0].header.size, 3u);
  EXPECT_EQ(all.members[1].header.mtime_s, -2);
  EXPECT_EQ(all.members[2].header.user, 4294967296u);
}

// As GNU tar and Python's tarfile read them; bsdtar passes global headers over.
TEST(TarReader, OwnPaxAttributesWinOverGlobalOnesAndThoseOverFields) {
  Archive archive;
  archive.pax("mtime", "2000", 'g').pax("uname", "everybody", 'g').file("a", "");
  archive.pax("mtime", "3000").file("b", "").pax("uname", "").file("c", "");
  archive.pax("mtime", "2500.5", 'g').file("d", "").end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_THAT(all.names(), ElementsAre("PaxHeader", "PaxHeader", "a", "b", "c", "PaxHeader", "d"));
  const auto mtime = [&](std::size_t i) { return all.members[i].header.mtime_s; };
  const auto user = [&](std::size_t i) { return all.members[i].header.user_name; };
  EXPECT_EQ(mtime(2), 2000);
  EXPECT_EQ(user(2), "everybody");
  EXPECT_EQ(mtime(3), 3000);
  EXPECT_EQ(user(3), "everybody");
  EXPECT_EQ(mtime(4), 2000) << "one member's attributes end with it";
  EXPECT_EQ(user(4), "");
  EXPECT_EQ(mtime(6), 2500) << "a later global header replaces what it says";
  EXPECT_EQ(user(6), "everybody");
}

TEST(TarReader, NamesOfGlobalHeadersGiveWayToOwnOnes) {
  Archive archive;
  archive.pax("path", "global", 'g').file("field", "").file("././@LongLink", "long", 'L');
  archive.file("field", "").pax("path", "own").file("field", "").end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  EXPECT_THAT(all.names(), ElementsAre("PaxHeader", "global", "long", "own"));
}

TEST(TarAttack, GlobalHeadersThatNoTwoProgramsReadAlikeAreRefused) {
  Archive size;
  size.file("a", "1").pax("size", "600", 'g').file("b", "2").end();
  const Walk all = walk(size.bytes);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->code(), StatusCode::kUnsupported);
  EXPECT_EQ(all.error->offset(), 1024u);
  EXPECT_THAT(all.names(), ElementsAre("a"));
  Archive between;
  between.pax("path", "a").pax("mtime", "5", 'g').file("b", "").end();
  ASSERT_TRUE(walk(between.bytes).error);
  EXPECT_EQ(walk(between.bytes).error->code(), StatusCode::kUnsupported);
  Archive large;
  large.header("g", 'g', "00100000001").end();
  ASSERT_TRUE(walk(large.bytes).error);
  EXPECT_EQ(walk(large.bytes).error->code(), StatusCode::kTooLarge);
  Archive names;
  names.pax("path", std::string(3000, 'n'), 'g').pax("uname", std::string(3000, 'n'), 'g').end();
  ASSERT_TRUE(walk(names.bytes).error) << "each member would have a copy";
  EXPECT_EQ(walk(names.bytes).error->code(), StatusCode::kTooLarge);
  Archive wrong;
  wrong.file("g", "7 a=b\n", 'g').file("a", "").end();
  EXPECT_TRUE(walk(wrong.bytes).error);
}

TEST(TarReader, NumbersMayBeInBase256) {
  Archive archive;
  std::string size(12, '\0');
  size[0] = static_cast<char>(0x80);
  size[11] = 5;
  archive.header("a", '0', size).content("12345");
  std::string before_1970(12, static_cast<char>(0xFF));
  archive.file("b", "").field(136, before_1970).end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  EXPECT_EQ(all.members[0].header.size, 5u);
  EXPECT_EQ(all.members[1].header.mtime_s, -1);
}

TEST(TarReader, SparseMembersAreToldAndPassed) {
  Archive archive;
  archive.header("old", 'S', "00000000004").field(482, std::string_view("\1", 1));
  std::string holes(512, '\0');
  holes[504] = 1;
  archive.content(holes).content(std::string(512, '\0')).content("data");
  archive.pax("GNU.sparse.major", "1").file("new", "data").file("after", "").end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_THAT(all.names(), ElementsAre("old", "new", "after"));
  EXPECT_TRUE(all.members[0].sparse);
  EXPECT_TRUE(all.members[1].sparse);
  EXPECT_FALSE(all.members[0].is_file() || all.members[1].is_file());
  EXPECT_EQ(all.members[0].content, 512u * 3);
}

// As GNU tar writes them: the path is of its own making.
TEST(TarReader, SparseMembersHaveTheirOwnNames) {
  std::string records;
  for (const auto& [key, value] : {std::pair{"GNU.sparse.major", "1"},
                                   {"GNU.sparse.name", "d/a.jpg"},
                                   {"path", "./GNUSparseFile.17/a.jpg"}}) {
    tar::add_record(records, key, value);
  }
  Archive archive;
  archive.file("PaxHeader", records, 'x').file("./GNUSparseFile.17/a.jpg", "data");
  archive.pax("GNU.sparse.name", std::string(5000, 'n'), 'g').end();
  const Walk all = walk(archive.bytes);
  EXPECT_THAT(all.names(), ElementsAre("d/a.jpg"));
  EXPECT_TRUE(all.members[0].sparse);
  ASSERT_TRUE(all.error) << "each member would have a copy";
  EXPECT_EQ(all.error->code(), StatusCode::kTooLarge);
}

TEST(TarReader, LinksAndFoldersHaveNoContentWhateverTheySay) {
  Archive archive;
  for (const char type : {'1', '2', '3', '4', '5', '6'}) archive.header("x", type, "00000001000");
  archive.file("v7/", "");
  archive.field(156, std::string_view("\0", 1)).end();
  const Walk all = walk(archive.bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  EXPECT_EQ(all.members.size(), 7u);
}

TEST(TarReader, EndsAtZeros) {
  Archive one_block;
  one_block.file("a", "1").content(std::string(512, '\0'));
  EXPECT_FALSE(walk(one_block.bytes).error);
  Archive lone;
  lone.file("a", "1").content(std::string(512, '\0')).file("b", "2").end();
  const Walk all = walk(lone.bytes);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->offset(), 1024u);
  EXPECT_THAT(all.names(), ElementsAre("a"));
}

// A hole in the middle would end the archive, and all behind it would be lost without a word.
TEST(TarReader, NothingButZerosFollowsTheEnd) {
  Archive archive;
  archive.file("a", "1");
  const std::size_t zeros = archive.bytes.size();
  archive.end();
  const std::vector<std::uint8_t> good = archive.bytes;
  for (const std::size_t more : {512u, 4096u, 200'000u, 1u << 20}) {
    std::vector<std::uint8_t> bytes = good;
    bytes.resize(bytes.size() + more);
    EXPECT_FALSE(walk(bytes).error) << more << " bytes";
    bytes.back() = 1;
    const Walk all = walk(bytes);
    ASSERT_TRUE(all.error) << more << " bytes";
    EXPECT_EQ(all.error->offset(), bytes.size() - 1);
    EXPECT_EQ(all.damaged.begin, bytes.size() - 1);
    EXPECT_THAT(all.error->message(), HasSubstr("something follows the zeros"));
    EXPECT_THAT(all.names(), ElementsAre("a"));
  }
  std::vector<std::uint8_t> two = good;
  two.insert(two.end(), good.begin(), good.end());
  ASSERT_TRUE(walk(two).error) << "concatenated";
  EXPECT_EQ(walk(two).error->offset(), good.size());
  EXPECT_THAT(walk(two).error->message(), HasSubstr("tar --concatenate"));

  // What a download leaves that was broken off, in a file of full size. The rest is not read.
  std::vector<std::uint8_t> broken_off = good;
  broken_off.resize(zeros + tar::Reader::kMaxEndBytes + 1);
  const Walk all = walk(broken_off);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->offset(), zeros);
  EXPECT_EQ(all.damaged.begin, zeros);
  EXPECT_THAT(all.error->message(), HasSubstr("of zeros end the archive"));
}

TEST(TarReader, CutAtEveryByteGivesWhatIsWhole) {
  Archive archive;
  archive.file("a.jpg", std::string(600, 'a')).pax("path", "b.jpg").file("b", "bb").end();
  for (std::size_t bytes = 0; bytes + 512 < archive.bytes.size(); ++bytes) {
    const Walk all =
        walk({archive.bytes.begin(), archive.bytes.begin() + static_cast<long>(bytes)});
    ASSERT_TRUE(all.error) << bytes;
    EXPECT_EQ(all.error->code(), StatusCode::kInvalidInput) << bytes;
    EXPECT_THAT(all.error->to_string(), HasSubstr("cut short")) << bytes;
    EXPECT_EQ(all.members.size(), bytes < 1536 ? 0u : bytes < 1536 + 2048 ? 1u : 2u) << bytes;
  }
}

TEST(TarReader, CutMemberIsNamed) {
  Archive archive;
  archive.header("000123.jpg", '0', "00000002000").content("short");
  const Walk all = walk(archive.bytes);
  ASSERT_TRUE(all.error);
  EXPECT_THAT(all.error->message(), HasSubstr("000123.jpg"));
  EXPECT_EQ(all.damaged.header.name, "000123.jpg");
}

TEST(TarReader, CompressedArchivesAreNamed) {
  std::vector<std::uint8_t> gzip(1024, 1);
  gzip[0] = 0x1F;
  gzip[1] = 0x8B;
  const Walk all = walk(gzip);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->code(), StatusCode::kUnsupported);
  EXPECT_THAT(all.error->message(), HasSubstr("gzip"));
}

TEST(TarAttack, SizesThatOverflowAreRefused) {
  const auto refused = [](std::string_view size) {
    Archive archive;
    archive.header("a", '0', size).end();
    const Walk all = walk(archive.bytes);
    return all.error && all.members.empty() && all.error->code() == StatusCode::kInvalidInput;
  };
  EXPECT_TRUE(refused("777777777777")) << "64 GB that are not there";
  EXPECT_TRUE(refused("-0000000001"));
  EXPECT_TRUE(refused("0000000000x"));
  std::string base256(12, static_cast<char>(0xFF));
  EXPECT_TRUE(refused(base256)) << "-1";
  base256[0] = static_cast<char>(0x80);
  EXPECT_TRUE(refused(base256)) << "2^88 - 1";
  base256.assign(12, '\0');
  base256[0] = static_cast<char>(0x80);
  base256[4] = 0x7F;
  for (std::size_t i = 5; i < 12; ++i) base256[i] = static_cast<char>(0xFF);
  EXPECT_TRUE(refused(base256)) << "2^63 - 1: its padding would wrap";
  for (const char* size : {"9223372036854775807", "18446744073709551616", "-1", "1e3", ""}) {
    Archive archive;
    archive.pax("size", size).file("a", "").end();
    const Walk all = walk(archive.bytes);
    EXPECT_TRUE(all.error && all.members.empty()) << size;
  }
}

TEST(TarAttack, ExtendedHeadersAreBounded) {
  Archive large;
  large.header("x", 'x', "00100000001").end();
  const Walk all = walk(large.bytes);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->code(), StatusCode::kTooLarge);
  Archive many;
  for (int i = 0; i < 1000; ++i) many.pax("path", "a");
  many.file("a", "").end();
  ASSERT_TRUE(walk(many.bytes).error);
  EXPECT_THAT(walk(many.bytes).error->message(), HasSubstr("extended headers"));
}

TEST(TarAttack, WrongPaxRecordsAreRefused) {
  for (const char* records :
       {"5 a=b\n", "7 a=b\n", "6 ab\n", "06a=b\n", "99999999999999999999 a=b\n", "-6 a=b\n",
        "6 =b\n\n", "0 \n", "6 a=b", "6 a=b\n6", "3 \n"}) {
    Archive archive;
    archive.file("x", records, 'x').file("a", "").end();
    EXPECT_TRUE(walk(archive.bytes).error) << records;
  }
}

TEST(TarAttack, AHeaderWithAWrongSumEndsTheArchive) {
  Archive archive;
  archive.file("a", "1").file("b", "2").end();
  archive.bytes[1024 + 3] ^= 1;
  const Walk all = walk(archive.bytes);
  ASSERT_TRUE(all.error);
  EXPECT_EQ(all.error->offset(), 1024u);
  EXPECT_THAT(all.names(), ElementsAre("a"));
}

TEST(TarWriter, WhatIsWrittenIsReadBack) {
  std::vector<tar::Header> headers(7);
  headers[0].name = "plain.jpg";
  headers[1].name = std::string(90, 'f') + "/" + std::string(90, 'g');
  headers[2].name = std::string(400, 'n');
  headers[3].name = "J\xc3\xb6rg.jpg";
  headers[4].name = "old";
  headers[4].mtime_s = -5;
  headers[4].user = std::uint64_t{1} << 40;
  headers[4].user_name = std::string(40, 'u');
  headers[5].name = std::string(101, 'x') + "/";
  headers[6].name = std::string("b\0c.jpg", 7);
  std::vector<std::uint8_t> bytes;
  for (const tar::Header& header : headers) {
    const auto written = tar::encode_header(header);
    EXPECT_EQ(written.size() % tar::kBlockBytes, 0u);
    bytes.insert(bytes.end(), written.begin(), written.end());
  }
  bytes.resize(bytes.size() + 1024);
  const Walk all = walk(bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_EQ(all.members.size(), headers.size());
  for (std::size_t i = 0; i < headers.size(); ++i) {
    EXPECT_EQ(all.members[i].header.name, headers[i].name);
    EXPECT_EQ(all.members[i].header.mtime_s, headers[i].mtime_s);
    EXPECT_EQ(all.members[i].header.user, headers[i].user);
    EXPECT_EQ(all.members[i].header.user_name, headers[i].user_name);
  }
  EXPECT_EQ(tar::encode_header(headers[0]).size(), 512u);
  EXPECT_EQ(tar::encode_header(headers[1]).size(), 512u) << "ustar has a prefix";
}

// What is written below a global header of its archive is read back as it was.
TEST(TarWriter, WhatAGlobalHeaderSaysOtherwiseGoesToPax) {
  tar::PaxAttributes global;
  global.path = "everything";
  global.mtime_s = 2000;
  global.user = 8;
  global.user_name = "everybody";
  tar::Header header;
  header.name = "a.jpg";
  header.mtime_s = 3000;
  header.user = 8;
  Archive archive;
  archive.pax("path", "everything", 'g').pax("mtime", "2000", 'g').pax("uid", "8", 'g');
  archive.pax("uname", "everybody", 'g');
  const auto written = tar::encode_header(header, &global);
  archive.bytes.insert(archive.bytes.end(), written.begin(), written.end());
  const Walk all = walk(archive.end().bytes);
  ASSERT_FALSE(all.error) << all.error->to_string();
  ASSERT_EQ(all.members.size(), 5u);
  EXPECT_EQ(all.members[4].header.name, "a.jpg");
  EXPECT_EQ(all.members[4].header.mtime_s, 3000);
  EXPECT_EQ(all.members[4].header.user_name, "");
  EXPECT_THAT(std::string(written.begin(), written.end()), ::testing::Not(HasSubstr("uid=")));
  global = {};
  EXPECT_EQ(tar::encode_header(header, &global).size(), 512u);
}

TEST(TarWriter, LargeSizesGoToPax) {
  tar::Header header;
  header.name = "a";
  header.size = std::uint64_t{1} << 33;
  const auto written = tar::encode_header(header);
  ASSERT_EQ(written.size(), 1536u);
  EXPECT_THAT(std::string(written.begin(), written.end()), HasSubstr("size=8589934592\n"));
}

TEST(TarWriter, RecordsCountTheirOwnLength) {
  for (std::size_t length = 0; length < 1100; ++length) {
    std::string records;
    tar::add_record(records, "path", std::string(length, 'v'));
    const auto read = tar::parse_records(records);
    ASSERT_TRUE(read) << length;
    EXPECT_EQ(read->path->size(), length);
  }
}

}  // namespace
}  // namespace framewire::dataset::test
