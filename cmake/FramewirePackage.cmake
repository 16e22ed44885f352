# Debian packages, by CPack; `./dev package` makes them. Only with FRAMEWIRE_PACKAGE.
#
#   libframewire0.1   the shared library          framewire       the program, manual page, completion
#   libframewire-dev  headers, find_package()     framewire-doc   pages and examples
if(NOT BUILD_SHARED_LIBS OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "packages hold a shared library below /usr: use the preset `package`")
endif()
set(FRAMEWIRE_PACKAGE_CONTACT "Framewire contributors <framewire@lists.invalid>" CACHE STRING
  "Who answers for the packages: a name and an address")

set(library_package "libframewire${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(doc "${CMAKE_INSTALL_DATADIR}/doc")
install(FILES "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION "${doc}/framewire-doc" COMPONENT documentation)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${doc}/framewire-doc/docs"
  COMPONENT documentation)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${doc}/framewire-doc"
  COMPONENT documentation)

# Every package has its copyright and its changelog. What Debian's policy wants compressed is written
# here, since the build tree has it plain.
string(TIMESTAMP FRAMEWIRE_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(folder "${PROJECT_BINARY_DIR}/debian")
configure_file("${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in" "${folder}/changelog" @ONLY)
find_program(FRAMEWIRE_GZIP gzip REQUIRED)
execute_process(COMMAND "${FRAMEWIRE_GZIP}" -9nf "${folder}/changelog" COMMAND_ERROR_IS_FATAL ANY)
set(names "${library_package}" libframewire-dev framewire framewire-doc)
set(components library development program documentation)
foreach(name component IN ZIP_LISTS names components)
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/debian/copyright" "${folder}/changelog.gz"
    DESTINATION "${doc}/${name}" COMPONENT ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${name}")
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
  set(overrides "${CMAKE_CURRENT_LIST_DIR}/debian/${component}.lintian-overrides")
  if(EXISTS "${overrides}")
    install(FILES "${overrides}" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides"
      RENAME "${name}" COMPONENT ${component})
  endif()
endforeach()

# The service's units, user and settings: only here, since the units name the places of packages.
if(FRAMEWIRE_SERVICE)
  set(systemd "${PROJECT_SOURCE_DIR}/packaging/systemd")
  install(FILES "${systemd}/framewire.service" "${systemd}/framewire.socket"
    DESTINATION /lib/systemd/system COMPONENT program)
  install(FILES "${systemd}/framewire.sysusers" DESTINATION /usr/lib/sysusers.d
    RENAME framewire.conf COMPONENT program)
  install(FILES "${systemd}/framewire.toml" DESTINATION /etc/framewire COMPONENT program)
  file(WRITE "${folder}/conffiles" "/etc/framewire/framewire.toml\n")
  set(scripts "${CMAKE_CURRENT_LIST_DIR}/debian")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${folder}/conffiles;${scripts}/postinst;${scripts}/prerm;${scripts}/postrm")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
    "init-system-helpers (>= 1.54), systemd | systemd-standalone-sysusers | systemd-sysusers")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME framewire)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each description below begins with one
set(CPACK_PACKAGE_CONTACT "${FRAMEWIRE_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_OUTPUT_FILE_PREFIX "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "JPEG to JPEG at the speed of the hardware - library
Framewire resizes JPEGs on CPUs, and moves pictures between processes and
hosts.

This package has the shared library.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/debian/triggers")
# Programs need a library with everything that the one has which they were linked with.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "JPEG to JPEG at the speed of the hardware - headers
Framewire resizes JPEGs on CPUs, and moves pictures between processes and
hosts.

This package has what find_package(Framewire) and pkg-config need. Examples
are in framewire-doc.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${library_package} (= ${PROJECT_VERSION}), libexpected-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS framewire-doc)

set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "resizes JPEGs, one or a million, and sends them elsewhere
The program resizes JPEG files and folders on all cores, keeps or converts
colours and metadata as asked, and sends pictures to other processes and
hosts over TLS.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Looked for when they are needed: the transport over RDMA, and the doctor's write to a card.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libucx0, libibverbs1, framewire-doc")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS libucx0)

set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION "JPEG to JPEG at the speed of the hardware - documentation
Guides, decisions and benchmarks of Framewire, and programs that use its
library.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
include(CPack)
