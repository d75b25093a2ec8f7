# The few verbs every CMakeLists.txt in this tree is written with. Paths in #include start at the repository root.

# coterie_library(name SOURCES a.cc b.cc HEADERS c.h DEPENDS other::lib [PCH set [OWN]] [HOT]): one static library a folder. HEADERS
# documents the folder's public face. PCH: which precompiled headers (CoteriePch.cmake), std unless another is named. HOT: it computes
# over whole models or every byte of an upload, so that it is optimised (-O1) where nothing else is: ./quickstart, debug builds.
function(coterie_library name)
  cmake_parse_arguments(ARG "HOT" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS;PCH" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE coterie_flags ${ARG_PRIVATE_DEPENDS})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON COTERIE_HOT ${ARG_HOT})
    target_compile_options(${name} PRIVATE $<$<AND:$<BOOL:${COTERIE_OPTIMISE_HOT}>,$<BOOL:${ARG_HOT}>>:-O1>)
    if(NOT ARG_PCH)
      set(ARG_PCH std)
    endif()
    coterie_precompile(${name} ${ARG_PCH})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY COTERIE_LIBRARIES ${name})
endfunction()

# coterie_same_bits(name): what the library computes has the same bits on every CPU. Clang for ARM, and GCC wherever there is such an
# instruction, would else form a product and a sum in one, rounded once. Libraries need it whose floats come to be a model or what is
# told of one: a simulation on a laptop has the digest of the server's model (docs/SIMULATE.md).
function(coterie_same_bits name)
  target_compile_options(${name} PRIVATE -ffp-contract=off)
endfunction()

# coterie_program(name SOURCES ... DEPENDS ... [PCH set]): an executable that lands in build/<preset>/bin.
function(coterie_program name)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE coterie_flags ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  if(ARG_PCH)
    coterie_precompile(${name} ${ARG_PCH})
  endif()
endfunction()

# coterie_test(name SOURCES ... DEPENDS ... [DEFINES ...] [PROGRAMS ...] [LABEL unit] [PREFIX p.]): one GoogleTest binary. CTest
# has its suites under the prefix, and of other labels than unit each case. PROGRAMS: targets that it starts. What has the label
# nightly is built with COTERIE_BUILD_NIGHTLY alone: mostly the same sources as by day, with more to do.
#
# Called again with a name, it adds to that program: folders that need no flags of their own share one, as each costs a link.
# Label, time limit, prefix and filter are the first call's.
function(coterie_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PREFIX;FILTER" "SOURCES;DEPENDS;DEFINES;PROGRAMS" ${ARGN})
  if(NOT COTERIE_BUILD_TESTS OR (ARG_LABEL STREQUAL "nightly" AND NOT COTERIE_BUILD_NIGHTLY))
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT AND ARG_LABEL STREQUAL "unit")
    set(ARG_TIMEOUT 600)  # of a suite, also in an emulator
  elseif(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT TARGET ${name})
    add_executable(${name})
    set_target_properties(${name} PROPERTIES COTERIE_TEST_LABEL ${ARG_LABEL})
    target_link_libraries(${name} PRIVATE coterie_flags coterie_test_paths GTest::gmock GTest::gtest_main)
    coterie_precompile(${name} test)
    if(COTERIE_ENGINE_ONLY)
      target_compile_definitions(${name} PRIVATE $<$<CONFIG:MinSizeRel>:COT_NO_UNWINDING>)
    endif()
    if(ARG_LABEL STREQUAL "unit")
      coterie_discover_suites(${name} PREFIX "${ARG_PREFIX}" FILTER "${ARG_FILTER}" LABEL unit TIMEOUT ${ARG_TIMEOUT})
    else()
      gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_FILTER}" DISCOVERY_MODE PRE_TEST
                           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
    endif()
  endif()
  get_target_property(label ${name} COTERIE_TEST_LABEL)
  if(NOT label STREQUAL ARG_LABEL)
    message(FATAL_ERROR "coterie_test(${name}): its cases have the label ${label}, not ${ARG_LABEL}")
  endif()
  target_sources(${name} PRIVATE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINES})
  if(ARG_PROGRAMS)
    add_dependencies(${name} ${ARG_PROGRAMS})
  endif()
endfunction()

# coterie_flatbuffers(target a.fbs b.fbs): generated C++ headers under the build tree, reachable by who links the target.
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
