# ccache, where there is one: a file that any checkout has compiled before is not compiled again. -DCOTERIE_CCACHE=OFF for a
# build without; a launcher that the caller names is left alone.
#
# Paths below the checkout are seen as relative and the folder of the build is left out, so that two checkouts hit each
# other's results; paths in debug information are then relative, too, to the folder that compiled the file first.
option(COTERIE_CCACHE "Compile through ccache where it is installed" ON)
if(COTERIE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_C_COMPILER_LAUNCHER)
  find_program(COTERIE_CCACHE_PROGRAM ccache)
  if(COTERIE_CCACHE_PROGRAM)
    set(coterie_ccache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${COTERIE_CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${coterie_ccache})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${coterie_ccache})
  endif()
endif()
