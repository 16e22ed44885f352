// framewire doctor as users meet it: exit codes, JSON, the picture.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tests/integration/support.hpp>
#include <tests/support/recorded_host.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;

TEST(CliDoctor, ExitCodeIsTheVerdict) {
  RecordedHost host;
  const Ran good = run_program({"doctor", "--root", host.root()});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_TRUE(contains(good.out, "GPUDirect RDMA would work between gpu0 and mlx5_0")) << good.out;
  EXPECT_EQ(good.err, "");
  host.set_acs(0x001d);
  const Ran bad = run_program({"doctor", "--root", host.root()});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(contains(bad.out, "setpci")) << bad.out;
  host.set_acs(0);
  EXPECT_EQ(run_program({"doctor", "--root", host.root(), "--gpu=2", "--nic=mlx5_1"}).exit_code, 0);
  EXPECT_EQ(run_program({"doctor", "--root", host.root(), "--gpu=2", "--nic=mlx5_0"}).exit_code, 1);
}

TEST(CliDoctor, ReportsInJson) {
  const RecordedHost host;
  const Ran ran = run_program({"doctor", "--json", "--root", host.root()});
  EXPECT_EQ(ran.exit_code, 0);
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["gpudirect_rdma"], "ok");
  EXPECT_EQ(report["host"]["driver"], "550.54.15");
  EXPECT_EQ(report["gpus"].size(), 4u);
  EXPECT_EQ(report["gpus"][2]["place"]["socket"], 1);
  EXPECT_EQ(report["gpus"][2]["bar1_bytes"], std::uint64_t{128} << 30);
  EXPECT_EQ(report["nics"][0]["ports"][0]["rate"], "400 Gb/sec (4X NDR)");
  EXPECT_EQ(report["pairs"].size(), 14u);
  for (const json& probe : report["probes"]) {
    for (const char* key :
         {"id", "subject", "title", "verdict", "required", "evidence", "remedy"}) {
      EXPECT_TRUE(probe.contains(key)) << probe;
    }
  }
}

TEST(CliDoctor, DrawsAPicture) {
  const RecordedHost host;
  const TemporaryFolder folder;
  const std::string svg = folder / "host.svg";
  EXPECT_EQ(run_program({"doctor", "--root", host.root(), "--svg", svg}).exit_code, 0);
  EXPECT_TRUE(contains(read_text(svg), "<svg xmlns=")) << read_text(svg);
  EXPECT_EQ(run_program({"doctor", "--root", host.root(), "--svg", svg}).exit_code, 0);
  write_file(folder / "photo.jpg", make_jpeg(16, 16));
  const Ran photo = run_program({"doctor", "--root", host.root(), "--svg", folder / "photo.jpg"});
  EXPECT_EQ(photo.exit_code, 2) << photo.err;
  EXPECT_TRUE(contains(photo.err, "photo.jpg: is a file of another kind")) << photo.err;
  EXPECT_TRUE(decode_size(read_file(folder / "photo.jpg")));
  write_text(folder / "file", "");
  const Ran refused =
      run_program({"doctor", "--root", host.root(), "--svg", folder / "file/x.svg"});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  const Ran nowhere =
      run_program({"doctor", "--root", host.root(), "--svg", folder / "none/x.svg"});
  EXPECT_EQ(nowhere.exit_code, 3) << nowhere.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST(CliDoctor, RefusesWhatIsNotThere) {
  const RecordedHost host;
  const Ran root = run_program({"doctor", "--root", host.root() + "/nothing"});
  EXPECT_EQ(root.exit_code, 3);
  EXPECT_TRUE(contains(root.err, "recorded host")) << root.err;
  const Ran gpu = run_program({"doctor", "--root", host.root(), "--gpu", "9"});
  EXPECT_EQ(gpu.exit_code, 2);
  EXPECT_TRUE(contains(gpu.err, "--gpu: found '9'; this host has: 0 (0000:03:00.0)")) << gpu.err;
}

// Whatever this machine is, it can be examined.
TEST(CliDoctor, ExaminesThisHost) {
  const Ran ran = run_program({"doctor", "--json"});
  EXPECT_TRUE(ran.exit_code == 0 || ran.exit_code == 1) << ran.exit_code << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report["root"], "/");
  EXPECT_EQ(report["gpudirect_rdma"] == "ok", ran.exit_code == 0);
}

}  // namespace
}  // namespace framewire::test
