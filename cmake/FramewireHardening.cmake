# Compiler and linker flags that make a fault in memory harder to use, on framewire_hardening: linked
# by framewire_flags, so by all that is built here, and by nothing that is installed or exported.
# tests/install/check_hardening.py looks for each of them in what is installed.
#
# Cost, instructions of one resize beyond the program's start: 1280×720 to 480×270 0.14 % more,
# 160×90 to 80×45 0.6 %; binding all functions at start takes 0.3 million, 0.1 ms, once.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

add_library(framewire_hardening INTERFACE)
set(FRAMEWIRE_HARDENED OFF)
# Sanitizers bring checks of their own at the same places, and know nothing of fortified functions.
if(NOT FRAMEWIRE_HARDENING OR FRAMEWIRE_SANITIZE OR FRAMEWIRE_BUILD_FUZZ)
  return()
endif()
set(FRAMEWIRE_HARDENED ON)

# Programs may lie anywhere in memory; libraries do already.
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(flags -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i[3-6]86")
  list(APPEND flags -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND flags -mbranch-protection=standard)
endif()
set(hardening)
foreach(flag IN LISTS flags)
  string(MAKE_C_IDENTIFIER "FRAMEWIRE_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    list(APPEND hardening ${flag})
  endif()
endforeach()

# Fortified functions are inline, so they need optimisation. Where the build type does not say that
# it optimises, as a packager's "None" with flags of its own, the compiler is asked.
check_cxx_source_compiles("#ifndef __OPTIMIZE__\n#error\n#endif\nint main() {}"
  FRAMEWIRE_OPTIMIZES_ALWAYS)
set(optimizes "$<OR:$<BOOL:${FRAMEWIRE_OPTIMIZES_ALWAYS}>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>")
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("#include <cstdlib>
  #if __USE_FORTIFY_LEVEL < 3\n#error\n#endif\nint main() {}" FRAMEWIRE_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
if(FRAMEWIRE_HAS_FORTIFY_3)
  set(level 3)
else()
  set(level 2)
endif()
# Undefined first: some compilers define it on their own, at another level.
set(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})

target_compile_options(framewire_hardening INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${hardening}>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,${optimizes}>:${fortify}>")
# The same flags for nvcc, which passes them on to its host compiler.
list(TRANSFORM hardening PREPEND "-Xcompiler=")
list(TRANSFORM fortify PREPEND "-Xcompiler=")
target_compile_options(framewire_hardening INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:${hardening}>"
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimizes}>:${fortify}>")

# The table of functions found at start is bound then, and written no more; no stack is executable.
foreach(option relro now noexecstack)
  check_linker_flag(CXX "LINKER:-z,${option}" FRAMEWIRE_LINKS_${option})
  if(FRAMEWIRE_LINKS_${option})
    target_link_options(framewire_hardening INTERFACE "LINKER:-z,${option}")
  endif()
endforeach()
