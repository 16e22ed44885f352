#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <topology/drawing.hpp>

namespace framewire::topology {
namespace {

constexpr std::size_t kMaxPairsNamed = 4;
constexpr std::size_t kMinColumn = 10;  // "unknown ✗" and a blank

void draw(const Box& place, const std::string& indent, std::string& text) {
  for (std::size_t i = 0; i < place.inside.size(); ++i) {
    const Box& inner = place.inside[i];
    const bool last = i + 1 == place.inside.size();
    std::string details;
    for (const std::string& detail : inner.details) details += ", " + detail;
    text += fmt::format("{}{} {}{}\n", indent, last ? "└─" : "├─", inner.title, details);
    draw(inner, indent + (last ? "   " : "│  "), text);
  }
}

// The marks take three bytes and one column; fmt counts code points as columns.
void draw_table(const Diagnosis& diagnosis, std::string& text) {
  const PairMatrix table = table_of(diagnosis);
  if (table.cells.empty()) return;
  text += fmt::format("\n{:8}", "");
  const auto width_of = [](const std::string& column) {
    return std::max(kMinColumn, column.size() + 1);
  };
  for (const std::string& column : table.columns) {
    text += fmt::format("{:>{}}", column, width_of(column));
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += fmt::format("\n{:8}", table.rows[row]);
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Pair* pair = table.cells[row * table.columns.size() + column];
      text += fmt::format("{:>{}}", pair == nullptr ? "" : cell_of(*pair),
                          width_of(table.columns[column]));
    }
    text.erase(text.find_last_not_of(' ') + 1);
  }
  text += "\n✓ direct  ! works, with a drawback  ? not proven  ✗ staged through host memory\n";
}

// Most pairs share their reasons, so each reason is told once.
void explain_pairs(const Diagnosis& diagnosis, std::string& text) {
  std::map<std::string, std::vector<std::string>> pairs_of;
  std::vector<std::string> order;
  for (const Pair& pair : diagnosis.pairs) {
    for (const std::string& reason : pair.reasons) {
      if (!pairs_of.contains(reason)) order.push_back(reason);
      pairs_of[reason].push_back(fmt::format("{}–{}", pair.a, pair.b));
    }
  }
  for (const std::string& reason : order) {
    const auto& pairs = pairs_of[reason];
    std::string names;
    for (std::size_t i = 0; i < std::min(pairs.size(), kMaxPairsNamed); ++i) {
      names += (i == 0 ? "" : ", ") + pairs[i];
    }
    if (pairs.size() > kMaxPairsNamed) {
      names += fmt::format(" and {} more", pairs.size() - kMaxPairsNamed);
    }
    if (pairs.size() == diagnosis.pairs.size()) names = "all pairs";
    text += fmt::format("  {} ({})\n", reason, names);
  }
}

}  // namespace

std::string draw_text(const Diagnosis& diagnosis) {
  const Box host = picture_of(diagnosis.facts);
  std::string text = host.title;
  for (const std::string& detail : host.details) text += ", " + detail;
  text += "\n";
  draw(host, "", text);
  draw_table(diagnosis, text);
  explain_pairs(diagnosis, text);
  return text;
}

}  // namespace framewire::topology
