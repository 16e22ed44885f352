#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <base/nanoseconds.hpp>
#include <batch/input_file.hpp>
#include <cerrno>
#include <dataset/sample_key.hpp>
#include <dataset/sidecars.hpp>
#include <utility>

namespace framewire::dataset {

Result<std::vector<std::string>> parse_sidecars(const std::string& text) {
  std::vector<std::string> extensions;
  const auto refuse = [&](std::string_view extension, std::string_view found) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("'{}' {}; accepted: up to {} extensions joined by commas, such as "
                            "txt,json,cls",
                            extension, found, kMaxSidecars));
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string extension = text.substr(begin, end - begin);
    begin = end + 1;
    const bool odd = extension.empty() || extension.front() == '.' ||
                     extension.find('/') != std::string::npos ||
                     extension.find('\0') != std::string::npos;
    if (odd) return refuse(extension, "is no extension");
    if (named_like_jpeg("a." + extension)) return refuse(extension, "is a picture's extension");
    if (std::ranges::find(extensions, extension) != extensions.end()) {
      return refuse(extension, "is given twice");
    }
    if (extensions.size() == kMaxSidecars) return refuse(extension, "is one too many");
    extensions.push_back(extension);
  }
  return extensions;
}

bool named_like_sidecar(std::string_view name,
                        const std::vector<std::string>& extensions) noexcept {
  return std::ranges::any_of(extensions, [&](const std::string& extension) {
    return name.size() > extension.size() + 1 && name.ends_with(extension) &&
           name[name.size() - extension.size() - 1] == '.';
  });
}

std::string with_extension(std::string_view picture, std::string_view extension) {
  const std::size_t slash = picture.rfind('/');
  const std::size_t first = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = picture.rfind('.');
  const bool has_dot = dot != std::string_view::npos && dot > first;
  return fmt::format("{}.{}", has_dot ? picture.substr(0, dot) : picture, extension);
}

Result<std::optional<Sidecar>> read_sidecar(const std::string& path) {
  // A link that leads nowhere is there, and cannot be read.
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 && errno == ENOENT) return std::nullopt;
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(file.error());
  auto bytes = file->read(kMaxSidecarBytes);
  if (!bytes) return fail(bytes.error());
  return Sidecar{std::move(*bytes), file->mtime_ns() / base::kNanosecondsPerSecond,
                 file->permissions()};
}

Result<std::optional<Sidecar>> read_object_sidecar(store::ObjectStore& store,
                                                   const std::string& key) {
  auto object = store.read_whole(key, kMaxSidecarBytes);
  if (!object) return fail(object.error());
  if (!*object) return std::nullopt;
  return Sidecar{std::move((*object)->bytes),
                 (*object)->info.mtime_ns / base::kNanosecondsPerSecond, std::nullopt};
}

}  // namespace framewire::dataset
