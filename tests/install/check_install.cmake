# Installs the build tree into a fresh prefix and uses it from outside, once through find_package()
# and once through pkg-config. Arguments: BUILD_DIR WORK_DIR SOURCE_DIR CXX SAMPLE LIBDIR VERSION.
cmake_minimum_required(VERSION 3.25)

set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "${command}\nexited with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# A smaller, complete JPEG must come out; SOI and EOI are read back as hex. 77: there is no GPU.
function(check_resize program)
  set(small "${WORK_DIR}/small.jpg")
  file(REMOVE "${small}")
  execute_process(COMMAND "${program}" INPUT_FILE "${SAMPLE}" OUTPUT_FILE "${small}"
    RESULT_VARIABLE result ERROR_VARIABLE error)
  if(result EQUAL 77 AND error MATCHES "^SKIPPED: unsupported: ")
    message(STATUS "${program}: ${error}")
    return()
  endif()
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} exited with ${result}: ${error}")
  endif()
  file(SIZE "${SAMPLE}" bytes_in)
  file(SIZE "${small}" bytes_out)
  file(READ "${small}" hex HEX)
  if(NOT hex MATCHES "^ffd8.*ffd9$" OR NOT bytes_out LESS bytes_in)
    message(FATAL_ERROR "${program} wrote ${bytes_out} bytes that are no smaller JPEG")
  endif()
endfunction()

# Several at once; one that is no JPEG fails alone.
function(check_engine program)
  run("${program}" "${SAMPLE}" "${SAMPLE}")
  if(NOT output MATCHES "jpg: 480x[0-9]+, [0-9]+ bytes\n.*jpg: 480x[0-9]+, [0-9]+ bytes\n")
    message(FATAL_ERROR "${program} said '${output}'")
  endif()
  execute_process(COMMAND "${program}" "${SAMPLE}" "${CMAKE_CURRENT_LIST_FILE}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 1 OR NOT error MATCHES "invalid_input" OR NOT output MATCHES "jpg: 480x")
    message(FATAL_ERROR "${program} exited with ${result} and said '${output}${error}'")
  endif()
endfunction()

# Two threads of one process send each other a line over TCP.
function(check_send program)
  run("${program}")
  if(NOT output MATCHES "^from one to the other\n$")
    message(FATAL_ERROR "${program} received '${output}'")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")

run("${prefix}/bin/framewire" --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "the installed program calls itself '${output}', not ${VERSION}")
endif()

run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/install" -B "${WORK_DIR}/cmake"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_BUILD_TYPE=Release
  "-DEXAMPLES=${SOURCE_DIR}/examples")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/cmake")
foreach(example resize memory device_planes frames)
  check_resize("${WORK_DIR}/cmake/${example}")
endforeach()
check_engine("${WORK_DIR}/cmake/engine")
check_send("${WORK_DIR}/cmake/send")
run("${WORK_DIR}/cmake/version")
if(NOT output MATCHES "^${VERSION}\n$")
  message(FATAL_ERROR "the installed header calls itself '${output}', not ${VERSION}")
endif()

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
run(pkg-config --cflags --libs framewire)
separate_arguments(flags UNIX_COMMAND "${output}")
foreach(example resize send)
  run("${CXX}" -std=c++20 "${SOURCE_DIR}/examples/${example}.cpp" ${flags} -pthread
    -o "${WORK_DIR}/${example}_pkg_config")
endforeach()
check_resize("${WORK_DIR}/resize_pkg_config")
check_send("${WORK_DIR}/send_pkg_config")
message(STATUS "find_package() and pkg-config both work from ${prefix}")
