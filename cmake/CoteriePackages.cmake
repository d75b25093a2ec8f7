# cpack -G DEB and cpack -G TGZ, in a build folder: Debian's packages, one a component of CoterieInstall.cmake, and a tarball of all.
# What a package needs of libraries dpkg-shlibdeps reads from its programs. tools/dev/packages.sh is what builds them.
set(CPACK_PACKAGE_NAME coterie)
set(CPACK_PACKAGE_VENDOR Coterie)
set(CPACK_PACKAGE_CONTACT "The Coterie authors <coterie@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_COMPONENTS_GROUPING IGNORE)  # one package a component
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
find_program(COTERIE_SHLIBDEPS dpkg-shlibdeps)
if(COTERIE_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  message(STATUS "dpkg-shlibdeps was not found: packages name no libraries (apt-get install dpkg-dev)")
endif()

# coterie_package(component debian-name "what it is" [DEPENDS ...] [RECOMMENDS ...] [SECTION ...] [SCRIPTS ...])
set(CPACK_COMPONENTS_ALL)
macro(coterie_package component name what)
  cmake_parse_arguments(ARG "" "SECTION" "DEPENDS;RECOMMENDS;SCRIPTS" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${what}")
  if(ARG_SECTION)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION})
  endif()
  string(REPLACE ";" ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}")
  string(REPLACE ";" ", " CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}")
  list(TRANSFORM ARG_SCRIPTS PREPEND ${PROJECT_SOURCE_DIR}/deploy/debian/ OUTPUT_VARIABLE CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA)
  # Debian's place for a licence. Elsewhere there is one for all.
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

set(same "(= ${PROJECT_VERSION})")
coterie_package(sdk libcoterie0 "on-device training for federated learning
 libcoterie.so, which apps link." SECTION libs)
coterie_package(dev libcoterie-dev "on-device training for federated learning: headers
 Headers for C and C++, libcoterie.a, and what CMake and pkg-config look for." SECTION libdevel
  DEPENDS "libcoterie0 ${same}" "libssl-dev (>= 3.0)" libsodium-dev)
if(TARGET coterie_jni)
  coterie_package(java libcoterie-java "on-device training for federated learning, in Java
 coterie.jar and libcoterie_jni.so." SECTION java)
endif()
if(COTERIE_BUILD_SERVER)
  coterie_package(server coterie-server "federated learning server
 fl_server with its units for systemd." SECTION net SCRIPTS postinst prerm postrm)
  coterie_package(tools coterie "command line for federated learning
 Runs a demo, makes and converts models, and speaks to servers." RECOMMENDS "coterie-server ${same}")
  if(TARGET coterie_texts)  # Debian's zsh does not look where zsh itself does
    install(FILES ${PROJECT_BINARY_DIR}/share/zsh/site-functions/_coterie DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
            COMPONENT tools EXCLUDE_FROM_ALL)
  endif()
endif()
include(CPack)
