// The event of this folder's threads.
#pragma once

#include <base/wake_event.hpp>

namespace framewire::service::local {

using Event = base::WakeEvent;

}  // namespace framewire::service::local
