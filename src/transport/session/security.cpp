#include <fmt/format.h>
#include <transport/session/links.hpp>
#include <transport/session/security.hpp>
#include <transport/wire/control.hpp>
#include <utility>

namespace framewire::transport::session {

Result<std::optional<wire::TlsContext>> open_context(const SessionOptions& options, bool server) {
  if (options.capacity == 0 || options.capacity > wire::kMaxCapacity) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a capacity of {}; 1 to {}", options.capacity, wire::kMaxCapacity));
  }
  if (auto names = allowed_links(options); !names) return fail(names.error());
  if (auto good = wire::check(options.security); !good) return fail(good.error());
  if (options.security.insecure) return std::nullopt;
  auto context = wire::TlsContext::make(options.security, server);
  if (!context) return fail(context.error());
  return std::optional<wire::TlsContext>(std::move(*context));
}

}  // namespace framewire::transport::session
