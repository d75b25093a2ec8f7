# coterie_discover_suites(TARGET): its GoogleTest suites, each as one test of CTest, listed when ctest starts.
#
# gtest_discover_tests makes a process of each case. Under ASan a large program takes .6 CPU seconds to start, most of
# what 3,500 cases of unit tests cost; and under an emulator more than that.
#
# Read twice: by CMake for the function, and by ctest (COTERIE_SUITES_OF is set), which asks the program.
if(NOT DEFINED COTERIE_SUITES_OF)
  set(coterie_discover_suites_script ${CMAKE_CURRENT_LIST_FILE})
  function(coterie_discover_suites target)
    cmake_parse_arguments(ARG "" "PREFIX;FILTER;LABEL;TIMEOUT" "" ${ARGN})
    set(include_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
    if(NOT ARG_FILTER)
      set(ARG_FILTER *)
    endif()
    get_target_property(emulator ${target} CROSSCOMPILING_EMULATOR)
    if(NOT emulator)
      set(emulator)
    endif()
    file(GENERATE OUTPUT ${include_file} CONTENT
"set(COTERIE_SUITES_OF [==[$<TARGET_FILE:${target}>]==])
set(COTERIE_SUITES_EMULATOR [==[${emulator}]==])
set(COTERIE_SUITES_PREFIX [==[${ARG_PREFIX}]==])
set(COTERIE_SUITES_FILTER [==[${ARG_FILTER}]==])
set(COTERIE_SUITES_PROPERTIES LABELS [==[${ARG_LABEL}]==] TIMEOUT ${ARG_TIMEOUT} WORKING_DIRECTORY [==[${PROJECT_SOURCE_DIR}]==])
include([==[${coterie_discover_suites_script}]==])
unset(COTERIE_SUITES_OF)
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include_file})
  endfunction()
  return()
endif()

get_filename_component(suites_name "${COTERIE_SUITES_OF}" NAME)
if(NOT EXISTS "${COTERIE_SUITES_OF}")
  add_test(${suites_name}_NOT_BUILT ${suites_name}_NOT_BUILT)
  return()
endif()
execute_process(COMMAND ${COTERIE_SUITES_EMULATOR} ${COTERIE_SUITES_OF} --gtest_list_tests --gtest_filter=${COTERIE_SUITES_FILTER}
                OUTPUT_VARIABLE suites_listed RESULT_VARIABLE suites_result)
if(NOT suites_result EQUAL 0)
  message(FATAL_ERROR "${COTERIE_SUITES_OF} does not list its tests: ${suites_result}")
endif()
# A line of a suite begins at the margin and ends with a dot; one of a case does not begin there.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites_lines "${suites_listed}")
if(NOT suites_lines)
  message(FATAL_ERROR "${COTERIE_SUITES_OF} lists no suite that passes ${COTERIE_SUITES_FILTER}")
endif()
foreach(line IN LISTS suites_lines)
  string(REGEX REPLACE "[\n.]" "" suite "${line}")
  # A negative filter stays in force: "Suite.*-*Postgres*".
  string(REGEX MATCH "-.*" suites_without "${COTERIE_SUITES_FILTER}")
  add_test("${COTERIE_SUITES_PREFIX}${suite}" ${COTERIE_SUITES_EMULATOR} "${COTERIE_SUITES_OF}"
           "--gtest_filter=${suite}.*${suites_without}")
  set_tests_properties("${COTERIE_SUITES_PREFIX}${suite}" PROPERTIES ${COTERIE_SUITES_PROPERTIES})
endforeach()
