// The picture: who stands below which switch, and a document that any reader can open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>
#include <sstream>
#include <tests/support/recorded_host.hpp>
#include <topology/drawing.hpp>

namespace framewire::topology {
namespace {

using test::RecordedHost;
using ::testing::HasSubstr;
using ::testing::Not;

Diagnosis drawn_diagnosis(const RecordedHost& host) {
  return diagnose(read_host(*HostFiles::open(host.root())));
}

TEST(TopologyDrawing, KeepsBridgesWhereWaysPart) {
  const RecordedHost host;
  const Box picture = picture_of(drawn_diagnosis(host).facts);
  ASSERT_EQ(picture.inside.size(), 2u);
  const Box& socket = picture.inside[0];
  EXPECT_EQ(socket.title, "socket 0");
  ASSERT_EQ(socket.inside.size(), 1u);
  EXPECT_EQ(socket.inside[0].title, "root complex 0000:00");
  // Root port and switch lead to the same cards: the switch stands for both.
  ASSERT_EQ(socket.inside[0].inside.size(), 1u);
  const Box& pcie_switch = socket.inside[0].inside[0];
  EXPECT_EQ(pcie_switch.title, "switch 0000:01:00.0");
  ASSERT_EQ(pcie_switch.inside.size(), 3u);
  EXPECT_EQ(pcie_switch.inside[0].title, "gpu0");
  EXPECT_EQ(pcie_switch.inside[2].title, "mlx5_0");
}

TEST(TopologyDrawing, TextShowsTreeTableAndReasons) {
  const RecordedHost host;
  const std::string text = draw_text(drawn_diagnosis(host));
  EXPECT_THAT(text,
              HasSubstr("│        ├─ gpu0, NVIDIA H100 80GB HBM3, 0000:03:00.0, 32.0 GT/s x16"));
  EXPECT_THAT(text, HasSubstr("PIX ✓"));
  EXPECT_THAT(text, HasSubstr("SYS ✗"));
  EXPECT_THAT(text, HasSubstr("SYS: the path goes across sockets (gpu0–gpu2, gpu0–gpu3, "));
}

TEST(TopologyDrawing, DevicesOfUnknownPlaceAreShownToo) {
  RecordedHost host;
  host.write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  EXPECT_THAT(draw_text(drawn_diagnosis(host)), HasSubstr("place unknown\n   └─ rxe0"));
}

// Opening and closing tags must match; names of the host must not become markup.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.back() == '/') continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (name[0] != '/') {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty());
    ASSERT_EQ(open.back(), name.substr(1));
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(TopologyDrawing, SvgIsSelfContained) {
  const RecordedHost host;
  const std::string svg = draw_svg(drawn_diagnosis(host));
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, HasSubstr(">switch 0000:81:00.0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("url(")));
}

TEST(TopologyDrawing, NamesFromFirmwareAreNoMarkup) {
  RecordedHost host;
  host.write("proc/driver/nvidia/gpus/0000:03:00.0/information",
             "Model: \t <script>&\x01\xff</script>\n");
  const std::string svg = draw_svg(drawn_diagnosis(host));
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;??&lt;/scr"));
}

TEST(TopologyDrawing, AHostWithNothingToDraw) {
  RecordedHost host;
  host.remove_gpus();
  host.remove_nics();
  const Diagnosis diagnosis = drawn_diagnosis(host);
  expect_well_formed(draw_svg(diagnosis));
  EXPECT_EQ(draw_text(diagnosis),
            "host, A Processor, Linux 6.1.0-18-amd64, NVIDIA driver 550.54.15\n");
}

// docs/doctor.md explains every probe that there is.
TEST(TopologyDrawing, DocumentationListsEveryProbe) {
  const RecordedHost host;
  std::ifstream file(FRAMEWIRE_DOCS "/doctor.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Probe& probe : drawn_diagnosis(host).probes) {
    EXPECT_THAT(page.str(), HasSubstr("| `" + probe.id + "` |"));
  }
}

}  // namespace
}  // namespace framewire::topology
