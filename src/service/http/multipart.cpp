#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <cstring>
#include <service/http/head.hpp>
#include <service/http/multipart.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::size_t kMaxParts = 64;
constexpr std::size_t kMaxPartHeadBytes = 4096;
constexpr std::size_t kMaxFieldBytes = 256;
constexpr std::size_t kMaxBoundaryBytes = 70;  // RFC 2046 5.1.1

tl::unexpected<Status> refuse(std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about("form"));
}

// The value of NAME=… among parameters that follow a first word; quotes are taken off.
std::optional<std::string> parameter(Text value, Text name) {
  auto at = value.find(';');
  while (at != Text::npos) {
    value = base::trim_blanks(value.substr(at + 1));
    const auto equals = value.find('=');
    if (equals == Text::npos) return std::nullopt;
    const bool wanted =
        base::equals_ignoring_case(base::trim_blanks(value.substr(0, equals)), name);
    value = value.substr(equals + 1);
    std::string text;
    if (!value.empty() && value.front() == '"') {
      std::size_t i = 1;
      for (; i < value.size() && value[i] != '"'; ++i) {
        if (value[i] == '\\' && i + 1 < value.size()) ++i;
        text.push_back(value[i]);
      }
      if (i >= value.size()) return std::nullopt;  // no closing quote
      value = value.substr(i + 1);
    } else {
      text = base::trim_blanks(value.substr(0, value.find(';')));
    }
    if (wanted) return text;
    at = value.find(';');
  }
  return std::nullopt;
}

struct FormPart {
  std::string name;
  bool is_file = false;
  bool is_unnamed = false;  // a file whose name is empty: browsers send it where none was chosen
};

// As Text::find(), but for the time: that looks again at each byte that the needle begins with, and
// whoever sends the body may send nothing else.
std::size_t find(Text text, Text needle) {
  const void* const found = ::memmem(text.data(), text.size(), needle.data(), needle.size());
  return found == nullptr ? Text::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// The fields above a part's data.
Result<FormPart> parse_part_head(Text head) {
  FormPart part;
  bool named = false;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const Text line = head.substr(0, end);
    head = end == Text::npos ? Text{} : head.substr(end + 2);
    const auto colon = line.find(':');
    if (colon == Text::npos || !is_token(line.substr(0, colon))) {
      return refuse("a part has a head that is none");
    }
    if (!base::equals_ignoring_case(line.substr(0, colon), "content-disposition")) continue;
    const Text value = base::trim_blanks(line.substr(colon + 1));
    const auto name = parameter(value, "name");
    if (!base::equals_ignoring_case(base::trim_blanks(value.substr(0, value.find(';'))),
                                    "form-data") ||
        !name) {
      return refuse("a part is no form-data with a name");
    }
    part.name = *name;
    const auto file_name = parameter(value, "filename");
    // RFC 7578 does without filename*, and some clients send it alone.
    part.is_file =
        file_name || parameter(value, "filename*") || *name == "file" || *name == "image";
    part.is_unnamed = file_name && file_name->empty();
    named = true;
  }
  if (!named) return refuse("a part has no Content-Disposition");
  return part;
}

Result<void> take_part(const FormPart& part, Text data, Form& form) {
  if (part.is_file) {
    if (part.is_unnamed && data.empty()) return {};
    if (form.file.data() != nullptr) return refuse("found two files; accepted: one");
    form.file = {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
    return {};
  }
  if (part.name.empty()) {
    return refuse("found a field without a name; accepted: the name of an option");
  }
  if (part.name.size() > kMaxFieldBytes) {
    return refuse(fmt::format("found a field whose name has {} bytes; accepted: at most {}",
                              part.name.size(), kMaxFieldBytes));
  }
  if (data.size() > kMaxFieldBytes) {
    return refuse(fmt::format(
        "a field is longer than {} bytes, and no file: that has a file name, or is called file or "
        "image",
        kMaxFieldBytes));
  }
  const bool control = std::any_of(data.begin(), data.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (control) return refuse("a field has a control character");
  const bool again = std::any_of(form.fields.begin(), form.fields.end(),
                                 [&](const auto& other) { return other.first == part.name; });
  if (again) return refuse("a field is given twice");
  form.fields.emplace_back(part.name, std::string(data));
  return {};
}

}  // namespace

std::optional<std::string> form_boundary(Text content_type) {
  if (!base::equals_ignoring_case(base::trim_blanks(content_type.substr(0, content_type.find(';'))),
                                  "multipart/form-data")) {
    return std::nullopt;
  }
  constexpr Text kMarks = "'()+_,-./:=? ";
  const std::string boundary = parameter(content_type, "boundary").value_or("");
  const bool legal = std::all_of(boundary.begin(), boundary.end(), [&](char c) {
    return is_token({&c, 1}) || kMarks.find(c) != Text::npos;
  });
  if (!legal || boundary.size() > kMaxBoundaryBytes || boundary.ends_with(' ')) return "";
  return boundary;
}

Result<Form> parse_form(std::span<const std::uint8_t> body, Text boundary) {
  Form form;
  Text rest(reinterpret_cast<const char*>(body.data()), body.size());
  const std::string delimiter = fmt::format("\r\n--{}", boundary);
  // What comes before the first boundary is no part (RFC 2046 5.1.1); usually there is nothing, or
  // a line break.
  if (rest.starts_with(Text(delimiter).substr(2))) {
    rest.remove_prefix(delimiter.size() - 2);
  } else {
    const auto begin = find(rest, delimiter);
    if (begin == Text::npos) return refuse("the body does not have its boundary");
    rest.remove_prefix(begin + delimiter.size());
  }
  for (std::size_t parts = 0;; ++parts) {
    if (rest.starts_with("--")) break;
    if (parts == kMaxParts) return refuse(fmt::format("found more than {} parts", kMaxParts));
    // Blanks may stand behind a boundary ("transport padding").
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!rest.starts_with("\r\n")) return refuse("a boundary is followed by something else");
    rest.remove_prefix(2);
    const auto head_end = rest.substr(0, kMaxPartHeadBytes).find("\r\n\r\n");
    if (head_end == Text::npos && rest.size() >= kMaxPartHeadBytes) {
      return refuse(fmt::format("a part's head is too long; accepted: less than {} bytes",
                                kMaxPartHeadBytes));
    }
    if (head_end == Text::npos) return refuse("the form ends inside a part's head");
    const auto part = parse_part_head(rest.substr(0, head_end));
    if (!part) return fail(part.error());
    rest.remove_prefix(head_end + 4);
    const auto end = find(rest, delimiter);
    if (end == Text::npos) return refuse("the form ends inside a part");
    if (auto taken = take_part(*part, rest.substr(0, end), form); !taken) {
      return fail(taken.error());
    }
    rest.remove_prefix(end + delimiter.size());
  }
  if (form.file.data() == nullptr) {
    return refuse("found no file; accepted: a part with a file name, or called file or image");
  }
  return form;
}

}  // namespace framewire::service::http
