#include <fmt/format.h>
#include <algorithm>
#include <batch/input_file.hpp>
#include <command_line/misuse.hpp>
#include <connection/connection.hpp>
#include <connection/security.hpp>
#include <report/console.hpp>
#include <string>
#include <transport/wire/psk_file.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>
#include <utility>

namespace framewire::app {
namespace {

using transport::Security;

constexpr std::string_view kWays = "--psk FILE, or --cert, --key and --ca together, or --insecure";

// @return misuse()
Result<void> check_words(const Arguments& arguments, ConnectionEnd end) {
  const bool insecure = arguments.has("insecure");
  const bool psk = arguments.has("psk");
  std::string_view certificate;
  std::string_view missing;
  for (const char* name : {"cert", "key", "ca"}) {
    if (arguments.has(name)) {
      if (certificate.empty()) certificate = name;
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (!insecure && !psk && certificate.empty()) {
    return misuse(fmt::format("--psk is missing: nothing says who is who; accepted: {}", kWays));
  }
  const std::string_view first = psk ? "psk" : certificate;
  const std::string_view second = insecure ? "insecure" : certificate;
  if ((psk && (insecure || !certificate.empty())) || (insecure && !certificate.empty())) {
    return misuse(fmt::format("found --{} and --{}; accepted: one of them", first, second));
  }
  if (!certificate.empty() && !missing.empty()) {
    return misuse(
        fmt::format("--{} is missing: --{} needs it; accepted: --cert, --key and --ca "
                    "together",
                    missing, certificate));
  }
  if (insecure) {
    for (const char* option : {"allow", "psk-name"}) {
      if (!arguments.has(option)) continue;
      return misuse(fmt::format(
          "--insecure proves nobody's name, so --{} would keep nobody out; one of them", option));
    }
  }
  if (!arguments.has("psk-name")) return {};
  if (!psk) return misuse("--psk-name: names a key of --psk; accepted with it");
  if (end == ConnectionEnd::kConnects) return {};
  return misuse(
      "--psk-name: who listens takes every key of the file; accepted: --allow NAME, or --psk-name "
      "at the end that connects");
}

// Errors keep their code, and say which option names the file.
tl::unexpected<Status> about(std::string_view option, const std::string& file,
                             const Status& error) {
  return fail(Status(error.code(), error.message()).about(fmt::format("--{}: {}", option, file)));
}

Result<void> check_keys(const Security& security) {
  const auto keys = transport::wire::read_psk_file(security.psk_file);
  if (!keys) return about("psk", security.psk_file, keys.error());
  const std::string& name = security.psk_name;
  const bool known =
      name.empty() || std::ranges::any_of(*keys, [&](const auto& key) { return key.name == name; });
  if (known) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("found '{}'; accepted: a name in {}", name, security.psk_file))
                  .about("--psk-name"));
}

Result<void> check_certificates(const Security& security, ConnectionEnd end) {
  const std::pair<std::string_view, const std::string*> files[] = {
      {"cert", &security.certificate}, {"key", &security.key}, {"ca", &security.authority}};
  for (const auto& [option, path] : files) {
    if (auto file = batch::InputFile::open(*path); !file) {
      return about(option, *path, file.error());
    }
  }
  const auto context = transport::wire::TlsContext::make(security, end == ConnectionEnd::kListens);
  if (context) return {};
  const Status& error = context.error();
  for (const auto& [option, path] : files) {
    if (*path == error.subject()) return about(option, *path, error);
  }
  return fail(error);
}

}  // namespace

std::optional<int> refuse_security(std::string_view command, const Arguments& arguments,
                                   ConnectionEnd end) {
  if (auto good = check_words(arguments, end); !good) return report_usage(command, good.error());
  const Security security = session_of(arguments).security;
  if (security.insecure) return std::nullopt;
  const auto good =
      security.psk_file.empty() ? check_certificates(security, end) : check_keys(security);
  if (good) return std::nullopt;
  return refuse(good.error());
}

Result<void> check_address(std::string_view what, const std::string& text) {
  if (transport::wire::parse_address(text)) return {};
  return misuse(
      fmt::format("{}: found '{}'; accepted: HOST:PORT, [V6]:PORT, or :PORT for this "
                  "machine alone",
                  what, text));
}

}  // namespace framewire::app
