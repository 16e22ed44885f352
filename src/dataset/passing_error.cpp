#include <batch/engine_gone.hpp>
#include <dataset/passing_error.hpp>
#include <store/object_store.hpp>

namespace framewire::dataset {

bool is_engine_fault(const Status& error) noexcept {
  return error.code() == StatusCode::kBusy || error.code() == StatusCode::kDeviceLost ||
         batch::is_engine_gone(error);
}

bool is_store_fault(const Status& error) noexcept {
  if (!store::is_remote_url(error.subject())) return false;
  switch (error.code()) {
    case StatusCode::kBusy:
    case StatusCode::kDeadline:
    case StatusCode::kIoError:
    case StatusCode::kPeerLost:
      return true;
    case StatusCode::kDenied:
      return store::is_object_url(error.subject());
    default:
      return false;
  }
}

bool failed_in_passing(const batch::Row& row) noexcept {
  if (row.outcome != batch::Outcome::kFailed || !row.error) return false;
  const bool took_too_long = row.error->code() == StatusCode::kDeadline && row.input_read &&
                             row.error->subject() == row.input;
  return is_passing(*row.error) && !took_too_long;
}

}  // namespace framewire::dataset
