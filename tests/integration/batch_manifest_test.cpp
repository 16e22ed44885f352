// Manifests: the words of a row, and what is made of damaged ones.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <batch/manifest.hpp>
#include <batch/row.hpp>
#include <cmath>
#include <set>
#include <tests/integration/support.hpp>
#include <thread>

namespace framewire::batch {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

Row ok_row(const std::string& name) {
  Row row;
  row.input = "in/" + name;
  row.output = "out/" + name;
  row.name = name;
  row.outcome = Outcome::kOk;
  row.bytes_in = 1000;
  row.mtime_ns = 1'700'000'000'123'456'789;
  row.bytes_out = 100;
  row.hash = 0x0123456789abcdef;
  row.in_width_px = 640;
  row.in_height_px = 480;
  row.out_width_px = 64;
  row.out_height_px = 48;
  row.codec = CodecKind::kTurbo;
  row.ms = 1.23456;
  row.options_hash = "00000000000000aa";
  return row;
}

DoneRow wanted_from(const Row& row) {
  return {row.name, true, row.bytes_in, row.mtime_ns, row.bytes_out, row.hash, row.options_hash};
}

ManifestWriter open_or_die(const std::string& path, OpenManifest mode) {
  auto opened = ManifestWriter::open(path, mode);
  EXPECT_TRUE(opened) << opened.error().to_string();
  return std::move(*opened);
}

DoneIndex read_or_die(const std::string& path) {
  auto index = read_done_index(path);
  EXPECT_TRUE(index) << index.error().to_string();
  return std::move(*index);
}

// Archives have such names.
TEST(Manifest, AFirstRowOfMegabytesIsARow) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  Row row = ok_row(std::string(300'000, '\x01'));
  row.input = row.name;
  ASSERT_TRUE(open_or_die(path, OpenManifest::kNew).append(row));
  EXPECT_GT(fs::file_size(path), 3u << 20);
  EXPECT_TRUE(ManifestWriter::open(path, OpenManifest::kResume));
}

const std::set<std::string> kKeys = {
    "input",    "output",   "name",      "status",       "error_class",  "message",
    "bytes_in", "mtime_ns", "bytes_out", "hash",         "in",           "out",
    "codec",    "warnings", "ms",        "options_hash", "original_kept"};

std::set<std::string> keys_of(const json& row) {
  std::set<std::string> keys;
  for (const auto& [key, value] : row.items()) keys.insert(key);
  return keys;
}

TEST(ManifestRow, SaysEverythingOfAnOutput) {
  Row row = ok_row("a.jpg");
  row.warnings = {{WarningKind::kTruncated, "the data ends early", 77}};
  const std::string line = to_json_line(row);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const json parsed = json::parse(line);
  EXPECT_EQ(keys_of(parsed), kKeys);
  EXPECT_EQ(parsed["status"], "ok");
  EXPECT_EQ(parsed["error_class"], nullptr);
  EXPECT_EQ(parsed["hash"], "0123456789abcdef");
  EXPECT_EQ(parsed["in"], (json{{"w", 640}, {"h", 480}}));
  EXPECT_EQ(parsed["out"], (json{{"w", 64}, {"h", 48}}));
  EXPECT_EQ(parsed["codec"], "turbo");
  EXPECT_EQ(parsed["original_kept"], false);
  EXPECT_EQ(parsed["ms"], 1.235);
  EXPECT_EQ(parsed["warnings"][0]["offset"], 77);
}

TEST(ManifestRow, TellsTimesInThousandthsOfMilliseconds) {
  Row row = ok_row("a.jpg");
  for (const auto& [ms, text] :
       std::vector<std::pair<double, std::string>>{{0, "0.0"},
                                                   {0.0004, "0.0"},
                                                   {12, "12.0"},
                                                   {0.25, "0.25"},
                                                   {1234567.8916, "1234567.892"},
                                                   {100, "100.0"},
                                                   {std::nan(""), "null"},
                                                   {-HUGE_VAL, "null"}}) {
    row.ms = ms;
    EXPECT_NE(to_json_line(row).find("\"ms\":" + text + ",\""), std::string::npos) << ms;
  }
}

TEST(ManifestRow, SaysWhatFailedAndWhere) {
  Row row;
  row.input = row.name = "a.jpg";
  row.error = Status(StatusCode::kInvalidInput, "no frame").about("a.jpg").at(12);
  const json parsed = json::parse(to_json_line(row));
  EXPECT_EQ(keys_of(parsed), kKeys);
  EXPECT_EQ(parsed["status"], "failed");
  EXPECT_EQ(parsed["error_class"], "invalid_input");
  EXPECT_EQ(parsed["message"], "no frame (at byte 12)");
  EXPECT_EQ(parsed["output"], nullptr);
  EXPECT_EQ(parsed["hash"], nullptr);
  EXPECT_EQ(parsed["in"], nullptr);
}

TEST(ManifestRow, NamesSurviveWhateverTheirBytes) {
  for (const std::string name :
       {"plain.jpg", "with \"quotes\" and \\.jpg", "line\nbreak.jpg", "Zürich 日本.jpg",
        "latin1 \xe9.jpg", "\xff\xfe.jpg", "half \xc3", "nul-free \x01.jpg"}) {
    const auto row = parse_row(to_json_line(ok_row(name)));
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(row->name, name);
    EXPECT_TRUE(row->ok);
  }
}

TEST(ManifestRow, WhatIsNoRowIsNotTakenForOne) {
  const std::string line = to_json_line(ok_row("a.jpg"));
  for (std::size_t length = 0; length + 2 < line.size(); ++length) {
    EXPECT_FALSE(parse_row(std::string_view(line).substr(0, length))) << length;
  }
  for (const char* text : {"[]", "null", "7", "{}", R"({"name":""})", R"({"name":7})",
                           R"({"name":"a","name_hex":"zz"})"}) {
    EXPECT_FALSE(parse_row(text)) << text;
  }
}

TEST(Manifest, NewRefusesToContinueAndResumeContinues) {
  const TemporaryFolder folder;
  const std::string path = folder / "sub/m.jsonl";
  EXPECT_TRUE(open_or_die(path, OpenManifest::kNew).append(ok_row("a")));
  const auto again = ManifestWriter::open(path, OpenManifest::kNew);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(open_or_die(path, OpenManifest::kResume).append(ok_row("b")));
  EXPECT_EQ(test::read_rows(path).size(), 2u);
}

TEST(Manifest, TornLastLineIsCutOffAtEveryLength) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  const std::string first = to_json_line(ok_row("a"));
  const std::string second = to_json_line(ok_row("b"));
  for (std::size_t length = 1; length < second.size(); ++length) {
    test::write_text(path, first + second.substr(0, length));
    EXPECT_TRUE(open_or_die(path, OpenManifest::kResume).append(ok_row("c")));
    ASSERT_EQ(test::read_text(path), first + to_json_line(ok_row("c"))) << length;
  }
}

TEST(Manifest, WhatThereIsOfAFirstRowIsCutOff) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  const std::string first = to_json_line(ok_row("a\"\xC3\xA4"));
  const std::string second = to_json_line(ok_row("b"));
  for (std::size_t length = 2; length < first.size(); ++length) {
    const std::string torn = first.substr(0, length);
    test::write_text(path, torn);
    EXPECT_FALSE(ManifestWriter::open(path, OpenManifest::kNew));
    EXPECT_TRUE(open_or_die(path, OpenManifest::kResume).append(ok_row("c")));
    ASSERT_EQ(test::read_text(path), to_json_line(ok_row("c"))) << length;
    // As a writer leaves it that has found space again.
    test::write_text(path, torn + "\n" + second);
    EXPECT_TRUE(ManifestWriter::open(path, OpenManifest::kResume)) << length;
    EXPECT_TRUE(read_or_die(path).made("b"));
  }
  for (const std::string& foreign :
       {std::string("{\"input\":\"question\",\"answer\":\"b"),
        std::string("{\"input\":\"question\"}"), std::string("{\"input\":\"a\" b"),
        std::string("{\"input\":\"a\",\"output\":1e9999}\n"),
        std::string("{\"input\":\"a\",\"output\":null,\"x\"\n{\"b\":1}\n")}) {
    test::write_text(path, foreign);
    EXPECT_FALSE(ManifestWriter::open(path, OpenManifest::kResume)) << foreign;
    EXPECT_EQ(test::read_text(path), foreign);
  }
}

