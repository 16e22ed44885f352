// Owners of nvJPEG's objects; move-only, destroyed without throwing.
#pragma once

#include <nvjpeg.h>
#include <memory>
#include <type_traits>

namespace framewire::codec::nvjpeg {

template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const noexcept {
    (void)kDestroy(object);
  }
};

template <typename Pointer, auto kDestroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy<kDestroy>>;

/// An object's members are destroyed before the library handle that they were made with, so the
/// handle is declared first.
using LibraryHandle = Owner<nvjpegHandle_t, nvjpegDestroy>;
using NvjpegState = Owner<nvjpegJpegState_t, nvjpegJpegStateDestroy>;
using ParsedStream = Owner<nvjpegJpegStream_t, nvjpegJpegStreamDestroy>;
using EncodeState = Owner<nvjpegEncoderState_t, nvjpegEncoderStateDestroy>;
using EncodeParams = Owner<nvjpegEncoderParams_t, nvjpegEncoderParamsDestroy>;

}  // namespace framewire::codec::nvjpeg
