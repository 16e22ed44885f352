// framewire tensor as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstring>
#include <framewire/random_crop.hpp>
#include <framewire/tensor.hpp>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

class CliTensor : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 5; ++i) {
      write_file(folder_ / ("in/" + std::to_string(i) + ".jpg"),
                 make_jpeg(60 + 10 * static_cast<int>(i), 50, i));
    }
  }
  const TemporaryFolder folder_;
};

TEST_F(CliTensor, WritesWhatTheLibraryDecodesAndSaysWhatEachRowIs) {
  write_text(folder_ / "in/2.jpg", "no JPEG");
  const Ran ran = run_program(
      {"tensor",          folder_ / "in", "--size", "20x12",       "--crop",  "random",  "--flip",
       "random",          "--seed",       "7",      "--epoch",     "3",       "--dtype", "float16",
       "--mean",          "0.5",          "--std",  "0.2,0.3,0.4", "--batch", "2",       "--out",
       folder_ / "b.npy", "--json"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2.jpg"));
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["images"], 5);
  EXPECT_EQ(report["failures"], 1);
  const std::string file = read_text(folder_ / "b.npy");
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_THAT(file.substr(0, 128),
              HasSubstr("{'descr': '<f2', 'fortran_order': False, 'shape': (5, 3, 12, 20), }"));
  const std::size_t image_bytes = 2 * 3 * 12 * 20;
  ASSERT_EQ(file.size(), 128 + 5 * image_bytes);
  const auto rows = read_rows(folder_ / "b.jsonl");
  ASSERT_EQ(rows.size(), 5U);
  TensorOptions options;
  options.width_px = 20;
  options.height_px = 12;
  options.type = TensorType::kFloat16;
  options.mean = {0.5f, 0.5f, 0.5f};
  options.stddev = {0.2f, 0.3f, 0.4f};
  auto decoder = TensorDecoder::make(options).value();
  for (unsigned i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(rows[i]["row"], i);
    EXPECT_EQ(rows[i]["ok"], i != 2);
    const std::string made = file.substr(128 + i * image_bytes, image_bytes);
    if (i == 2) {
      EXPECT_EQ(made, std::string(image_bytes, '\0'));
      EXPECT_EQ(rows[i]["error"]["class"], "invalid_input");
      continue;
    }
    const Bytes jpeg = make_jpeg(60 + 10 * static_cast<int>(i), 50, i);
    const SampleKey key{7, 3, i};
    const CropBox box = random_resized_crop(60 + 10 * static_cast<int>(i), 50, key).value();
    EXPECT_EQ(rows[i]["crop"], json({box.left_px, box.top_px, box.width_px, box.height_px}));
    EXPECT_EQ(rows[i]["flip"], random_flip(key));
    const TensorItem item{jpeg, box, random_flip(key)};
    std::string expected(image_bytes, 'x');
    ASSERT_TRUE(decoder.decode({&item, 1}, {expected.data(), expected.size(), nullptr}));
    EXPECT_TRUE(made == expected);
  }
}

TEST_F(CliTensor, BenchSaysHowFast) {
  const Ran ran = run_program({"tensor", folder_ / "in", "--crop", "center", "--bench", "--seconds",
                               "0.05", "--jobs", "2", "--batch", "2", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["threads"], 2);
  EXPECT_GE(report["images"], 5);
  EXPECT_GT(report["images_per_second"], 0);
  EXPECT_GT(report["images_per_cpu_second"], 0);
}

TEST_F(CliTensor, ArrayIsNoWiderThanAnyInput) {
  fs::permissions(folder_ / "in/1.jpg", fs::perms::owner_read | fs::perms::owner_write);
  const Ran ran = run_program({"tensor", folder_ / "in", "--size", "4x4", "--dtype", "bfloat16",
                               "--layout", "NHWC", "--out", folder_ / "b.npy", "--quiet"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  for (const char* name : {"b.npy", "b.jsonl"}) {
    EXPECT_EQ(
        fs::status(folder_ / name).permissions() & (fs::perms::group_all | fs::perms::others_all),
        fs::perms::none)
        << name;
  }
  EXPECT_THAT(read_text(folder_ / "b.npy").substr(0, 128),
              HasSubstr("'descr': '|V2', 'fortran_order': False, 'shape': (5, 4, 4, 3)"));
}

TEST_F(CliTensor, ReplacesNeitherAnInputNorTheListOfInputs) {
  write_text(folder_ / "train.jsonl", "in/0.jpg\nin/1.jpg\n");
  fs::create_symlink(folder_ / "in/1.jpg", folder_ / "link.npy");
  fs::create_hard_link(folder_ / "in/2.jpg", folder_ / "hard.npy");
  fs::copy(folder_ / "in/3.jpg", folder_ / "in/rows.jsonl");  // an input by its content alone
  write_text(folder_ / "old.npy", "\x93NUMPY");
  const auto before = read_tree(folder_.path());
  const auto refused = [&](const std::vector<std::string>& inputs, const std::string& out,
                           const char* said) {
    SCOPED_TRACE(out);
    std::vector<std::string> arguments = inputs;
    arguments.insert(arguments.begin(), "tensor");
    arguments.insert(arguments.end(), {"--size", "4x4", "--out", out});
    const Ran ran = run_program(arguments, {}, [&] { fs::current_path(folder_.path()); });
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(said));
    EXPECT_TRUE(read_tree(folder_.path()) == before);
  };
  refused({"in/0.jpg"}, "in/0.jpg", "--out: in/0.jpg is an input");
  refused({"in"}, "in/2.jpg", "--out: in/2.jpg is an input");
  refused({"in"}, "link.npy", "--out: link.npy is an input");
  refused({"in"}, "hard.npy", "--out: hard.npy is an input");
  refused({"@train.jsonl"}, "in/1.jpg", "--out: in/1.jpg is an input");
  refused({"@train.jsonl"}, "train.jsonl", "--out: train.jsonl is the list of inputs");
  refused({"@train.jsonl"}, "train.npy",
          "--out: its rows would replace train.jsonl, the list of inputs");
  refused({"in/rows.jsonl", "in/1.jpg"}, "in/rows.npy",
          "--out: its rows would replace in/rows.jsonl, an input");
  refused({"in"}, "train.npy",
          "--out: its rows would replace train.jsonl, which holds no rows of an array");
  const std::string piped = "in/4.jpg\nold.npy\n";
  const Ran ran =
      run_program({"tensor", "--files-from", "-", "--size", "4x4", "--out", "old.npy"},
                  Bytes(piped.begin(), piped.end()), [&] { fs::current_path(folder_.path()); });
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("old.npy is an input"));
  EXPECT_TRUE(read_tree(folder_.path()) == before);
  for (int i = 0; i < 2; ++i) {  // its own array and rows it does replace
    const Ran again = run_program(
        {"tensor", folder_ / "in", "--size", "4x4", "--out", folder_ / "in/b.npy", "--quiet"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
  }
}

TEST_F(CliTensor, AnArrayIsReplacedByOneWithImagesAlone) {
  const Words words = {"--size", "4x4", "--out", folder_ / "b.npy", "--quiet"};
  const auto run = [&](const std::string& in) {
    Words all = {"tensor", in};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all);
  };
  ASSERT_EQ(run(folder_ / "in").exit_code, 0);
  const auto before = read_tree(folder_.path());
  fs::create_directory(folder_ / "empty");
  write_text(folder_ / "list", "");
  for (const std::string& in : {folder_ / "empty", "@" + (folder_ / "list")}) {
    const Ran ran = run(in);
    EXPECT_EQ(ran.exit_code, 2) << in;
    EXPECT_THAT(ran.err, HasSubstr("found no JPEG in IN"));
  }
  fs::remove(folder_ / "list");
  EXPECT_TRUE(read_tree(folder_.path()) == before);
  write_text(folder_ / "notes.txt", "notes");
  const Ran notes =
      run_program({"tensor", folder_ / "in", "--size", "4x4", "--out", folder_ / "notes.txt"});
  EXPECT_EQ(notes.exit_code, 2);
  EXPECT_THAT(notes.err, HasSubstr("notes.txt is a file of another kind"));
  EXPECT_EQ(read_text(folder_ / "notes.txt"), "notes");
}

TEST_F(CliTensor, NamesAFailedImageOnceAndByNoPositionInItsBatch) {
  write_text(folder_ / "in/3.jpg", "no JPEG");
  const Ran ran =
      run_program({"tensor", folder_ / "in/0.jpg", folder_ / "in/3.jpg", folder_ / "in/none.jpg",
                   "--size", "4x4", "--batch", "1", "--out", folder_ / "b.npy", "--quiet"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("3.jpg: no JPEG"));
  EXPECT_THAT(ran.err, Not(HasSubstr("image 0")));
  EXPECT_THAT(ran.err, HasSubstr("none.jpg: cannot"));
  EXPECT_THAT(ran.err, Not(HasSubstr("none.jpg: " + (folder_ / "in/none.jpg"))));
  const auto rows = read_rows(folder_ / "b.jsonl");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1]["error"]["message"].get<std::string>(), ::testing::StartsWith("no JPEG"));
}

TEST_F(CliTensor, BenchCountsNoImageThatFails) {
  write_text(folder_ / "in/0.jpg", "no JPEG");
  const Ran ran = run_program({"tensor", folder_ / "in/0.jpg", folder_ / "in/1.jpg", "--bench",
                               "--seconds", "0.01", "--batch", "2", "--json"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["failures"], 1);
  EXPECT_EQ(report["images"].get<double>() * 3 * 224 * 224 * 4, report["bytes_out"]);
  EXPECT_EQ(report["images"].get<std::size_t>() * read_file(folder_ / "in/1.jpg").size(),
            report["bytes_in"]);
}

TEST_F(CliTensor, UsageErrorsSayWhatIsAccepted) {
  const auto refused = [&](std::vector<std::string> more, const char* said) {
    more.insert(more.begin(), {"tensor", folder_ / "in"});
    const Ran ran = run_program(more);
    EXPECT_EQ(ran.exit_code, 2) << said;
    EXPECT_THAT(ran.err, HasSubstr(said));
  };
  EXPECT_EQ(run_program({"tensor"}).exit_code, 2);
  refused({"--size", "0x5"}, "--size");
  refused({"--size", "224"}, "WIDTHxHEIGHT");
  refused({"--crop", "1,2,3"}, "LEFT,TOP,WIDTH,HEIGHT");
  refused({"--crop", "middle"}, "none, center, random");
  refused({"--mean", "1,2"}, "a number from -3.4e38 to 3.4e38, or 3, joined by commas");
  refused({"--mean", "nan"}, "accepted: a number from -3.4e38 to 3.4e38");
  refused({"--std", "1e-50"}, "accepted: a number from 1.4e-45 to 3.4e38, positive or negative");
  refused({"--std", "0"}, "--std: found 0; accepted: finite numbers other than 0");
  refused({"--dtype", "uint8", "--mean", "0.5"},
          "--dtype: uint8 cannot hold normalised values; accepted with it: no --mean and no --std");
  refused({"--dtype", "int4"}, "uint8|float16");
  refused({"--interpolation", "area", "--no-antialias"},
          "--no-antialias: lanczos3 and area always antialias; accepted with it: --interpolation "
          "bilinear and bicubic");
  refused({"--seconds", "5"}, "--seconds: how long --bench goes on; accepted with --bench");
  refused({"--seed", "-1"}, "--seed");
  refused({"--batch", "0"}, "1 to 65536");
  refused({"--bench", "--out", folder_ / "b.npy"}, "either");
  refused({"--bench", "--under-way", "2"},
          "--under-way: batches at once; accepted with --bench and");
  refused({"--device", "0", "--under-way", "2"}, "accepted with --bench and --device");
  refused({"--out", "-"}, "--out: an array is not written to standard output; accepted: a file");
  refused({"--device", "0", "--bench", "--under-way", "17"}, "accepted: 1 to 16");
  refused({"--size", "99999x1"}, "--size: found 99999×1; accepted: sides up to 16384;");
  const Ran device = run_program({"tensor", folder_ / "in", "--device", "1023"});
  EXPECT_EQ(device.exit_code, 3) << "as with resize and batch";
  EXPECT_THAT(device.err, HasSubstr("--device: "));
  EXPECT_THAT(device.err, Not(HasSubstr("-1")));
  const Ran nowhere = run_program({"tensor", folder_ / "in", "--out", folder_ / "none/b.npy"});
  EXPECT_EQ(nowhere.exit_code, 3) << nowhere.err;
  const Ran outside = run_program({"tensor", folder_ / "in", "--crop", "0,0,65,50"});
  EXPECT_EQ(outside.exit_code, 1);
  EXPECT_THAT(outside.err, HasSubstr("60×50"));
}

}  // namespace
}  // namespace framewire::test
