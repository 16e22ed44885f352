// Options as the server reads them.
#pragma once

#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace framewire::client {

struct OptionsText {
  ResizeOptions options;
  std::string text;
  std::optional<Status> fault;  ///< what validate() finds; an engine would answer the same
};

/// Writes options once for requests that have the same ones after each other. Thread-safe.
class OptionsTexts {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const OptionsText> find(const ResizeOptions& options);

 private:
  std::mutex mutex_;
  std::shared_ptr<const OptionsText> last_;
};

}  // namespace framewire::client
