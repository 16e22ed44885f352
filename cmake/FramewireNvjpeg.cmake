# Finds NVIDIA's nvJPEG as the target framewire_nvjpeg: in the CUDA toolkit, below NVJPEG_ROOT, or in
# the nvidia-nvjpeg wheel that `./dev build cuda` unpacks. Sets FRAMEWIRE_HAS_NVJPEG
# and, for what is exported, FRAMEWIRE_NVJPEG_LINK.
set(FRAMEWIRE_NVJPEG AUTO CACHE STRING "Build codec/nvjpeg: ON, OFF, or AUTO where nvJPEG is found")
set_property(CACHE FRAMEWIRE_NVJPEG PROPERTY STRINGS AUTO ON OFF)
set(NVJPEG_ROOT "" CACHE PATH "Where include/nvjpeg.h and lib/libnvjpeg.so are, or an unpacked wheel")

set(FRAMEWIRE_HAS_NVJPEG OFF)
set(FRAMEWIRE_NVJPEG_LINK "")
if(FRAMEWIRE_NVJPEG STREQUAL "OFF")
  return()
endif()

add_library(framewire_nvjpeg INTERFACE)
if(TARGET CUDA::nvjpeg AND NOT NVJPEG_ROOT)
  set(FRAMEWIRE_NVJPEG_LINK CUDA::nvjpeg)
  set(FRAMEWIRE_HAS_NVJPEG ON)
else()
  # A wheel carries no libnvjpeg.so, only the name with the toolkit's major version.
  set(major ${CUDAToolkit_VERSION_MAJOR})
  set(wheel "${PROJECT_SOURCE_DIR}/build/nvjpeg-wheel")
  set(below "" nvidia/cu${major} nvidia/nvjpeg)
  list(TRANSFORM below APPEND /include OUTPUT_VARIABLE include_suffixes)
  list(TRANSFORM below APPEND /lib OUTPUT_VARIABLE lib_suffixes)
  find_path(FRAMEWIRE_NVJPEG_INCLUDE nvjpeg.h HINTS "${NVJPEG_ROOT}" "${wheel}"
    PATH_SUFFIXES ${include_suffixes})
  find_library(FRAMEWIRE_NVJPEG_LIBRARY NAMES libnvjpeg.so.${major} nvjpeg
    HINTS "${NVJPEG_ROOT}" "${wheel}" PATH_SUFFIXES ${lib_suffixes} lib64)
  if(FRAMEWIRE_NVJPEG_INCLUDE AND FRAMEWIRE_NVJPEG_LIBRARY)
    target_include_directories(framewire_nvjpeg SYSTEM INTERFACE "${FRAMEWIRE_NVJPEG_INCLUDE}")
    set(FRAMEWIRE_NVJPEG_LINK "${FRAMEWIRE_NVJPEG_LIBRARY}")
    set(FRAMEWIRE_HAS_NVJPEG ON)
  endif()
endif()

if(FRAMEWIRE_HAS_NVJPEG)
  target_link_libraries(framewire_nvjpeg INTERFACE "${FRAMEWIRE_NVJPEG_LINK}")
elseif(FRAMEWIRE_NVJPEG STREQUAL "AUTO")
  message(STATUS "nvJPEG not found: codec/nvjpeg is left out")
else()
  message(FATAL_ERROR "nvJPEG is in neither the CUDA toolkit nor NVJPEG_ROOT; "
    "`./dev build cuda` fetches its wheel, FRAMEWIRE_NVJPEG=OFF goes without")
endif()
