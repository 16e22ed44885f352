// Events for which the system has no descriptor, at a moment of the test's choice.
#pragma once

namespace framewire::service::test {

/// As long as it lives, eventfd() fails with EMFILE, for all threads. One at a time.
class FailingEvents {
 public:
  FailingEvents();
  ~FailingEvents();
  FailingEvents(const FailingEvents&) = delete;
  FailingEvents& operator=(const FailingEvents&) = delete;
};

}  // namespace framewire::service::test
