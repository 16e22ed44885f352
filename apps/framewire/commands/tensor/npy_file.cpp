#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bit>
#include <cerrno>
#include <commands/tensor/npy_file.hpp>
#include <cstdio>

namespace framewire::app {
namespace {

/// The whole header's bytes, a multiple of 64 as the format asks: room for any shape.
constexpr std::size_t kHeaderBytes = 128;

std::string_view descr(TensorType type) {
  static_assert(std::endian::native == std::endian::little);
  switch (type) {
    case TensorType::kUint8:
      return "|u1";
    case TensorType::kFloat16:
      return "<f2";
    case TensorType::kBfloat16:
      return "|V2";
    case TensorType::kFloat32:
      return "<f4";
  }
  return "|u1";
}

std::string header(TensorType type, std::uint64_t rows, const std::string& shape) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(kHeaderBytes - 10));
  text.push_back('\0');
  text += fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", descr(type),
                      rows, shape);
  text.resize(kHeaderBytes - 1, ' ');
  text.push_back('\n');
  return text;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string shape_of(const TensorOptions& o) {
  const int channels = o.color == TensorColor::kGray ? 1 : 3;
  return o.layout == TensorLayout::kNchw
             ? fmt::format("{}, {}, {}", channels, o.height_px, o.width_px)
             : fmt::format("{}, {}, {}", o.height_px, o.width_px, channels);
}

}  // namespace

NpyFile::NpyFile(std::string path, batch::FilePlace place, batch::TemporaryFile file,
                 const TensorOptions& options)
    : path_(std::move(path)),
      place_(std::make_unique<batch::FilePlace>(std::move(place))),
      file_(std::move(file)),
      type_(options.type),
      shape_(shape_of(options)) {}

Result<NpyFile> NpyFile::open(const std::string& path, const TensorOptions& options) {
  auto place = batch::find_file_place(path);
  if (!place) return fail(place.error());
  struct stat facts {};
  const bool exists =
      ::fstatat(place->folder.get(), place->name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
  if (place->magic || (exists && !S_ISREG(facts.st_mode))) {
    return fail(
        Status(StatusCode::kIoError, "is no regular file, which an array must be").about(path));
  }
  auto file = batch::TemporaryFile::make(place->folder.get());
  if (!file.valid()) return fail(batch::io_error(path, "create", errno));
  if (const int error = batch::write_all(file.get(), bytes_of(header(options.type, 0, "")));
      error != 0) {
    return fail(batch::io_error(path, "write", error));
  }
  return NpyFile(path, std::move(*place), std::move(file), options);
}

Result<void> NpyFile::append(std::span<const std::uint8_t> bytes, std::uint64_t rows) {
  if (const int error = batch::write_all(file_.get(), bytes); error != 0) {
    return fail(batch::io_error(path_, "write", error));
  }
  rows_ += rows;
  return {};
}

void narrow(std::optional<batch::Permissions>& all, const batch::Permissions& one) {
  if (!all) {
    all = one;
    return;
  }
  all->mode &= one.mode;
  // What another owner's file grants its group, or all others, is not ours to add up.
  if (all->user != one.user || all->group != one.group) all->mode &= 0700u;
  all->id = {};
}

Result<void> NpyFile::close(const batch::Permissions* source) {
  const std::string text = header(type_, rows_, shape_);
  if (::lseek(file_.get(), 0, SEEK_SET) != 0) return fail(batch::io_error(path_, "write", errno));
  if (const int error = batch::write_all(file_.get(), bytes_of(text)); error != 0) {
    return fail(batch::io_error(path_, "write", error));
  }
  const int folder = place_->folder.get();
  struct stat old {};
  const bool exists = ::fstatat(folder, place_->name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (const int error = batch::give_permissions(file_.get(), source, folder, place_->name,
                                                exists ? &old : nullptr, std::nullopt);
      error != 0) {
    return fail(batch::io_error(path_, "set the permissions of", error));
  }
  if (::renameat(folder, file_.name().c_str(), folder, place_->name.c_str()) != 0) {
    return fail(batch::io_error(path_, "rename to", errno));
  }
  file_.keep();
  return {};
}

std::string rows_path(const std::string& path) {
  constexpr std::string_view kEnding = ".npy";
  const std::string stem =
      path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
  return stem + ".jsonl";
}

}  // namespace framewire::app
