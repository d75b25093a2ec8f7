# The console in fl_server: COTERIE_CONSOLE_BUNDLE is the source that has its files, unset if there is none. Packages come from npm's registry when the
# build is configured, each as the digest in console/package-lock.json has it, and none of their scripts runs. Where that cannot
# be, the build goes on with a page that says so.
set(console_dir ${PROJECT_BINARY_DIR}/console)
if(NOT COTERIE_CONSOLE)
  return()
endif()
find_program(COTERIE_NPM npm)
find_program(COTERIE_NODE node)
if(NOT COTERIE_NPM OR NOT COTERIE_NODE)
  message(STATUS "The console is left out: it needs npm (apt-get install npm)")
  return()
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/console/package-lock.json)
file(SHA256 ${PROJECT_SOURCE_DIR}/console/package-lock.json console_lock)
if(NOT EXISTS ${console_dir}/${console_lock}.installed)
  file(COPY ${PROJECT_SOURCE_DIR}/console/package.json ${PROJECT_SOURCE_DIR}/console/package-lock.json DESTINATION ${console_dir})
  execute_process(COMMAND ${COTERIE_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline WORKING_DIRECTORY ${console_dir}
                  RESULT_VARIABLE console_failed OUTPUT_QUIET ERROR_VARIABLE console_words TIMEOUT 120)
  if(console_failed)
    message(STATUS "The console is left out: npm ci failed with ${console_failed}. ${console_words}")
    return()
  endif()
  file(TOUCH ${console_dir}/${console_lock}.installed)
endif()
file(GLOB console_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/console/src/*)
set(COTERIE_CONSOLE_BUNDLE ${console_dir}/console_bundle.cc)
add_custom_command(OUTPUT ${COTERIE_CONSOLE_BUNDLE}
  COMMAND ${COTERIE_NODE} ${PROJECT_SOURCE_DIR}/console/build.mjs ${console_dir} ${COTERIE_CONSOLE_BUNDLE}
  DEPENDS ${PROJECT_SOURCE_DIR}/console/build.mjs ${console_sources} VERBATIM)
set_property(GLOBAL PROPERTY COTERIE_CONSOLE_IS_BUILT ON)
