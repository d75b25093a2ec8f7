# coterie.spdx.json: what this build links, by docs/DEPENDENCIES.md, in the versions that dpkg has. It is written by Python, which
# the demo's build can do without: there it is left out.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(STATUS "coterie.spdx.json is left out: it needs Python (apt-get install python3)")
  return()
endif()
set(spdx_options --into libcoterie.so)
if(COTERIE_BUILD_SERVER)
  list(APPEND spdx_options --into fl_server --into coterie)
  if(NOT COTERIE_BUILD_ONNX)
    list(APPEND spdx_options --without ONNX --without protobuf)
  endif()
elseif(COTERIE_WITHOUT_OPENSSL)
  list(APPEND spdx_options --without Boost --without OpenSSL)
elseif(NOT COTERIE_SDK_TRANSPORT)
  list(APPEND spdx_options --without Boost)
endif()
get_property(console_is_built GLOBAL PROPERTY COTERIE_CONSOLE_IS_BUILT)
if(NOT console_is_built)
  list(APPEND spdx_options --without Preact --without uPlot)
endif()
set(spdx_inputs ${PROJECT_SOURCE_DIR}/docs/DEPENDENCIES.md ${PROJECT_SOURCE_DIR}/tools/dev/dependency_tables.py
                ${PROJECT_SOURCE_DIR}/tools/dev/write_spdx.py)
if(EXISTS /var/lib/dpkg/status)  # an update of a library is a change of this file
  list(APPEND spdx_inputs /var/lib/dpkg/status)
endif()
set(COTERIE_SPDX ${PROJECT_BINARY_DIR}/coterie.spdx.json)
add_custom_command(OUTPUT ${COTERIE_SPDX}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/dev/write_spdx.py --page ${PROJECT_SOURCE_DIR}/docs/DEPENDENCIES.md
          --version ${PROJECT_VERSION} ${spdx_options} ${COTERIE_SPDX}
  DEPENDS ${spdx_inputs} VERBATIM)
add_custom_target(coterie_spdx ALL DEPENDS ${COTERIE_SPDX})
install(FILES ${COTERIE_SPDX} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
