// framewire stream and sink with frames in the memory of GPUs: skipped where there is none, run on
// emulated ones by the emulation preset.
#include <gmock/gmock.h>
#include <framewire/transport.hpp>
#include <nlohmann/json.hpp>
#include <tests/integration/stream_ends.hpp>
#include <transport/device.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int device_count() {
  const auto devices = transport::cuda_devices();
  return devices ? (*devices)->count() : 0;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  int largest = a.size() == b.size() ? 0 : 256;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

class CliDevices : public StreamEnds {
 protected:
  void SetUp() override {
    const int count = device_count();
    if (count == 0) GTEST_SKIP() << "no CUDA device here";
    other_ = count > 1 ? "cuda:1" : "cuda:0";
    StreamEnds::SetUp();
    // A width that no pitch fits, and a file that ends early.
    write_file(folder_ / "in/5.jpg", make_jpeg(37, 29, 5));
    Bytes half = make_jpeg(90, 70, 6);
    half.resize(half.size() * 2 / 3);
    write_file(folder_ / "in/6.jpg", half);
  }
  std::string other_;  ///< another device than cuda:0, if there is one
};

TEST_F(CliDevices, PlanesGoFromDeviceToDeviceAndAreThoseOfTheCpu) {
  start_sink({"--insecure", "--to", other_, "--out", folder_ / "out", "--frames", "14"});
  const Ran device = stream({"--insecure", "--as", "planes", "--from", "cuda:0", "--json"});
  EXPECT_EQ(device.exit_code, 0) << device.err;
  const json report = json::parse(device.out);
  EXPECT_EQ(report["delivered"], 7);
  EXPECT_THAT(report["path"].get<std::string>(), StartsWith("peer"));
  EXPECT_EQ(stream({"--insecure", "--as", "planes"}).exit_code, 0);
  EXPECT_EQ(end_of_sink(), 0);
  const auto files = read_tree(folder_ / "out");
  ASSERT_EQ(files.size(), 14U);
  for (int i = 1; i <= 7; ++i) {
    const std::string name = "-0000000" + std::to_string(i) + ".y4m";
    EXPECT_LE(largest_difference(files.at("0001" + name), files.at("0002" + name)), 1) << i;
  }
}

