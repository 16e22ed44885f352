// framewire sign PATH…
#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <command_line/command.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <report/console.hpp>
#include <service/url/path.hpp>
#include <service/url/signature.hpp>
#include <service/url/text.hpp>
#include <transport/wire/secret_file.hpp>

namespace framewire::app {
namespace {

namespace url = service::url;
using transport::wire::Secret;

constexpr std::size_t kMaxSecretFileBytes = 65536;

// The digits are not repeated: messages end up in logs.
Result<Secret> read_hex(std::string_view digits, std::string_view where) {
  const auto bytes = url::hex_decode(base::trim_white(digits));
  if (!bytes || bytes->empty()) {
    return misuse(fmt::format("{}: accepted: pairs of hexadecimal digits", where));
  }
  Secret secret(bytes->size());
  std::copy(bytes->begin(), bytes->end(), secret.data());
  return secret;
}

// Takes a secret from --NAME-file or from --NAME, one of which is given.
Result<Secret> read_secret_option(const Arguments& arguments, const std::string& name) {
  const std::string file_option = name + "-file";
  if (arguments.has(name) == arguments.has(file_option)) {
    return misuse(fmt::format("accepted: either --{} or --{}", name, file_option));
  }
  if (arguments.has(name)) return read_hex(arguments.get(name), "--" + name);
  const std::string path = arguments.get(file_option);
  const auto file =
      transport::wire::read_secret(path, "the " + name + " file", kMaxSecretFileBytes);
  if (!file) return fail(file.error());
  return read_hex(file->text(), fmt::format("--{} {}", file_option, path));
}

Result<void> check_path(std::string_view path) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
  };
  if (path.empty() || path == "/") return misuse("found an empty path; accepted: OPTIONS/SOURCE");
  if (path.size() > url::kMaxTargetBytes) {
    return misuse(fmt::format("found a path of {} bytes; accepted: at most {}", path.size(),
                              url::kMaxTargetBytes));
  }
  if (path.find('?') != std::string_view::npos) {
    return misuse(fmt::format("{}: the server drops all from ? on; write %3F", path));
  }
  if (path.find('#') != std::string_view::npos) {
    return misuse(fmt::format("{}: clients drop all from # on; write %23", path));
  }
  // Clients escape these on their way, and the server is asked for another path than was signed.
  if (std::any_of(path.begin(), path.end(), [](char c) { return (c & 0x80) != 0; })) {
    return misuse(
        fmt::format("{}: found a byte beyond ASCII; write %C3%BC for ü and the like", path));
  }
  if (std::any_of(path.begin(), path.end(), is_control)) {
    return misuse(
        fmt::format("{}: found a blank or control character; write %20 and the like", path));
  }
  return {};
}

Result<std::string> sign_all(const Arguments& arguments) {
  std::size_t size = 0;
  if (!parse_number(arguments.get("signature-size"), std::size_t{1}, url::kMaxSignatureBytes,
                    size)) {
    return misuse(fmt::format("--signature-size: found '{}'; accepted: 1 to {}",
                              arguments.get("signature-size"), url::kMaxSignatureBytes));
  }
  const auto key = read_secret_option(arguments, "key");
  if (!key) return fail(key.error());
  const auto salt = read_secret_option(arguments, "salt");
  if (!salt) return fail(salt.error());
  std::string lines;
  for (const std::string& path : arguments.paths) {
    if (auto checked = check_path(path); !checked) return fail(checked.error());
    const std::string text = url::repair_path(path, ":", false).text;
    const auto signature =
        url::sign(text, {key->data(), key->size()}, {salt->data(), salt->size()}, size);
    if (!signature) return fail(signature.error());
    lines += fmt::format("/{}{}\n", *signature, text);
  }
  return lines;
}

}  // namespace

int run_sign(const Arguments& arguments) {
  const auto lines = sign_all(arguments);
  if (!lines) {
    const bool usage = lines.error().code() == StatusCode::kInvalidInput;
    return usage ? report_usage("sign", lines.error()) : refuse(lines.error());
  }
  return print(*lines) ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
