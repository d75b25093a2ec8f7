# Rounds without training: build/release/bin/coterie-bench-rounds --devices 50 --megabytes 25
if(COTERIE_BUILD_SERVER)
  coterie_program(coterie-bench-rounds
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/bare_rounds.cc
    DEPENDS coterie_integration_support CLI11::CLI11)
  add_dependencies(coterie-bench-rounds fl_server)
endif()