TEST(Manifest, LinesThatAreTooLongForARowArePassedOver) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  const std::string longest(kMaxRowBytes, '[');
  test::write_text(path, to_json_line(ok_row("a")) + longest + "[\n" + to_json_line(ok_row("b")) +
                             longest + "\n" + to_json_line(ok_row("c")) + longest + longest);
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const DoneIndex index = read_or_die(path);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(index.made(name)) << name;
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 512 << 10) << "KB";
#endif
}

/// Its end may be a row that the other one is writing.
TEST(Manifest, WhatAnotherWriterMayBeWritingIsNotCutOff) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  ManifestWriter other = open_or_die(path, OpenManifest::kNew);
  EXPECT_TRUE(other.append(ok_row("a")));
  const std::string torn = to_json_line(ok_row("b")).substr(0, 30);
  test::write_text(path, test::read_text(path) + torn);
  EXPECT_TRUE(open_or_die(path, OpenManifest::kResume).append(ok_row("c")));
  EXPECT_TRUE(other.append(ok_row("d")));
  EXPECT_EQ(test::read_text(path), to_json_line(ok_row("a")) + torn + "\n" +
                                       to_json_line(ok_row("c")) + to_json_line(ok_row("d")));
  const DoneIndex done = read_or_die(path);
  for (const char* name : {"a", "c", "d"}) EXPECT_TRUE(done.made(name)) << name;
}

