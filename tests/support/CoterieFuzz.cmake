# coterie_fuzz(name SOURCE x.cc DEPENDS ... [DEFINES ...] [CORPUS folder]): one fuzz target, a file with
# LLVMFuzzerTestOneInput. Its seeds and its past findings lie in tests/fuzz/corpus/<name> (or CORPUS).
#
#   COTERIE_FUZZ=ON (preset fuzz, clang): linked with libFuzzer. Run it: build/fuzz/bin/fuzz_<name> -max_total_time=60
#                                         a-new-folder tests/fuzz/corpus/<name>
#   otherwise:                            linked with a main that feeds it every file of the corpus.
#
# Both ways CTest runs the corpus as the test fuzz.<name>, label fuzz-corpus.
if(COTERIE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "COTERIE_FUZZ needs clang")
  endif()
  # Coverage instrumentation of everything of ours that a target is linked with.
  target_compile_options(coterie_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(coterie_fuzz name)
  cmake_parse_arguments(ARG "" "SOURCE;CORPUS" "DEPENDS;DEFINES" ${ARGN})
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  endif()
  coterie_program(fuzz_${name} SOURCES ${ARG_SOURCE} DEPENDS ${ARG_DEPENDS} PCH files)
  target_compile_definitions(fuzz_${name} PRIVATE ${ARG_DEFINES})
  if(COTERIE_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} -runs=0 ${ARG_CORPUS})
  else()
    target_link_libraries(fuzz_${name} PRIVATE coterie_fuzz_main)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${ARG_CORPUS})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz-corpus TIMEOUT 120)
endfunction()
