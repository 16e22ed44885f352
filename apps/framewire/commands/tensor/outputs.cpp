#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <commands/tensor/npy_file.hpp>
#include <commands/tensor/outputs.hpp>
#include <fstream>
#include <optional>
#include <report/json.hpp>

namespace framewire::app {
namespace {

/// More than a row of ours has: names are 4,096 bytes at most.
constexpr std::size_t kMaxRowBytes = 1u << 20;

std::optional<batch::FileId> id_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return batch::FileId{facts.st_dev, facts.st_ino};
}

/// Whether a file is empty, or begins as an array of NumPy's. What cannot be read is neither.
bool holds_array(const std::string& path) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kMagic.size(), '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return file.gcount() == 0 ? file.is_open() : beginning == kMagic;
}

/// Whether a file is empty, or begins with a row of an array. What cannot be read is neither.
bool holds_rows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(kMaxRowBytes, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (line.empty()) return file.is_open();
  line.resize(std::min(line.size(), line.find('\n')));
  const Json row = Json::parse(line, nullptr, false);
  return row.is_object() && row.contains("row") && row.contains("input") && row.contains("ok");
}

std::string refusal(const std::string& path, bool is_rows, std::string_view what) {
  return is_rows
             ? fmt::format("--out: its rows would replace {}, {}; give another file", path, what)
             : fmt::format("--out: {} is {}; give another file", path, what);
}

}  // namespace

TensorOutputs::TensorOutputs(const TensorPlan& plan) {
  if (plan.out.empty()) return;
  add(plan.out, false);
  add(rows_path(plan.out), true);
}

void TensorOutputs::add(const std::string& path, bool is_rows) {
  if (const auto file = id_of(path)) replaced_.push_back({*file, path, is_rows});
}

const TensorOutputs::Replaced* TensorOutputs::find(const batch::FileId& file) const {
  const auto found = std::ranges::find(replaced_, file, &Replaced::file);
  return found == replaced_.end() ? nullptr : &*found;
}

Result<void> TensorOutputs::check(const TensorPlan& plan) const {
  if (replaced_.empty()) return {};
  const std::string& list = plan.inputs.list;
  if (!list.empty()) {
    const auto file = id_of(list == "-" ? "/dev/stdin" : list);
    if (const auto* found = file ? find(*file) : nullptr) {
      return misuse(refusal(found->path, found->is_rows, "the list of inputs"));
    }
  }
  // Standard input cannot be read twice, nor can a pipe: check(sample) meets what they name.
  if (list.empty() || id_of(list)) {
    const auto source = open_inputs(plan.inputs, {});
    if (!source) return {};  // said when the inputs are read
    while (true) {
      const auto input = (*source)->next();
      if (!input || !*input) break;
      if (!(*input)->expected) continue;
      const auto file = id_of((*input)->label);
      if (const auto* found = file ? find(*file) : nullptr) {
        return misuse(refusal(found->path, found->is_rows, "an input"));
      }
    }
  }
  for (const Replaced& replaced : replaced_) {
    if (replaced.is_rows && !holds_rows(replaced.path)) {
      return misuse(refusal(replaced.path, true, "which holds no rows of an array"));
    }
    if (!replaced.is_rows && !holds_array(replaced.path)) {
      return misuse(refusal(replaced.path, false, "a file of another kind, and is not replaced"));
    }
  }
  return {};
}

Result<void> TensorOutputs::check(const Sample& sample) const {
  if (!sample.permissions) return {};
  const Replaced* const found = find(sample.permissions->id);
  if (found == nullptr) return {};
  return fail(Status(StatusCode::kInvalidInput, refusal(found->path, found->is_rows, "an input"))
                  .about(sample.path));
}

}  // namespace framewire::app