TEST(Manifest, ResumeNeverShortensAForeignFile) {
  const TemporaryFolder folder;
  const test::Bytes photo = test::make_jpeg(40, 30);
  test::write_file(folder / "photo.jpg", photo);
  const auto opened = ManifestWriter::open(folder / "photo.jpg", OpenManifest::kResume);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(test::read_file(folder / "photo.jpg"), photo);
}

TEST(Manifest, ConcurrentRowsStayWhole) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  ManifestWriter one = open_or_die(path, OpenManifest::kResume);
  ManifestWriter other = open_or_die(path, OpenManifest::kResume);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ManifestWriter& writer = i % 2 == 0 ? one : other;
      for (int k = 0; k < 100; ++k) {
        EXPECT_TRUE(
            writer.append(ok_row(std::to_string(i) + std::string(500, 'n') + std::to_string(k))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> names;
  for (const json& row : test::read_rows(path)) names.insert(row["name"].get<std::string>());
  EXPECT_EQ(names.size(), 400u);
}

TEST(DoneIndex, KnowsWhatIsDoneAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  const Row row = ok_row("a");
  EXPECT_TRUE(open_or_die(path, OpenManifest::kNew).append(row));
  const DoneIndex index = read_or_die(path);
  EXPECT_TRUE(index.done(wanted_from(row)));
  EXPECT_TRUE(index.done_by_content(wanted_from(row)));

  const auto changed = [&](auto change) {
    DoneRow wanted = wanted_from(row);
    change(wanted);
    return wanted;
  };
  EXPECT_FALSE(index.done(changed([](DoneRow& w) { w.name = "b"; })));
  EXPECT_FALSE(index.done(changed([](DoneRow& w) { ++w.bytes_in; })));
  EXPECT_FALSE(index.done(changed([](DoneRow& w) { ++w.mtime_ns; })));
  EXPECT_FALSE(index.done(changed([](DoneRow& w) { ++w.bytes_out; })));
  EXPECT_FALSE(index.done(changed([](DoneRow& w) { w.options_hash = "bb"; })));
  EXPECT_TRUE(index.done_by_content(changed([](DoneRow& w) { ++w.mtime_ns; })));
  EXPECT_FALSE(index.done_by_content(changed([](DoneRow& w) { w.hash = 1; })));
  EXPECT_FALSE(index.done_by_content(changed([](DoneRow& w) { w.hash.reset(); })));
}

TEST(DoneIndex, TheLatestRowCounts) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  const Row good = ok_row("a");
  Row bad = good;
  bad.outcome = Outcome::kFailed;
  bad.error = Status(StatusCode::kDeadline, "late");
  ManifestWriter writer = open_or_die(path, OpenManifest::kNew);
  EXPECT_TRUE(writer.append(good));
  EXPECT_TRUE(writer.append(bad));
  EXPECT_FALSE(read_or_die(path).done(wanted_from(good)));
  EXPECT_FALSE(read_or_die(path).done_by_content(wanted_from(good)));
  EXPECT_TRUE(writer.append(good));
  EXPECT_TRUE(read_or_die(path).done(wanted_from(good)));
}

TEST(DoneIndex, DamagedLinesHideNoOthers) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.jsonl";
  test::write_text(path, to_json_line(ok_row("a")) + "{\"name\": \"b\", \"sta\n\n\x01\xff\n" +
                             to_json_line(ok_row("c")) + "{\"torn");
  const DoneIndex index = read_or_die(path);
  EXPECT_TRUE(index.done(wanted_from(ok_row("a"))));
  EXPECT_FALSE(index.done(wanted_from(ok_row("b"))));
  EXPECT_TRUE(index.done(wanted_from(ok_row("c"))));
  EXPECT_FALSE(read_or_die(folder / "missing").done(wanted_from(ok_row("a"))));
}

}  // namespace
}  // namespace framewire::batch
