# The few verbs every CMakeLists.txt in this tree is written with. Paths in #include start at the repository root.

# coterie_library(name SOURCES a.cc b.cc HEADERS c.h DEPENDS other::lib): one static library a folder. HEADERS documents
# the folder's public face; every header is also compiled alone once (target header_check).
function(coterie_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE coterie_flags ${ARG_PRIVATE_DEPENDS})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY COTERIE_LIBRARIES ${name})
endfunction()

# coterie_program(name SOURCES ... DEPENDS ...): an executable that lands in build/<preset>/bin.
function(coterie_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE coterie_flags ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# coterie_test(name SOURCES ... DEPENDS ... [LABEL unit] [PREFIX p.]): one GoogleTest binary, its cases listed by CTest one
# by one, under the prefix.
function(coterie_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PREFIX;FILTER" "SOURCES;DEPENDS" ${ARGN})
  if(NOT COTERIE_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE coterie_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE COTERIE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             COTERIE_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  if(COTERIE_ENGINE_ONLY)
    target_compile_definitions(${name} PRIVATE $<$<CONFIG:MinSizeRel>:COT_NO_UNWINDING>)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_FILTER}" DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# coterie_flatbuffers(target a.fbs b.fbs): generated C++ headers under the build tree, reachable by proto/codec only.
function(coterie_flatbuffers target)
  set(outputs)
  set(out_dir ${CMAKE_CURRENT_BINARY_DIR}/generated/proto/generated)
  foreach(schema ${ARGN})
    get_filename_component(stem ${schema} NAME_WE)
    set(output ${out_dir}/${stem}_generated.h)
    add_custom_command(OUTPUT ${output}
      COMMAND ${COTERIE_FLATC} --cpp --cpp-std c++17 --scoped-enums -o ${out_dir} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${schema} VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(${target}_generate DEPENDS ${outputs})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_generate)
  target_include_directories(${target} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(${target} INTERFACE coterie_flatbuffers_headers)
endfunction()
