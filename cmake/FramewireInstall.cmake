# Installs the library, its headers and what find_package() and pkg-config need.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Framewire")
install(TARGETS framewire_library EXPORT FramewireTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
install(EXPORT FramewireTargets NAMESPACE Framewire:: DESTINATION "${package_dir}"
  COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/framewire" "${PROJECT_BINARY_DIR}/include/framewire"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/FramewireConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/FramewireConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break callers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/FramewireConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/FramewireConfig.cmake"
  "${PROJECT_BINARY_DIR}/FramewireConfigVersion.cmake" DESTINATION "${package_dir}"
  COMPONENT development)

# An install folder may be absolute, as some packagers set it, or relative to the prefix.
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(FRAMEWIRE_PC_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(FRAMEWIRE_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
# The prefix is found from the file's own place, so that cmake --install --prefix and the bundle may
# put it anywhere.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(FRAMEWIRE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(FRAMEWIRE_PC_PREFIX "\${pcfiledir}/${up}")
endif()
if(NOT BUILD_SHARED_LIBS)
  # Without --static pkg-config would leave out what a static library needs. A shared one brings it.
  set(FRAMEWIRE_PC_REQUIRES "Requires: libjpeg lcms2 libhwy fmt libxxhash pugixml openssl\n")
  set(FRAMEWIRE_PC_CFLAGS " -DFRAMEWIRE_STATIC")
  set(FRAMEWIRE_PC_LIBS "-lstdc++ -lm -pthread")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/framewire.pc.in" "${PROJECT_BINARY_DIR}/framewire.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/framewire.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
if(FRAMEWIRE_SERVICE)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/grafana/framewire.json"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/framewire/grafana" COMPONENT program)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT license)
