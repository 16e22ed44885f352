// framewire doctor: what this host can do for frames that move between GPUs and NICs.
#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/doctor/json.hpp>
#include <files/whole_file.hpp>
#include <report/console.hpp>
#include <sstream>
#include <topology/diagnosis.hpp>
#include <topology/drawing.hpp>

namespace framewire::app {
namespace {

std::string probe_text(const topology::Probe& probe) {
  const std::string subject = probe.subject.empty() ? "" : probe.subject + ": ";
  const bool blocks = probe.required && (probe.verdict == topology::Verdict::kMissing ||
                                         probe.verdict == topology::Verdict::kUnknown);
  std::string text = fmt::format("{:14} {}{}{}\n", topology::to_string(probe.verdict), subject,
                                 probe.title, blocks ? " (GPUDirect RDMA needs it)" : "");
  for (const std::string& line : probe.evidence) text += fmt::format("{:17}{}\n", "", line);
  if (!probe.remedy.empty()) text += fmt::format("{:15}→ {}\n", "", probe.remedy);
  return text;
}

std::string report_text(const topology::Diagnosis& diagnosis) {
  std::string text = topology::draw_text(diagnosis) + "\n";
  for (const topology::Probe& probe : diagnosis.probes) text += probe_text(probe);
  return text + "\n" + diagnosis.conclusion + "\n";
}

// Names in it come from firmware and files.
std::string printable_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string safe;
  for (std::string line; std::getline(lines, line);) safe += printable(line) + "\n";
  return safe;
}

bool is_drawing(std::string_view beginning) { return beginning.starts_with("<svg"); }

}  // namespace

int run_doctor(const Arguments& arguments) {
  const std::string svg = arguments.get("svg");
  if (!svg.empty()) {
    if (auto good = check_replaceable(svg, is_drawing); !good) return refuse(good.error());
  }
  const auto files = topology::HostFiles::open(arguments.get("root"));
  if (!files) return refuse(files.error());
  topology::HostFacts facts = topology::read_host(*files);
  if (auto kept = topology::keep_only(facts, arguments.get("gpu"), arguments.get("nic")); !kept) {
    return report_usage("doctor",
                        fmt::format("--{}: {}", kept.error().subject(), kept.error().message()));
  }
  const topology::Diagnosis diagnosis = topology::diagnose(std::move(facts));
  if (!svg.empty()) {
    const auto written = write_whole_file(svg, topology::draw_svg(diagnosis));
    if (!written) {
      report(written.error());
      return kEnvironment;
    }
  }
  const std::string text =
      arguments.has("json") ? pretty(to_json(diagnosis)) : printable_lines(report_text(diagnosis));
  if (!print(text)) return kEnvironment;
  return diagnosis.gpudirect_rdma == topology::Verdict::kOk ? kAllDone : kSomeFailed;
}

}  // namespace framewire::app
