#include <algorithm>
#include <base/ascii.hpp>
#include <dataset/sample_key.hpp>

namespace framewire::dataset {

SampleName split_sample_name(std::string_view name) noexcept {
  const std::size_t slash = name.rfind('/');
  const std::size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', last);
  if (dot == std::string_view::npos || dot == last) return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool named_like_jpeg(std::string_view name) noexcept {
  const auto ends = [name](std::string_view ending) {
    return name.size() > ending.size() &&
           std::equal(ending.rbegin(), ending.rend(), name.rbegin(),
                      [](char a, char b) { return a == base::to_lower(b); });
  };
  return ends(".jpg") || ends(".jpeg") || ends(".jpe") || ends(".jfif");
}

}  // namespace framewire::dataset
