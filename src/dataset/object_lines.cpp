#include <cstdint>
#include <dataset/object_lines.hpp>
#include <dataset/row_lines.hpp>
#include <string>

namespace framewire::dataset {

Result<void> read_object_lines(store::ObjectStore& store, const store::ObjectInfo& object,
                               const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kPieceBytes = 1u << 20;
  RowLines lines;
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t offset = 0; offset < object.bytes;) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(piece.data());
    const auto got = store.read_at(object, offset, {bytes, piece.size()});
    if (!got) return fail(got.error());
    if (*got == 0) break;
    offset += *got;
    if (!lines.add(std::string_view(piece).substr(0, *got), take)) {
      return fail(row_is_too_long(store.label(object.key)));
    }
  }
  return {};
}

}  // namespace framewire::dataset
