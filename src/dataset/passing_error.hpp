// Errors that are no fault of what they are told about: the same may be made by another try.
#pragma once

#include <framewire/batch/manifest.hpp>
#include <framewire/status.hpp>

namespace framewire::dataset {

/// Whether a picture failed because of who makes pictures: a server that is gone or ends, memory
/// that ran out, a GPU that failed. docs/errors.md says of these to send the same again. A
/// `deadline` is the picture's own: it took longer than --deadline allows. (One that ran out in a
/// queue is `busy` in a batch's rows.)
[[nodiscard]] bool is_engine_fault(const Status& error) noexcept;

/// Whether a store or a web server did not hand out what the error is about. A web server refuses
/// single addresses; a store whose keys have expired refuses all.
[[nodiscard]] bool is_store_fault(const Status& error) noexcept;

/// Either of them.
[[nodiscard]] inline bool is_passing(const Status& error) noexcept {
  return is_engine_fault(error) || is_store_fault(error);
}

/// Whether a row tells of a failure that is no fault of its picture. A `deadline` of a picture that
/// was read whole is the picture's own, wherever it came from.
[[nodiscard]] bool failed_in_passing(const batch::Row& row) noexcept;

}  // namespace framewire::dataset
