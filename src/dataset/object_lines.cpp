#include <fmt/format.h>
#include <cstdint>
#include <dataset/object_lines.hpp>
#include <string>

namespace framewire::dataset {

Result<void> read_object_lines(store::ObjectStore& store, const store::ObjectInfo& object,
                               const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kPieceBytes = 1u << 20;
  std::string text;
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t offset = 0; offset < object.bytes;) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(piece.data());
    const auto got = store.read_at(object, offset, {bytes, piece.size()});
    if (!got) return fail(got.error());
    if (*got == 0) break;
    offset += *got;
    text.append(piece, 0, *got);
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      take(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
    if (text.size() > kMaxObjectLineBytes) {
      return fail(Status(StatusCode::kTooLarge,
                         fmt::format("has a line of more than {} bytes; accepted: manifests, whose "
                                     "rows are shorter",
                                     kMaxObjectLineBytes))
                      .about(store.label(object.key)));
    }
  }
  return {};
}

}  // namespace framewire::dataset
