// What framewire tensor writes must replace nothing that it reads.
#pragma once

#include <commands/tensor/samples.hpp>
#include <vector>

namespace framewire::app {

/// The files that an array and its rows would replace, by identity: links, symbolic and hard, count
/// as the file itself.
class TensorOutputs {
 public:
  /// Of a plan without `out`: none.
  explicit TensorOutputs(const TensorPlan& plan);

  /// Goes through the inputs once more where a file would be replaced, to refuse before any work.
  /// @return misuse() where an input, or the list of inputs, would be replaced, and where the rows'
  ///         name is that of a file with something else in it
  [[nodiscard]] Result<void> check(const TensorPlan& plan) const;

  /// For inputs that come but once: whether this one would be replaced. @return invalid_input
  [[nodiscard]] Result<void> check(const Sample& sample) const;

 private:
  struct Replaced {
    batch::FileId file;
    std::string path;
    bool is_rows = false;
  };
  void add(const std::string& path, bool is_rows);
  [[nodiscard]] const Replaced* find(const batch::FileId& file) const;

  std::vector<Replaced> replaced_;
};

}  // namespace framewire::app