TEST_F(CliDevices, EveryKindOfPathBringsTheSameBytes) {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"stream", "host"}, {"stream", "cuda:0"}, {"shared", "host"}, {"auto", other_}};
  Bytes first;
  for (const auto& [link, to] : ways) {
    SCOPED_TRACE(link + " to " + to);
    const std::string out = folder_ / ("out-" + link + to);
    start_sink({"--insecure", "--link", link, "--to", to, "--out", out, "--frames", "1"});
    const Words words = {"stream",    folder_ / "in/5.jpg",
                         address_,    "--insecure",
                         "--link",    link,
                         "--as",      "planes",
                         "--from",    "cuda:0",
                         "--checksum"};
    Ran ran;
    for (int i = 0; i < 200; ++i) {
      ran = run_program(words);
      if (ran.err.find("refused") == std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(end_of_sink(), 0);
    const auto files = read_tree(out);
    ASSERT_EQ(files.size(), 1U);
    if (first.empty()) first = files.begin()->second;
    EXPECT_EQ(files.begin()->second, first);
  }
}

TEST_F(CliDevices, OptionsMakeSmallerPlanesAndStreams) {
  start_sink({"--insecure", "--to", other_, "--out", folder_ / "out", "--frames", "14"});
  const Ran planes = stream(
      {"--insecure", "--as", "planes", "--from", "cuda:0", "--size", "33x21", "--resize", "force"});
  EXPECT_EQ(planes.exit_code, 0) << planes.err;
  const Ran streams = stream({"--insecure", "--from", "cuda:0", "--size", "33x"});
  EXPECT_EQ(streams.exit_code, 0) << streams.err;
  EXPECT_EQ(end_of_sink(), 0);
  const Ran split = run_program({"split", folder_ / "in/0.jpg", "--as", "planes", "--size", "33x21",
                                 "--resize", "force", "--out", folder_ / "host"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  const Ran plain = run_program(
      {"resize", folder_ / "in/0.jpg", folder_ / "plain.jpg", "--size", "33x", "--codec", "cuda"});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const auto files = read_tree(folder_ / "out");
  ASSERT_EQ(files.size(), 14U);
  const Bytes expected = read_file(folder_ / "host/0.jpg.y4m");
  EXPECT_LE(largest_difference(files.at("0001-00000001.y4m"), expected), 2);
  EXPECT_EQ(files.at("0002-00000001.jpg"), read_file(folder_ / "plain.jpg"));
}

TEST_F(CliDevices, BatchesForTrainingAreThoseOfTheCpu) {
  const auto make = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "tensor", folder_ / "in", "--size",  "24x16", "--dtype", "uint8",
        "--crop", "random",       "--batch", "3",     "--out",   folder_ / (name + ".npy"),
        "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return read_file(folder_ / (name + ".npy"));
  };
  const Bytes host = make("host", {});
  const Bytes device = make("device", {"--device", "0"});
  ASSERT_GT(host.size(), std::size_t{7} * 24 * 16 * 3);
  EXPECT_LE(largest_difference(host, device), 3);
  EXPECT_EQ(read_text(folder_ / "host.jsonl"), read_text(folder_ / "device.jsonl"));
}

// What fails is told once, however many rounds are made.
TEST_F(CliDevices, BatchesUnderWayAreCountedWhole) {
  write_file(folder_ / "in/broken.jpg", Bytes{1, 2, 3});
  const auto report = [&](const std::string& under_way) {
    const Ran ran =
        run_program({"tensor", folder_ / "in", "--size", "24x16", "--batch", "3", "--device", "0",
                     "--bench", "--seconds", "0.01", "--under-way", under_way, "--json"});
    EXPECT_EQ(ran.exit_code, 1) << ran.err;
    return json::parse(ran.out);
  };
  const json one = report("1");
  for (const std::string under_way : {"2", "3", "16"}) {
    const json many = report(under_way);
    EXPECT_EQ(many["under_way"], std::stoi(under_way));
    EXPECT_EQ(many["failures"], 1);
    EXPECT_EQ(one["failures"], 1);
    const auto images = many["images"].get<std::uint64_t>();
    const auto rounds = many["bytes_in"].get<std::uint64_t>() * one["images"].get<std::uint64_t>();
    EXPECT_GT(images, 0u);
    EXPECT_EQ(rounds, one["bytes_in"].get<std::uint64_t>() * images) << "whole rounds";
  }
}

TEST_F(CliDevices, ANumberThatNoDeviceHasIsAnErrorOfTheCommandLine) {
  const std::string in = folder_ / "in";
  const std::string jpeg = folder_ / "in/0.jpg";
  const std::string sources = folder_ / "s";
  const Words commands[] = {
      {"resize", jpeg, folder_ / "out.jpg", "--device", "99"},
      {"resize", jpeg, folder_ / "out.jpg", "--device", "0,99", "--codec", "cuda"},
      {"batch", in, folder_ / "batch", "--device", "99"},
      {"tensor", in, "--device", "99"},
      {"serve", in, "--listen", "unix:" + sources, "--device", "99"},
      {"serve", in, "--listen", "unix:" + sources, "--device", "99", "--workers", "2"},
      {"bench", "jpeg2jpeg", in, "--device", "99", "--codec", "auto", "--seconds", "0.1"},
      {"bench", "jpeg2jpeg", in, "--device", "99", "--codec", "turbo,cuda", "--seconds", "0.1"},
      {"bench", "serve", in, "--device", "99", "--servers", "1", "--clients", "1", "--mps", "off"},
      {"split", in, "--devices", "99"},
      {"split", in, "--devices", "0", "--encode-on", "99"},
      {"perf", "latency", "--from", "cuda:99"},
      {"perf", "latency", "--to", "cuda:99"},
      {"stream", in, "127.0.0.1:1", "--insecure", "--from", "cuda:99", "--as", "planes"},
      {"sink", "--listen", "127.0.0.1:0", "--insecure", "--to", "cuda:99"},
      {"doctor", "--gpu", "99"},
  };
  for (const Words& words : commands) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2) << words[0] << " " << words[1] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("99")) << words[0];
    EXPECT_EQ(ran.out, "") << words[0];
  }
  EXPECT_FALSE(std::filesystem::exists(std::string(folder_ / "out.jpg")));
}

