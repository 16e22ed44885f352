#include <fmt/format.h>
#include <chrono>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/batch/engine_choice.hpp>
#include <initializer_list>
#include <utility>

namespace framewire::app {
namespace {

constexpr std::uint32_t kMaxRetries = 1000;

/// What has a port and no slash is a host's name.
bool is_address(const std::string& text) {
  return text.find('/') == std::string::npos && text.find(':') != std::string::npos;
}

Result<void> refuse_given(const Arguments& arguments, std::initializer_list<const char*> names,
                          std::string_view why) {
  for (const char* name : names) {
    if (arguments.given.contains(name)) return misuse(fmt::format("--{}: {}", name, why));
  }
  return {};
}

Result<void> read_retries(const Arguments& arguments, EngineChoice& choice) {
  // A server that is started again takes some seconds.
  choice.client.timeout = std::chrono::seconds(20);
  const std::string retries = arguments.get("retries");
  if (!parse_number(retries, 0u, kMaxRetries, choice.client.retries)) {
    return misuse(fmt::format("--retries: found '{}'; accepted: 0 to {}", retries, kMaxRetries));
  }
  return {};
}

Result<void> read_remote(const Arguments& arguments, EngineChoice& choice) {
  choice.session.security.psk_file = arguments.get("psk");
  choice.session.security.psk_name = arguments.get("psk-name");
  choice.session.links = {arguments.get("link")};
  choice.session.ucx_device = arguments.get("interface");
  if (choice.session.security.psk_file.empty()) {
    return misuse(
        fmt::format("--server {}: a server on another host asks for a key; accepted: --psk FILE",
                    choice.address));
  }
  return {};
}

}  // namespace

Result<EngineChoice> choose_engine(const Arguments& arguments) {
  EngineChoice choice;
  const auto remote_options = {"psk", "psk-name", "link", "interface"};
  if (!arguments.has("server")) {
    if (auto none = refuse_given(arguments, {"retries"}, "is for --server"); !none) {
      return fail(none.error());
    }
    if (auto none = refuse_given(arguments, remote_options, "is for --server HOST:PORT"); !none) {
      return fail(none.error());
    }
    auto own = make_engine_options(arguments);
    if (!own) return fail(own.error());
    choice.own = std::move(*own);
    choice.own.callers_thread = true;
    return choice;
  }
  const std::string where = arguments.get("server");
  auto none = refuse_given(arguments, {"device", "gpu-memory"},
                           "with --server the engine is the server's; give one of them");
  if (!none) return fail(none.error());
  if (auto read = read_retries(arguments, choice); !read) return fail(read.error());
  if (is_address(where)) {
    choice.address = where;
    none = read_remote(arguments, choice);
  } else {
    choice.socket = where;
    none = refuse_given(arguments, remote_options,
                        "is for servers on other hosts; a socket on this machine needs none");
  }
  if (!none) return fail(none.error());
  return choice;
}

Result<Client> connect(const EngineChoice& choice) {
  if (!choice.socket.empty()) return Client::connect(choice.socket, choice.client);
  return Client::connect(choice.address, choice.session, choice.client);
}

}  // namespace framewire::app
