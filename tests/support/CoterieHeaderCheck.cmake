# coterie_header_check(name FOLDER base DEPENDS coterie_os [EXCLUDE regex]): compiles every header below FOLDER (a path
# from the repository root) alone and twice, so that a header that leans on its includer's includes, or lacks its
# #pragma once, breaks the build. One tiny file a header, part of `all`. Where precompiled headers are used they serve here,
# too, and the standard headers that a header forgets are found by tests/tidy/check_includes.py. A cross build would find
# what the native one has found.
function(coterie_header_check name)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "FOLDER;EXCLUDE" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${ARG_FOLDER}/*.h)
  if(ARG_EXCLUDE)
    list(FILTER headers EXCLUDE REGEX ${ARG_EXCLUDE})
  endif()
  if(NOT headers)
    message(FATAL_ERROR "coterie_header_check(${name}): no header below ${ARG_FOLDER}")
  endif()
  set(sources)
  foreach(header IN LISTS headers)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/header_check/${header}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PRIVATE coterie_flags ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES CXX_CLANG_TIDY "" POSITION_INDEPENDENT_CODE ON)
  coterie_precompile(${name} std)
endfunction()
