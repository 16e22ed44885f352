// The program as users meet it: words, exit codes, pipes, and what it says about itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <framewire/options.hpp>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Cli : public ::testing::Test {
 protected:
  Cli() {
    write_file(in_, make_jpeg(64, 48));
    write_text(folder_ / "broken.jpg", "this is no JPEG");
  }

  const TemporaryFolder folder_;
  const std::string in_ = folder_ / "in.jpg";
  const std::string out_ = folder_ / "out.jpg";
};

TEST_F(Cli, ResizesAFile) {
  const Ran ran = run_program({"resize", in_, out_, "--size", "32x"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(decode_size(read_file(out_)), (Size{32, 24}));
  EXPECT_TRUE(contains(ran.err, "64x48")) << ran.err;
  EXPECT_TRUE(contains(ran.err, "32x24")) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST_F(Cli, ResizesFromPipeToPipe) {
  const Ran ran = run_program({"resize", "-", "-", "--size=16"}, read_file(in_));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Bytes out(ran.out.begin(), ran.out.end());
  EXPECT_EQ(decode_size(out), (Size{16, 12}));
}

TEST_F(Cli, ReportsInJson) {
  const Ran ran = run_program({"resize", in_, out_, "--size", "32", "--json", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["in"]["w"], 64);
  EXPECT_EQ(report["out"]["h"], 24);
  EXPECT_EQ(report["out"]["bytes"], fs::file_size(out_));
  EXPECT_EQ(report["options"], "size=32x");
  EXPECT_EQ(report["warnings"], json::array());
  EXPECT_GT(report["times_us"]["total"], 0);
}

// The input has quality 75: at the default it would come out larger.
TEST_F(Cli, HandsTheOriginalOnAndSaysSo) {
  const auto resize = [&](const Words& more) {
    Words words = {"resize", in_, out_, "--size", "800x600"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  };
  const Ran told = resize({});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_TRUE(contains(told.err, "original kept")) << told.err;
  EXPECT_EQ(read_file(out_), read_file(in_)) << "libjpeg writes the head that we would";
  const json kept = json::parse(resize({"--json", "--quiet"}).out);
  EXPECT_EQ(kept["original_kept"], true);
  EXPECT_EQ(kept["out"]["bytes"], fs::file_size(in_));
  EXPECT_EQ(kept["quality"], 0);
  const json encoded = json::parse(resize({"--json", "--quiet", "--always-encode"}).out);
  EXPECT_EQ(encoded["original_kept"], false);
  EXPECT_EQ(encoded["quality"], 80);
  EXPECT_EQ(encoded["options"], "size=800x600 always-encode=true");
  EXPECT_GT(fs::file_size(out_), fs::file_size(in_));
  EXPECT_FALSE(contains(resize({"--always-encode"}).err, "original kept"));
}

TEST_F(Cli, BatchSaysWhichOriginalsItHandedOn) {
  write_file(folder_ / "in/small.jpg", make_jpeg(64, 48));
  write_file(folder_ / "in/large.jpg", make_jpeg(640, 480));
  const std::string manifest = folder_ / "m.jsonl";
  const Ran ran = run_program(
      {"batch", folder_ / "in", folder_ / "out", "--size", "100x", "--manifest", manifest});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto rows = read_rows(manifest);
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) {
    EXPECT_EQ(row["original_kept"], row["name"] == "small.jpg") << row["name"];
  }
  EXPECT_EQ(read_file(folder_ / "out/small.jpg"), read_file(folder_ / "in/small.jpg"));
}

TEST_F(Cli, LastOfRepeatedOptionsCounts) {
  const Ran ran = run_program(
      {"resize", in_, out_, "--size", "10x", "--size", "32x", "--json", "--enlarge=false"});
  EXPECT_EQ(json::parse(ran.out)["options"], "size=32x") << ran.err;
}

struct Refusal {
  const char* what;
  Words arguments;
  int exit_code;
  const char* says;
};

// {in}, {out} and {folder} stand for the test's own paths.
const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> table = {
      {"no command", {}, 2, ""},
      {"mistyped command", {"rezise", "a", "b"}, 2, "did you mean resize?"},
      {"unknown command", {"frobnicate"}, 2, "unknown command frobnicate"},
      {"mistyped option", {"resize", "{in}", "{out}", "--qualty", "3"}, 2, "mean --quality?"},
      {"mistyped with =", {"resize", "{in}", "{out}", "--sise=3"}, 2, "did you mean --size?"},
      {"unknown option", {"resize", "{in}", "{out}", "--frobnicate"}, 2, "--frobnicate"},
      {"missing OUT", {"resize", "{in}"}, 2, "found 1 argument"},
      {"too many", {"resize", "{in}", "{out}", "x"}, 2, "found 3 arguments"},
      {"missing value", {"resize", "{in}", "{out}", "--quality"}, 2, "--quality"},
      {"nothing behind =",
       {"resize", "{in}", "{out}", "--size="},
       2,
       "--size: found ''; accepted: WxH, Wx, xH or W"},
      {"nothing behind an own =",
       {"resize", "{in}", "{out}", "--mode="},
       2,
       "--mode: found no value; accepted: OCTAL"},
      {"no bytes",
       {"resize", "{in}", "{out}", "--max-input-bytes", "0"},
       2,
       "--max-input-bytes: found '0'; accepted: a number of bytes from 1"},
      {"bad memory",
       {"resize", "{in}", "{out}", "--gpu-memory", "8q"},
       2,
       "--gpu-memory: found '8q'; accepted: a number of bytes from 1, with k, M or G"},
      {"bad number",
       {"resize", "{in}", "{out}", "--quality", "101"},
       2,
       "--quality: found '101'; accepted: a whole number from 1 to 100"},
      {"bad word", {"resize", "{in}", "{out}", "--kernel", "sinc"}, 2, "one of lanczos3"},
      {"bad size", {"resize", "{in}", "{out}", "--size", "0x0"}, 2, "--size: found '0x0'"},
      {"half a background",
       {"resize", "{in}", "{out}", "--background", "ffffff"},
       2,
       "--background"},
      {"bad durability", {"resize", "{in}", "{out}", "--durability", "disk"}, 2, "none|file"},
      {"json to a pipe", {"resize", "{in}", "-", "--json"}, 2, "--json"},
      {"OUT a folder", {"resize", "{in}", "{folder}"}, 2, "OUT is a folder"},
      {"OUT is IN", {"resize", "{in}", "{in}"}, 2, "OUT is IN itself"},
      {"no input", {"resize", "{folder}/none.jpg", "{out}"}, 1, "No such file"},
      {"no JPEG", {"resize", "{folder}/broken.jpg", "{out}"}, 1, "invalid_input: {folder}/broken"},
      {"a folder as input", {"resize", "{folder}", "{out}"}, 1, "found a folder"},
      {"too large", {"resize", "{in}", "{out}", "--max-input-pixels", "100"}, 1, "too_large: {in}"},
      {"too many bytes", {"resize", "{in}", "{out}", "--max-input-bytes", "100"}, 1, "too_large"},
      {"no place for OUT", {"resize", "{in}", "{in}/x.jpg"}, 3, "io_error"},
      {"batch of nothing", {"batch", "{folder}"}, 2, "found one path"},
      {"bad shard", {"batch", "{folder}", "{out}", "--shard", "3/2"}, 2, "--shard: found '3/2'"},
      {"zeroth shard", {"batch", "{folder}", "{out}", "--shard", "0/2"}, 2, "--shard"},
      {"no jobs", {"batch", "{folder}", "{out}", "--jobs", "0"}, 2, "--jobs: found '0'"},
      {"bad on-error", {"batch", "{folder}", "{out}", "--on-error", "stop"}, 2, "skip|fail"},
      {"resume without manifest", {"batch", "{folder}", "{out}", "--resume"}, 2, "--manifest"},
      {"batch in place", {"batch", "{folder}", "{folder}"}, 2, "OUT_DIR is IN itself"},
      {"two folders", {"batch", "{folder}", "{folder}", "{out}"}, 2, "is a folder"},
      {"batch into a file", {"batch", "{folder}", "{in}"}, 3, "output folder"},
      {"no input folder", {"batch", "{folder}/none", "{out}"}, 3, "No such file"},
      {"no list", {"batch", "@{folder}/none", "{out}"}, 3, "No such file"},
      {"list and files", {"batch", "{in}", "{out}", "--files-from", "x"}, 2, "accepted: either"},
      {"foreign manifest", {"batch", "{folder}", "{out}", "--manifest", "{in}"}, 2, "no row"},
      {"foreign resume",
       {"batch", "{folder}", "{out}", "--manifest", "{in}", "--resume"},
       2,
       "manifest of an earlier run"},
      {"unknown shell", {"completion", "csh"}, 2, "bash, zsh or fish"},
      {"bench of nothing", {"bench", "resize"}, 2, "bench"},
      {"bench of the unknown", {"bench", "encode", "{in}"}, 2, "found 'encode'"},
      {"bench codec", {"bench", "resize", "{in}", "--codec", "turbo,x"}, 2, "--codec: found 'x'"},
      {"bench memory", {"bench", "jpeg2jpeg", "{in}", "--memory", "x"}, 2, "--memory: found 'x'"},
      {"bench vary", {"bench", "jpeg2jpeg", "{in}", "--vary", "size,x"}, 2, "found 'size,x'"},
      {"bench vary size", {"bench", "jpeg2jpeg", "{in}", "--vary", "size"}, 2, "found no --size"},
      {"bench device",
       {"bench", "jpeg2jpeg", "{in}", "--device", "0"},
       2,
       "--device: --codec turbo uses no GPU"},
      {"bench rate", {"bench", "jpeg2jpeg", "{in}", "--rate", "0"}, 2, "--rate: found '0'"},
      {"bench parts", {"bench", "jpeg2jpeg", "{in}", "--parts", "x"}, 2, "--parts: found 'x'"},
      {"bench of no part",
       {"bench", "jpeg2jpeg", "{in}", "--parts", "none"},
       2,
       "--parts: found 'none'"},
      {"bench memory of no part",
       {"bench", "jpeg2jpeg", "{in}", "--parts", "latency", "--memory-over-time"},
       2,
       "found no throughput in --parts"},
      {"bench seed", {"bench", "jpeg2jpeg", "{in}", "--seed", "-1"}, 2, "--seed: found '-1'"},
      {"bench profile",
       {"bench", "jpeg2jpeg", "{in}", "--profiles", "{folder}/none.icc"},
       2,
       "--profiles: {folder}/none.icc: "},
      {"bench rate of resize",
       {"bench", "resize", "{in}", "--rate", "5"},
       2,
       "--rate: bench resize"},
      {"bench device of resize",
       {"bench", "resize", "{in}", "--device", "0"},
       2,
       "--device: bench resize has no use for it"},
      {"bench jobs of an engine",
       {"bench", "jpeg2jpeg", "{in}", "--jobs", "2"},
       2,
       "--jobs: bench jpeg2jpeg has no use for it; accepted with resize"},
      {"stream and nobody's word",
       {"stream", "{in}", "127.0.0.1:1"},
       2,
       "--psk is missing: nothing says who is who; accepted: --psk FILE"},
      {"stream to no address", {"stream", "{in}", "foo", "--insecure"}, 2, "found 'foo'"},
      {"stream in two ways",
       {"stream", "{in}", "127.0.0.1:1", "--psk", "k", "--insecure"},
       2,
       "found --psk and --insecure"},
      {"stream with half a certificate",
       {"stream", "{in}", "127.0.0.1:1", "--cert", "x"},
       2,
       "--key is missing: --cert needs it"},
      {"stream without its keys",
       {"stream", "{in}", "127.0.0.1:1", "--psk", "{folder}/none"},
       3,
       "--psk: {folder}/none: "},
      {"stream without its certificate",
       {"stream", "{in}", "127.0.0.1:1", "--cert", "{folder}/none", "--key", "x", "--ca", "y"},
       3,
       "--cert: {folder}/none: "},
      {"stream with a picture for a certificate",
       {"stream", "{in}", "127.0.0.1:1", "--cert", "{in}", "--key", "{in}", "--ca", "{in}"},
       2,
       "--cert: {in}: not usable as PEM"},
      {"perf to no address", {"perf", "bw", "foo", "--insecure"}, 2, "found 'foo'"},
      {"perf at no address",
       {"perf", "bw", "--server", "foo", "--insecure"},
       2,
       "--server: found 'foo'"},
      {"perf and nobody's word", {"perf", "bw", "127.0.0.1:1"}, 2, "--psk is missing"},
      {"sink at no address", {"sink", "--listen", "foo", "--insecure"}, 2, "--listen: found 'foo'"},
      {"sink that names a key",
       {"sink", "--listen", ":0", "--psk", "k", "--psk-name", "one"},
       2,
       "--psk-name: who listens takes every key"},
      {"bench jobs", {"bench", "resize", "{in}", "--jobs", "1,"}, 2, "--jobs"},
      {"inspect nothing", {"inspect", "{folder}/none.jpg"}, 1, "No such file"},
  };
  return table;
}

TEST_F(Cli, RefusesWithTheRightCodeAndWords) {
  const auto filled = [&](std::string text) {
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"{in}", in_},
                                     {"{out}", out_},
                                     {"{folder}", folder_.path().string()}}) {
      for (auto at = text.find(key); at != std::string::npos; at = text.find(key)) {
        text.replace(at, key.size(), value);
      }
    }
    return text;
  };
  const auto before = read_tree(folder_.path());
  for (const Refusal& refusal : refusals()) {
    Words arguments;
    for (const std::string& argument : refusal.arguments) arguments.push_back(filled(argument));
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.exit_code, refusal.exit_code) << refusal.what << ": " << ran.err;
    EXPECT_TRUE(contains(ran.err, filled(refusal.says))) << refusal.what << ": " << ran.err;
    EXPECT_FALSE(contains(ran.err, "terminate")) << refusal.what << ": " << ran.err;
  }
  EXPECT_EQ(read_tree(folder_.path()), before) << "a refused command changed files";
}