TEST_F(CliDevices, ARequiredPathThatStagesIsRefused) {
  start_sink({"--insecure", "--to", other_, "--link", "stream", "--frames", "7"});
  const Ran staged = stream(
      {"--insecure", "--as", "planes", "--from", "cuda:0", "--link", "stream", "--require", "p2p"});
  EXPECT_EQ(staged.exit_code, 3);
  EXPECT_THAT(staged.err, HasSubstr("p2p is required, but the path is tcp"));
}

TEST_F(CliDevices, WhatDoesNotGoTogetherIsNamed) {
  const auto said = [&](const Words& more) {
    Words words = {"stream", folder_ / "in", "127.0.0.1:1", "--insecure", "--from", "cuda:0"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(said({}), HasSubstr("accepted: --as planes, or options such as --size"));
  EXPECT_THAT(said({"--as", "planes", "--device", "0"}), HasSubstr("--from names the GPU"));
  EXPECT_THAT(said({"--as", "planes", "--codec", "turbo"}), HasSubstr("auto, cuda"));
}

TEST_F(CliDevices, ASplitOverDevicesWritesWhatTheCodecWrites) {
  const std::string second = other_.substr(5);
  const Ran split =
      run_program({"split", folder_ / "in", "--out", folder_ / "split", "--size", "60x",
                   "--devices", "0," + second, "--encode-on", second, "--json"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  const Ran plain =
      run_program({"batch", folder_ / "in", folder_ / "plain", "--size", "60x", "--codec", "cuda"});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(read_tree(folder_ / "split"), read_tree(folder_ / "plain"));
  const json report = json::parse(split.out);
  ASSERT_EQ(report["devices"].size(), 2U);
  EXPECT_EQ(report["devices"][0]["device"], 0);
  EXPECT_GT(report["devices"][1]["stripes"], 0);
}

/// With no GPU, or without CUDA in the build.
TEST(CliWithoutDevices, ADeviceIsUnsupported) {
  if (device_count() != 0) GTEST_SKIP() << "there are CUDA devices here";
  const TemporaryFolder folder;
  write_file(folder / "0.jpg", make_jpeg(16, 16));
  const Ran sink =
      run_program({"sink", "--listen", "127.0.0.1:0", "--insecure", "--to", "cuda:99"});
  EXPECT_EQ(sink.exit_code, 3);
  EXPECT_THAT(sink.err, HasSubstr("unsupported: --to: "));
  const Ran sender = run_program({"stream", folder / "0.jpg", "127.0.0.1:1", "--insecure", "--from",
                                  "cuda:99", "--as", "planes"});
  EXPECT_EQ(sender.exit_code, 3);
  EXPECT_THAT(sender.err, HasSubstr("unsupported: --from: "));
  for (const Words& words :
       {Words{"resize", folder / "0.jpg", folder / "out.jpg", "--device", "99"},
        Words{"batch", folder / "0.jpg", folder / "out", "--device", "99"},
        Words{"tensor", folder / "0.jpg", "--device", "99"},
        Words{"serve", "--listen", "unix:" + (folder / "s"), "--device", "99"},
        Words{"serve", "--listen", "unix:" + (folder / "s"), "--device", "99", "--workers", "1"},
        Words{"bench", "jpeg2jpeg", folder / "0.jpg", "--device", "99", "--codec", "cuda"},
        Words{"bench", "serve", folder / "0.jpg", "--device", "99"},
        Words{"split", folder / "0.jpg", "--devices", "99"},
        Words{"perf", "latency", "--from", "cuda:99"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit_code, 3) << words[0] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("unsupported: ")) << words[0];
  }
}

}  // namespace
}  // namespace framewire::test
