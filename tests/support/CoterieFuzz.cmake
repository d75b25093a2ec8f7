# coterie_fuzz(name SOURCE x.cc DEPENDS ... [DEFINES ...] [FUNCTION f]): one fuzz target, a file with LLVMFuzzerTestOneInput.
# Its seeds and its past findings lie in tests/fuzz/corpus/<name>.
#
#   COTERIE_FUZZ=ON (preset fuzz, clang): a program each, linked with libFuzzer. Run it: build/fuzz/bin/fuzz_<name>
#                                         -max_total_time=60 a-new-folder tests/fuzz/corpus/<name>
#   otherwise:                            all targets in one program, fuzz_corpus, which feeds one of them every file of its
#                                         corpus: linking a program for each takes longer than running them. FUNCTION is what
#                                         it calls where a source serves several targets by DEFINES.
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
  cmake_parse_arguments(ARG "" "SOURCE;FUNCTION" "DEPENDS;DEFINES" ${ARGN})
  if(COTERIE_FUZZ)
    coterie_program(fuzz_${name} SOURCES ${ARG_SOURCE} DEPENDS ${ARG_DEPENDS} PCH files)
    target_compile_definitions(fuzz_${name} PRIVATE ${ARG_DEFINES})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(command fuzz_${name} -runs=0)
  else()
    set(command fuzz_corpus ${name})
    if(NOT ARG_FUNCTION)
      # In one program each goes by a name of its own.
      set(ARG_FUNCTION fuzz_${name})
      set_property(SOURCE ${ARG_SOURCE} APPEND PROPERTY COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=${ARG_FUNCTION})
      set_property(DIRECTORY APPEND PROPERTY COTERIE_FUZZ_SOURCES ${ARG_SOURCE})
      set_property(DIRECTORY APPEND_STRING PROPERTY COTERIE_FUZZ_DECLARATIONS
                   "extern \"C\" int ${ARG_FUNCTION}(const uint8_t* data, size_t size);\n")
    endif()
    set_property(DIRECTORY APPEND PROPERTY COTERIE_FUZZ_DEPENDS ${ARG_DEPENDS})
    set_property(DIRECTORY APPEND_STRING PROPERTY COTERIE_FUZZ_TABLE "    {\"${name}\", &${ARG_FUNCTION}},\n")
  endif()
  add_test(NAME fuzz.${name} COMMAND ${command} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz-corpus TIMEOUT 120)
endfunction()

# coterie_fuzz_corpus(SOURCES main.cc HEADERS a.h): fuzz_corpus, once all targets of the folder are known. HEADERS declare what
# FUNCTION names.
function(coterie_fuzz_corpus)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS" ${ARGN})
  if(COTERIE_FUZZ)
    return()
  endif()
  foreach(what SOURCES DEPENDS DECLARATIONS TABLE)
    get_property(${what} DIRECTORY PROPERTY COTERIE_FUZZ_${what})
  endforeach()
  list(REMOVE_DUPLICATES DEPENDS)
  list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "#include \"\\1\"")
  list(JOIN ARG_HEADERS "\n" INCLUDES)
  set(targets ${CMAKE_CURRENT_BINARY_DIR}/corpus_targets.cc)
  file(CONFIGURE OUTPUT ${targets} @ONLY CONTENT [[
#include <map>

@INCLUDES@

@DECLARATIONS@
coterie::test::FuzzTarget* coterie::test::fuzz_target(std::string_view name) {
  static const std::map<std::string_view, FuzzTarget*> targets{
@TABLE@  };
  const auto found = targets.find(name);
  return found == targets.end() ? nullptr : found->second;
}
]])
  coterie_program(fuzz_corpus SOURCES ${ARG_SOURCES} ${targets} ${SOURCES} DEPENDS ${DEPENDS} PCH files)
endfunction()
