// Reads a host's /sys, /proc and /dev, or a recording of them below another root.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::topology {

/// A file that was looked for: what the evidence of a probe is made of.
struct Reading {
  std::string path;                  ///< as on the host itself, without the recording's root
  std::optional<std::string> value;  ///< without white space at its end; nothing: not there

  /// "/sys/…: 1.2" or "/sys/…: not there".
  [[nodiscard]] std::string cite() const;
};

/// Paths are absolute, as on the host. Every function may be called from any thread; what cannot
/// be read counts as absent. Nothing outside the root is read, whatever a link says.
class HostFiles {
 public:
  /// @param root  "/" for this host, or the folder of a recording
  /// @return io_error where root is no folder
  [[nodiscard]] static Result<HostFiles> open(const std::string& root);

  /// Whether this is the machine that runs the program, so that libraries may be asked too.
  [[nodiscard]] bool live() const noexcept { return root_.empty(); }
  [[nodiscard]] std::string root() const { return live() ? "/" : root_; }

  /// The first 64 KiB of a file.
  [[nodiscard]] Reading read(const std::string& path) const;
  /// As read(), or "" where there is nothing.
  [[nodiscard]] std::string text(const std::string& path) const;
  /// At most 4096 bytes, untouched; empty where there is nothing.
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& path) const;
  /// Names in a folder, sorted; empty where there is none.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// Whether this process may read and write it.
  [[nodiscard]] bool usable(const std::string& path) const;
  /// The path with every link followed; "" where that leads nowhere or out of the root.
  [[nodiscard]] std::string resolve(const std::string& path) const;
  /// User id of the owner.
  [[nodiscard]] std::optional<unsigned> owner(const std::string& path) const;

 private:
  explicit HostFiles(std::string root) : root_(std::move(root)) {}

  std::string root_;  // canonical, without a slash at its end; "" for this host
};

}  // namespace framewire::topology
