// Memory that runs out anywhere between a request and its answer.
#pragma once

#include <functional>
#include <string>
#include <tests/service/http/client.hpp>

namespace framewire::service::http::test {

/// What a client was answered; status 0: nothing.
struct Told {
  int status = 0;
  std::string body;
};

/// Settings under which what nobody could be told of ends soon, though not on a busy machine alone.
[[nodiscard]] ServiceSettings exhausted();

/// Asks with the n-th allocation of the server's failing, for each n until none fails any more.
/// Every answer must be of use or say that memory ran out, and nothing may be left of the request.
/// @param ask    connects and asks, on a thread whose own memory does not run out
/// @param least  allocations that there must be
void exhaust(TestServer& server, const std::function<Told()>& ask, int least);

}  // namespace framewire::service::http::test
