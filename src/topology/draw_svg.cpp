#include <fmt/format.h>
#include <algorithm>
#include <topology/drawing.hpp>

namespace framewire::topology {
namespace {

using Kind = Box::Kind;

// All in user units, which are pixels at the document's own size.
constexpr double kMargin = 24;
constexpr double kLeafWidth = 172;
constexpr double kGap = 14;
constexpr double kLevel = 104;  // from the top of one row of boxes to the next
constexpr double kBox = 60;     // height of inner boxes
constexpr double kLeafBox = 78;
constexpr double kCellWidth = 86;
constexpr double kCellHeight = 30;
constexpr double kMinWidth = 760;
constexpr std::size_t kMaxLeafChars = 26;

constexpr std::string_view kStyle = R"(
text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:12px;fill:#4a5564}
.page{fill:#fff}.name{font-size:14px;font-weight:600;fill:#1b2430}.head{font-size:18px;font-weight:700;fill:#1b2430}
.line{fill:none;stroke:#5f6b7a;stroke-width:2}.box{stroke-width:1.5}
.socket{fill:#f6f8fa;stroke:#9aa6b4;stroke-width:1.5}
.root{fill:#e7e2f6;stroke:#8a74c6}.switch{fill:#eceff3;stroke:#8d99a8}
.gpu{fill:#dff1e2;stroke:#5ba56b}.nic{fill:#dcebfa;stroke:#5b92c9}
.ok{fill:#dff1e2;stroke:#5ba56b}.warning{fill:#fbe9d2;stroke:#d29a4a}
.missing{fill:#f9dede;stroke:#c95b5b}.unknown{fill:#eceff3;stroke:#8d99a8}
.cell{font-size:12px;fill:#1b2430}
@media (prefers-color-scheme:dark){
text{fill:#b4bfcc}.page{fill:#12171d}.name,.head,.cell{fill:#eef2f6}.line{stroke:#8b98a8}
.socket{fill:#1a2129;stroke:#55616f}
.root{fill:#2d2748;stroke:#8a74c6}.switch{fill:#29313b;stroke:#7b8897}
.gpu,.ok{fill:#1c3a24;stroke:#5ba56b}.nic{fill:#1a3149;stroke:#5b92c9}
.warning{fill:#46330f;stroke:#d29a4a}.missing{fill:#4a1f1f;stroke:#c95b5b}.unknown{fill:#29313b;stroke:#7b8897}}
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else {
      // Names come from firmware and files: nothing that is no XML may pass.
      safe += byte < 0x20 || byte >= 0x7f ? '?' : c;
    }
  }
  return safe;
}

std::string shortened(const std::string& text, std::size_t max_chars) {
  return text.size() <= max_chars ? text : text.substr(0, max_chars - 3) + "...";
}

std::string_view class_of(Kind kind) {
  constexpr std::string_view kNames[] = {"", "socket", "root", "switch", "gpu", "nic"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view class_of(Verdict verdict) {
  return verdict == Verdict::kNotApplicable ? "unknown" : to_string(verdict);
}

void write(std::string& svg, std::string_view style, double x, double y, const std::string& text,
           std::string_view anchor = "middle") {
  svg += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     style, x, y, anchor, text);
}

bool is_leaf(const Box& place) { return place.kind == Kind::kGpu || place.kind == Kind::kNic; }

double width_of(const Box& place) {
  if (is_leaf(place)) return kLeafWidth;
  double width = 0;
  for (const Box& inner : place.inside) width += width_of(inner) + kGap;
  const double padding = place.kind == Kind::kSocket ? 2 * kGap : 0;
  return std::max(width - kGap, kLeafWidth) + padding;
}

int depth_of(const Box& place) {
  int deepest = 0;
  for (const Box& inner : place.inside) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

void draw_box(const Box& place, double x, double y, double width, std::string& svg) {
  const double height = is_leaf(place) ? kLeafBox : kBox;
  svg += fmt::format(
      "<rect class=\"box {}\" rx=\"8\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\"/>\n",
      class_of(place.kind), x, y, width, height);
  const double lines = static_cast<double>(place.details.size());
  double at = y + height / 2 + 5 - 8 * lines;
  write(svg, "name", x + width / 2, at, escaped(shortened(place.title, kMaxLeafChars)));
  for (const std::string& detail : place.details) {
    at += 16;
    write(svg, "sub", x + width / 2, at, escaped(shortened(detail, kMaxLeafChars)));
  }
}

// Draws the boxes below a place, each at the middle of its share of the width.
void draw_inside(const Box& place, double x, double y, double from_x, double from_y,
                 std::string& svg) {
  for (const Box& inner : place.inside) {
    const double share = width_of(inner), middle = x + share / 2;
    if (place.kind != Kind::kSocket) {
      svg += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}\"/>\n",
                         from_x, from_y, (from_y + y) / 2, middle, y);
    }
    const double width = is_leaf(inner) ? share : std::min(share, 1.4 * kLeafWidth);
    draw_box(inner, middle - width / 2, y, width, svg);
    draw_inside(inner, x, y + kLevel, middle, y + kBox, svg);
    x += share + kGap;
  }
}

double draw_host(const Box& host, double y, std::string& svg) {
  double height = 0;
  for (const Box& socket : host.inside) {
    height = std::max(height, 56 + (depth_of(socket) - 2) * kLevel + kLeafBox);
  }
  double x = kMargin;
  for (const Box& socket : host.inside) {
    const double width = width_of(socket);
    if (x > kMargin && socket.title.starts_with("socket")) {
      svg += fmt::format(
          "<path class=\"line\" stroke-dasharray=\"5 4\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n",
          x - 3 * kGap, y + 22, 3 * kGap);
    }
    svg += fmt::format(
        "<rect class=\"socket\" rx=\"12\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>\n",
        x, y, width, height + kGap);
    write(svg, "name", x + kGap, y + 26, escaped(socket.title), "start");
    draw_inside(socket, x + kGap, y + 44, 0, 0, svg);
    x += width + 3 * kGap;
  }
  return y + height + kGap;
}

double draw_cells(const Diagnosis& diagnosis, double top, std::string& svg) {
  const PairMatrix table = table_of(diagnosis);
  if (table.cells.empty()) return top;
  write(svg, "head", kMargin, top + 40, "From GPU to GPU and to NIC", "start");
  double y = top + 72;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const double x = kMargin + (static_cast<double>(column) + 1.5) * kCellWidth;
    write(svg, "cell", x, y - 6, escaped(shortened(table.columns[column], 12)));
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row, y += kCellHeight) {
    write(svg, "cell", kMargin, y + 20, escaped(table.rows[row]), "start");
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Pair* pair = table.cells[row * table.columns.size() + column];
      if (pair == nullptr) continue;
      const double x = kMargin + (static_cast<double>(column) + 1) * kCellWidth;
      std::string reasons;
      for (const std::string& reason : pair->reasons) reasons += "; " + reason;
      svg += fmt::format(
          "<g><title>{} and {}: {}, {}{}</title><rect class=\"{}\" rx=\"4\" x=\"{:.1f}\" "
          "y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
          escaped(pair->a), escaped(pair->b), to_string(pair->path), to_string(pair->verdict),
          escaped(reasons), class_of(pair->verdict), x + 2, y + 2, kCellWidth - 4, kCellHeight - 4);
      write(svg, "cell", x + kCellWidth / 2, y + 20, cell_of(*pair));
      svg += "</g>\n";
    }
  }
  write(svg, "sub", kMargin, y + 22,
        "✓ direct · ! works, with a drawback · ? not proven · ✗ staged through host memory",
        "start");
  write(svg, "sub", kMargin, y + 40,
        "PIX one switch · PXB several switches · PHB one root complex · NODE one socket · SYS "
        "across sockets",
        "start");
  return y + 44;
}

// Breaks at blanks, so that a long conclusion stays on the page.
std::vector<std::string> wrapped(const std::string& text, std::size_t max_chars) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (text.size() - begin > max_chars) {
    std::size_t end = text.rfind(' ', begin + max_chars);
    if (end == std::string::npos || end <= begin) end = begin + max_chars;
    lines.push_back(text.substr(begin, end - begin));
    begin = text[end] == ' ' ? end + 1 : end;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

double draw_conclusion(const Diagnosis& diagnosis, double y, double width, std::string& svg) {
  // About seven units a character at this size.
  const auto lines =
      wrapped(diagnosis.conclusion, static_cast<std::size_t>((width - 2 * kMargin - 24) / 7.0));
  const double height = 20 * static_cast<double>(lines.size()) + 14;
  svg += fmt::format(
      "<rect class=\"box {}\" rx=\"8\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\"/>\n",
      class_of(diagnosis.gpudirect_rdma), kMargin, y, width - 2 * kMargin, height);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    write(svg, "cell", kMargin + 12, y + 22 + 20 * static_cast<double>(i), escaped(lines[i]),
          "start");
  }
  return y + height;
}

}  // namespace

std::string draw_svg(const Diagnosis& diagnosis) {
  const Box host = picture_of(diagnosis.facts);
  double sockets = -3 * kGap;
  for (const Box& socket : host.inside) sockets += width_of(socket) + 3 * kGap;
  const double columns = static_cast<double>(table_of(diagnosis).columns.size()) + 1;
  const double width =
      2 * kMargin + std::max({sockets, columns * kCellWidth, kMinWidth - 2 * kMargin});
  std::string body;
  std::string details;
  for (const std::string& detail : host.details) details += (details.empty() ? "" : ", ") + detail;
  write(body, "head", kMargin, 40, "GPUs, network cards and what lies between", "start");
  write(body, "sub", kMargin, 62, escaped(details), "start");
  double y = draw_conclusion(diagnosis, 78, width, body) + 20;
  if (!host.inside.empty()) y = draw_host(host, y, body);
  y = draw_cells(diagnosis, y, body) + kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>Topology of a host</title>\n<desc>{2}</desc>\n"
      "<style>{3}</style>\n<rect class=\"page\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\"/>\n{4}</svg>\n",
      width, y, escaped(diagnosis.conclusion), kStyle, body);
}

}  // namespace framewire::topology
