# -DCOTERIE_OPS_FROM="a.cotf;b.cotf;ops.txt": a build with the ops of these models alone, and the kernels they need. Models
# with any other op are refused as they are loaded. Sets COTERIE_OPS, COTERIE_KERNEL_FAMILIES and COTERIE_KERNELS, which are
# empty for all, and COTERIE_WAYS_LEFT_OUT.
set(COTERIE_OPS_FROM "" CACHE STRING "Model files, or texts with names of ops, losses, optimizers: the only ones this build has")
if(COTERIE_OPS_FROM)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(files)
  foreach(file ${COTERIE_OPS_FROM})
    file(REAL_PATH ${file} file BASE_DIRECTORY ${CMAKE_SOURCE_DIR} EXPAND_TILDE)
    list(APPEND files ${file})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/ops_from.py ${PROJECT_SOURCE_DIR} ${files}
                  OUTPUT_VARIABLE found ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${problem}")
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/ops_of_build.txt "${found}")  # `coterie model crop --build` reads it
  string(REGEX MATCH "^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n$" found "${found}")
  set(COTERIE_OPS ${CMAKE_MATCH_1})
  set(COTERIE_KERNEL_FAMILIES ${CMAKE_MATCH_2})
  set(COTERIE_KERNELS ${CMAKE_MATCH_3})
  set(COTERIE_WAYS_LEFT_OUT ${CMAKE_MATCH_4})
  message(STATUS "Ops of this build: ${COTERIE_OPS}")
endif()
