# One static library a folder of src/, so that linking enforces which folder may use which.

add_library(framewire_flags INTERFACE)
target_compile_features(framewire_flags INTERFACE cxx_std_20)
target_link_libraries(framewire_flags INTERFACE framewire_hardening)
target_compile_options(framewire_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${FRAMEWIRE_WERROR}>:-Werror>>)
# A file's anonymous namespace is a header's to GCC where several files are compiled as one.
if(CMAKE_UNITY_BUILD)
  target_compile_options(framewire_flags INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(NOT BUILD_SHARED_LIBS)
  target_compile_definitions(framewire_flags INTERFACE FRAMEWIRE_STATIC)
endif()
# Vectors of SVE have no size that the compiler knows, so none can be in an array. On Arm, Highway's
# files are compiled for NEON alone; few server processors have wider vectors (Neoverse V1, A64FX).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_definitions(framewire_flags INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()
# GCC's warnings of bounds and initialisation are false where much of the standard library is inlined
# (GCC bug 105651): at -O3, and under instrumentation, which finds the real cases.
set(false_alarms -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
  -Wno-stringop-overread)
target_compile_options(framewire_flags INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:${false_alarms}>")
if(FRAMEWIRE_SANITIZE)
  target_compile_options(framewire_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FRAMEWIRE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${false_alarms}>")
  target_link_options(framewire_flags INTERFACE -fsanitize=${FRAMEWIRE_SANITIZE})
endif()
# A null pointer that is used ends the program in any case, and AddressSanitizer knows sizes and lives of
# objects better. These checks took a quarter of the compiler's time.
if(FRAMEWIRE_SANITIZE MATCHES "address,undefined")
  target_compile_options(framewire_flags INTERFACE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-sanitize=null,object-size,vptr>")
endif()
if(FRAMEWIRE_BUILD_FUZZ)
  # The libraries carry the coverage counters that steer libFuzzer; only its programs link its main().
  target_compile_options(framewire_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(framewire_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What most folders include is compiled once; that spares a third of the compiler's time. Only
# releases do so: a missing #include is found by all other builds, and ccache cannot help where
# headers are precompiled.
function(framewire_headers name)
  add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE framewire_flags tl::expected fmt::fmt ${ARGN})
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <chrono> <cstdint>
    <functional> <memory> <mutex> <optional> <span> <string> <thread> <vector> <fmt/format.h>
    <tl/expected.hpp>)
endfunction()

# The flags of what touches no pixel, in a build that somebody waits for: without the optimiser a file
# compiles in half of the time. Highway's files need the optimiser to compile at all.
add_library(framewire_quick_flags INTERFACE)
if(FRAMEWIRE_OPTIMISE_CODECS_ONLY)
  target_compile_options(framewire_quick_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-O0 -U_FORTIFY_SOURCE>)
endif()
set(FRAMEWIRE_PIXEL_MODULES "^(base|color|jpeg|codec_cuda|codec_nvjpeg|codec_turbo|gpu|tensor.*)$")

if(FRAMEWIRE_PRECOMPILED_HEADERS)
  framewire_headers(framewire_headers)
  if(FRAMEWIRE_OPTIMISE_CODECS_ONLY)
    framewire_headers(framewire_quick_headers framewire_quick_flags)
  endif()
endif()

# framewire_module(NAME DEPENDS …): every .cpp of the calling folder becomes fw_NAME; every .cu too
# where CUDA is on; those of FOLDERS below it, too. A folder of headers alone becomes an interface
# library. SOURCES: those that are made by the build. PROGRAM: linked by the program and its tests, no
# part of the library.
function(framewire_module name)
  cmake_parse_arguments(ARG "PROGRAM" "" "FOLDERS;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(folders "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(folder IN LISTS ARG_FOLDERS)
    list(APPEND folders "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  endforeach()
  list(TRANSFORM folders APPEND "/*.cpp" OUTPUT_VARIABLE globs)
  file(GLOB sources CONFIGURE_DEPENDS ${globs})
  list(APPEND sources ${ARG_SOURCES})
  if(FRAMEWIRE_CUDA)
    list(TRANSFORM folders APPEND "/*.cu" OUTPUT_VARIABLE globs)
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${globs})
    list(APPEND sources ${cuda_sources})
    if(FRAMEWIRE_CUDA_EMULATION)
      set_source_files_properties(${cuda_sources} PROPERTIES LANGUAGE CXX
        COMPILE_OPTIONS "-xc++;-include;cuda_runtime.h;-Wno-unknown-pragmas;-Wno-extra")
    endif()
  endif()
  set(includes "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_BINARY_DIR}/include")
  if(NOT sources)
    add_library(fw_${name} INTERFACE)
    target_include_directories(fw_${name} INTERFACE ${includes})
    target_link_libraries(fw_${name} INTERFACE tl::expected ${ARG_DEPENDS})
    return()
  endif()
  # Highway compiles such a file once for each instruction set, by including it again.
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cpp$" AND EXISTS "${source}")
      file(STRINGS "${source}" again REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
      if(again)
        set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
  add_library(fw_${name} STATIC ${sources})
  # Hidden: what is not FRAMEWIRE_API. Static libraries that a test links are not concerned.
  set_target_properties(fw_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(fw_${name} PUBLIC ${includes})
  target_link_libraries(fw_${name} PUBLIC tl::expected ${ARG_DEPENDS}
    PRIVATE framewire_flags ${ARG_PRIVATE_DEPENDS})
  set(headers framewire_headers)
  if(FRAMEWIRE_OPTIMISE_CODECS_ONLY AND NOT name MATCHES "${FRAMEWIRE_PIXEL_MODULES}")
    target_link_libraries(fw_${name} PRIVATE framewire_quick_flags)
    set(headers framewire_quick_headers)
  endif()
  # Formatting is compiled into these headers as its users have it, so only they can share them.
  if(FRAMEWIRE_PRECOMPILED_HEADERS AND "fmt::fmt" IN_LIST ARG_PRIVATE_DEPENDS)
    target_precompile_headers(fw_${name} REUSE_FROM ${headers})
  endif()
  if(ARG_PROGRAM)
    set_property(GLOBAL APPEND PROPERTY FRAMEWIRE_PROGRAM_MODULES fw_${name})
  else()
    set_property(GLOBAL APPEND PROPERTY FRAMEWIRE_MODULES fw_${name})
  endif()
endfunction()