TEST_F(Cli, ReplacesInPlaceOnlyWhenTold) {
  EXPECT_EQ(run_program({"resize", in_, in_, "--size", "16", "--in-place"}).exit_code, 0);
  EXPECT_EQ(decode_size(read_file(in_)), (Size{16, 12}));
}

TEST_F(Cli, WritesToDevicesWithoutReplacingThem) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // Held open for reading and writing, so that neither side waits for the other.
  const int held = ::open(pipe.c_str(), O_RDWR);
  EXPECT_EQ(run_program({"resize", in_, pipe, "--size", "16"}).exit_code, 0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  std::array<std::uint8_t, 2> head{};
  EXPECT_EQ(::read(held, head.data(), head.size()), 2);
  ::close(held);
  EXPECT_EQ(head, (std::array<std::uint8_t, 2>{0xFF, 0xD8}));
}

TEST_F(Cli, FullDeviceIsTheEnvironmentsFault) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Ran ran = run_program({"resize", in_, "/dev/full"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(contains(ran.err, "No space left")) << ran.err;
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// Runs the program with standard output a pipe that nobody reads.
Ran run_with_closed_output(const Words& arguments) {
  int pipe[2] = {};
  EXPECT_EQ(::pipe(pipe), 0);
  ::close(pipe[0]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> words = {const_cast<char*>(FRAMEWIRE_PROGRAM)};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    ::execv(FRAMEWIRE_PROGRAM, words.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  return wait_for(child);
}

TEST_F(Cli, AReaderThatLeavesEndsAListingQuietlyAndFailsAnImage) {
  const Ran listing = run_with_closed_output({"inspect", in_});
  EXPECT_EQ(listing.exit_code, 0);
  EXPECT_EQ(listing.signal, 0);
  const Ran image = run_with_closed_output({"resize", in_, "-"});
  EXPECT_EQ(image.exit_code, 3);
  EXPECT_EQ(image.signal, 0);
}

TEST_F(Cli, ControlCharactersOfNamesDoNotReachTheTerminal) {
  const Ran ran = run_program({"resize", folder_ / "a\x1b[2J\n.jpg", out_});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_FALSE(contains(ran.err, "\x1b"));
  EXPECT_TRUE(contains(ran.err, "\\x1b[2J\\x0a")) << ran.err;
}

TEST_F(Cli, StrictRefusesWhatDecodesWithWarnings) {
  Bytes cut = make_jpeg(640, 480);
  cut.resize(cut.size() * 2 / 3);
  write_file(folder_ / "cut.jpg", cut);
  const Ran lenient = run_program({"resize", folder_ / "cut.jpg", out_, "--size", "32"});
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_TRUE(contains(lenient.err, "warning: ")) << lenient.err;
  EXPECT_EQ(decode_size(read_file(out_)), (Size{32, 24}));
  const Ran strict = run_program({"resize", folder_ / "cut.jpg", folder_ / "no.jpg", "--strict"});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "no.jpg"));
}

TEST_F(Cli, InspectTellsMarkerByMarker) {
  const Ran ran = run_program({"inspect", in_, "--json", "--size", "16"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const json model = json::parse(ran.out);
  EXPECT_EQ(model["bytes"], fs::file_size(in_));
  EXPECT_EQ(model["frame"]["w"], 64);
  EXPECT_EQ(model["frame"]["sampling"], "420");
  EXPECT_EQ(model["frame"]["process"], "baseline");
  EXPECT_EQ(model["markers"].front()["marker"], "SOI");
  EXPECT_EQ(model["markers"].back()["marker"], "EOI");
  std::uint64_t end = 0;
  for (const json& marker : model["markers"]) {
    EXPECT_EQ(marker["offset"], end) << marker;
    end = marker["offset"].get<std::uint64_t>() + marker["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(end, fs::file_size(in_)) << "markers leave bytes unexplained";
  ASSERT_EQ(model["codecs"].size(), 3u);
  for (const json& codec : model["codecs"]) {
    if (codec["codec"] == "cuda" && codec["supported"] == false) {
      EXPECT_TRUE(contains(codec["error"]["message"].get<std::string>(), "this build has no CUDA"))
          << codec;
      continue;
    }
    EXPECT_EQ(codec["supported"], true) << codec;
    EXPECT_EQ(codec["output"]["w"], 16);
  }
  const Ran text = run_program({"inspect", in_});
  EXPECT_TRUE(contains(text.out, "64x48 baseline")) << text.out;
  EXPECT_TRUE(contains(text.out, "codec     turbo")) << text.out;
}

TEST_F(Cli, InspectSaysWhatLimitsWouldRefuse) {
  const Ran ran = run_program({"inspect", in_, "--json", "--max-input-pixels", "10"});
  EXPECT_EQ(ran.exit_code, 0) << "looking is not limited";
  const json model = json::parse(ran.out);
  EXPECT_EQ(model["frame"]["w"], 64);
  EXPECT_EQ(model["codecs"][0]["error"]["class"], "too_large");
}

TEST_F(Cli, InspectGoesOnAfterABrokenFile) {
  const Ran ran = run_program({"inspect", folder_ / "broken.jpg", in_, "--json"});
  EXPECT_EQ(ran.exit_code, 1);
  const json models = json::parse(ran.out);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0]["error"]["class"], "invalid_input");
  EXPECT_EQ(models[1]["frame"]["h"], 48);
}

// Help, completion and manual: every option of the grammar is in each.
TEST_F(Cli, HelpManualAndCompletionKnowEveryOption) {
  const std::string help = run_program({"resize", "--help"}).out;
  const std::string manual = run_program({"man"}).out;
  Words scripts;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    scripts.push_back(run_program({"completion", shell}).out);
  }
  for (const OptionSpec& spec : option_specs()) {
    const std::string name(spec.name);
    EXPECT_TRUE(contains(help, "--" + name + " ")) << name;
    std::string roff = "--" + name;
    for (std::size_t at = 0; (at = roff.find('-', at)) != std::string::npos; at += 2) {
      roff.replace(at, 1, "\\-");
    }
    EXPECT_TRUE(contains(manual, roff)) << name;
    EXPECT_TRUE(contains(scripts[0], "--" + name)) << name;
    EXPECT_TRUE(contains(scripts[1], "--" + name)) << name;
    EXPECT_TRUE(contains(scripts[2], "-l " + name + " ")) << name;
  }
  EXPECT_TRUE(contains(help, "Exit codes:"));
  for (const char* command : {"resize", "batch", "inspect", "bench", "completion", "man"}) {
    EXPECT_EQ(run_program({command, "--help"}).exit_code, 0) << command;
    EXPECT_TRUE(contains(run_program({"--help"}).out, command)) << command;
  }
  EXPECT_EQ(run_program({"help", "batch"}).out, run_program({"batch", "--help"}).out);
  EXPECT_EQ(run_program({"help"}).exit_code, 0);
  EXPECT_TRUE(contains(run_program({"--version"}).out, "framewire 0."));
  EXPECT_TRUE(contains(run_program({"version"}).out, "framewire 0."));
}

// Lets a shell or another tool judge a generated text. 127: the tool is not installed.
int judge(const std::string& command, const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / "text", text);
  const std::string line =
      command + " " + (folder / "text") + " >" + (folder / "said") + " 2>&1 </dev/null";
  const int status = std::system(line.c_str());
  const std::string said = read_text(folder / "said");
  EXPECT_EQ(said.substr(0, 500), "") << command;
  return WEXITSTATUS(status);
}

bool installed(const std::string& tool) {
  return std::system(("command -v " + tool + " >/dev/null 2>&1").c_str()) == 0;
}

TEST_F(Cli, GeneratedTextsAreWellFormed) {
  ASSERT_TRUE(installed("bash"));
  EXPECT_EQ(judge("bash -n", run_program({"completion", "bash"}).out), 0);
  for (const std::string shell : {"zsh", "fish"}) {
    if (!installed(shell)) continue;
    EXPECT_EQ(judge(shell + " -n", run_program({"completion", shell}).out), 0);
  }
  if (installed("groff")) {
    EXPECT_EQ(judge("groff -man -Tutf8 -ww -z", run_program({"man"}).out), 0);
  }
}

TEST_F(Cli, BashCompletesCommandsOptionsAndChoices) {
  write_text(folder_ / "completion", run_program({"completion", "bash"}).out);
  const auto complete = [&](const std::string& words, int at) {
    const std::string line = "bash -c 'source " + (folder_ / "completion") + "; COMP_WORDS=(" +
                             words + "); COMP_CWORD=" + std::to_string(at) +
                             "; _framewire; echo \"${COMPREPLY[@]}\"' >" + (folder_ / "said");
    EXPECT_EQ(std::system(line.c_str()), 0);
    return read_text(folder_ / "said");
  };
  EXPECT_EQ(complete("framewire re", 1), "resize report\n");
  EXPECT_EQ(complete("framewire resize a b --qual", 4), "--quality\n");
  EXPECT_EQ(complete("framewire resize a b --kernel bi", 5), "bicubic bilinear\n");
  EXPECT_EQ(complete("framewire batch a b --on-error s", 5), "skip\n");
  EXPECT_EQ(complete("framewire completion z", 2), "zsh\n");
  EXPECT_TRUE(contains(complete("framewire batch a --manif", 3), "--manifest"));
}

}  // namespace
}  // namespace framewire::test
