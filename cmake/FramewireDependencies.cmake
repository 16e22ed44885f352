# Finds what the library is built with. Whatever is missing is named in one message, with the packages of
# Debian and Ubuntu that bring it: somebody who installs from source is told once.
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

set(framewire_missing "")
set(framewire_missing_packages "")
# Takes note of a library that was not found.
macro(framewire_need found library package)
  if(NOT ${found})
    string(APPEND framewire_missing "\n  ${library}")
    string(APPEND framewire_missing_packages " ${package}")
  endif()
endmacro()
macro(framewire_need_package name library package)
  find_package(${name} QUIET)
  framewire_need(${name}_FOUND "${library}" ${package})
endmacro()
macro(framewire_need_module prefix module library package)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
  endif()
  framewire_need(${prefix}_FOUND "${library}" ${package})
endmacro()

framewire_need(PKG_CONFIG_FOUND "pkg-config" pkg-config)
framewire_need_package(JPEG "libjpeg-turbo: jpeglib.h and libjpeg" libjpeg-dev)
framewire_need_package(hwy "Highway: hwy/highway.h" libhwy-dev)
framewire_need_package(tl-expected "tl::expected: tl/expected.hpp" libexpected-dev)
framewire_need_package(fmt "fmt: fmt/format.h" libfmt-dev)
framewire_need_package(nlohmann_json "nlohmann-json: nlohmann/json.hpp" nlohmann-json3-dev)
framewire_need_package(OpenSSL "OpenSSL 3: openssl/ssl.h and libssl" libssl-dev)
framewire_need_module(LCMS2 lcms2 "LittleCMS 2: lcms2.h and liblcms2" liblcms2-dev)
framewire_need_module(XXHASH libxxhash "xxHash: xxhash.h and libxxhash" libxxhash-dev)
framewire_need_module(PUGIXML pugixml "pugixml: pugixml.hpp and libpugixml" libpugixml-dev)

if(framewire_missing)
  message(FATAL_ERROR "Framewire is built with libraries that were not found:${framewire_missing}\n"
    "On Debian and Ubuntu:\n  apt-get install${framewire_missing_packages}\n"
    "Elsewhere: their packages with headers; CMAKE_PREFIX_PATH and PKG_CONFIG_PATH name other folders.")
endif()

# Whether libxxhash chooses among SSE2, AVX2 and AVX-512 at run time, as Debian's does on x86-64.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_cxx_source_compiles("#include <xxh_x86dispatch.h>
int main() { return static_cast<int>(XXH3_64bits_dispatch(nullptr, 0)); }" FRAMEWIRE_XXH3_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(FRAMEWIRE_XXH3_DISPATCH)
  target_compile_definitions(PkgConfig::XXHASH INTERFACE FRAMEWIRE_XXH3_DISPATCH)
endif()

# Only UCX's headers: the library itself is looked for when the first channel asks for it.
pkg_check_modules(UCX ucx>=1.13)
set(FRAMEWIRE_UCX ${UCX_FOUND})
if(FRAMEWIRE_UCX)
  add_library(framewire_ucx_headers INTERFACE)
  target_include_directories(framewire_ucx_headers SYSTEM INTERFACE ${UCX_INCLUDE_DIRS})
  add_library(UCX::headers ALIAS framewire_ucx_headers)
endif()
