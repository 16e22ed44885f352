// Handlers of a connection: they keep it alive, and what they throw ends in an answer.
#pragma once

#include <service/http/connection.hpp>
#include <utility>

namespace framewire::service::http {

template <typename Function>
auto Connection::guarded(Function function) {
  return [self = shared_from_this(), function = std::move(function)](auto&&... arguments) mutable {
    try {
      function(std::forward<decltype(arguments)>(arguments)...);
    } catch (...) {
      self->on_exception();
    }
  };
}

}  // namespace framewire::service::http
