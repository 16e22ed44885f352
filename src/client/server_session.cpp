#include <fmt/format.h>
#include <algorithm>
#include <client/server_session.hpp>
#include <new>
#include <utility>

namespace framewire::client {

Status used_up(const Order& order) noexcept try {
  return {StatusCode::kPeerLost,
          fmt::format("{} connections were lost while the server had this request", order.losses)};
} catch (...) {
  return {StatusCode::kPeerLost, std::string()};
}

Result<Resized> copy_out(const Order& order, Report report, std::span<const std::uint8_t> stream) {
  Result<Resized> result;
  try {
    if (order.sink.wanted()) {
      auto room = order.sink.room(stream.size());
      if (!room) return fail(std::move(room.error()));
      std::copy(stream.begin(), stream.end(), room->begin());
      result->written = *room;
    } else {
      result->bytes.assign(stream.begin(), stream.end());
    }
    result->report = std::move(report);
  } catch (const std::bad_alloc&) {
    result = fail(base::no_memory());
  }
  return result;
}

void answer(Order& order, Result<Resized> result) noexcept {
  try {
    if (order.completions != nullptr) {
      order.completion.front().result = std::move(result);
      order.completions->put(std::move(order.completion));
    } else if (order.view) {
      // Only errors come here; a view is made where the stream lies.
      order.view(fail(std::move(result.error())));
    } else if (order.done) {
      order.done(std::move(result));
    }
  } catch (...) {
    // What a caller's function throws is dropped: the client has others to serve.
  }
  order = {};
}

void tell_of_room(const std::vector<std::function<void()>>& waiting) noexcept {
  for (const auto& on_room : waiting) try {
      on_room();
    } catch (...) {
      // What a caller's function throws is dropped: the client has others to serve.
    }
}

}  // namespace framewire::client
