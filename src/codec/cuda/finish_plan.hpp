// The part of a batch between resampling and encoding: conversion, sharpening, turning, padding.
#pragma once

#include <array>
#include <codec/cuda/descriptors.hpp>
#include <gpu/layout.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::codec::cuda {

/// Descriptors and tiles of these stages.
struct FinishPlan {
  std::vector<ConvertDesc> converts;
  std::vector<SharpenDesc> sharpens;
  std::vector<PlaceDesc> places;
  std::vector<Tile> convert_tiles;
  std::vector<Tile> sharpen_tiles;
  std::vector<Tile> place_tiles;
  std::uint32_t most_radius = 0;

  /// Where the six lists above lie in the batch's memory.
  struct Offsets {
    std::uint64_t converts, sharpens, places, convert_tiles, sharpen_tiles, place_tiles;
  };
  Offsets offsets{};

  void clear();
  void place(gpu::Layout& layout);
  /// Turns offsets into sample and data memory into those of the whole batch.
  void relocate(std::uint64_t samples, std::uint64_t data);
  /// Copies the lists. @param staging  of the whole batch
  void write(std::uint8_t* staging) const;

  /// Geometry and arithmetic of a conversion; planes and table are the caller's to fill in.
  [[nodiscard]] static ConvertDesc make_convert(const jpeg::JpegFile& file, const plan::Plan& plan);
  void add_convert(const ConvertDesc& desc);
  void add_sharpen(const SharpenDesc& desc);
  void add_place(const PlaceDesc& desc);
};

/// Whether the canvas is larger than the picture.
[[nodiscard]] bool is_padded(const plan::Plan& plan);

/// The background in the output's components.
[[nodiscard]] std::array<std::uint8_t, 4> background_samples(const plan::Plan& plan);

}  // namespace framewire::codec::cuda
