# coterie_headers(target hwy/highway.h): an interface target for a library that is used through its headers alone, found
# by one of them. A cross compiler must not see the rest of the building machine's /usr/include, so it gets a link to
# the library's own folder.
function(coterie_headers target header)
  find_path(${target}_INCLUDE_DIR ${header} REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  set(include_dir ${${target}_INCLUDE_DIR})
  if(CMAKE_CROSSCOMPILING)
    cmake_path(GET header PARENT_PATH folder)
    set(include_dir ${PROJECT_BINARY_DIR}/headers/${target})
    file(MAKE_DIRECTORY ${include_dir})
    file(CREATE_LINK ${${target}_INCLUDE_DIR}/${folder} ${include_dir}/${folder} SYMBOLIC)
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${include_dir})
endfunction()
