// A shared library that is opened at run time, and stays open.
#pragma once

#include <dlfcn.h>
#include <string>

namespace framewire::topology {

/// Never unloaded: drivers start threads and register handlers that outlive the last call.
class Library {
 public:
  explicit Library(const char* name)
      : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (handle_ == nullptr) {
      const char* reason = dlerror();
      error_ = reason == nullptr ? name_ + ": cannot be loaded" : reason;
    }
  }

  [[nodiscard]] bool loaded() const noexcept { return handle_ != nullptr; }
  /// Why it is not loaded, or which function it lacks; begins with its name.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  /// Null where there is no such function; error() then names it.
  template <typename Function>
  [[nodiscard]] Function* find(const char* name) {
    if (handle_ == nullptr) return nullptr;
    void* const address = dlsym(handle_, name);
    if (address == nullptr) error_ = name_ + ": has no function " + name;
    return reinterpret_cast<Function*>(address);
  }

 private:
  std::string name_;
  void* handle_;
  std::string error_;
};

}  // namespace framewire::topology
