# Precompiled headers: the standard library is most of what a file of ours costs to compile, and is the same in all of them.
#
# AUTO: where no compiler cache is used. A cache serves better, across folders and branches, and would miss on files that
# read a precompiled header. They change nothing that a file may use: tests/tidy/check_includes.py finds the standard header that
# a file forgets, and the presets tidy and gcc-sdk compile every file without them.
set(COTERIE_PCH AUTO CACHE STRING "Precompiled headers: AUTO (where no compiler cache is used), ON or OFF")
set_property(CACHE COTERIE_PCH PROPERTY STRINGS AUTO ON OFF)
if(COTERIE_PCH STREQUAL "AUTO")
  set(coterie_uses_pch ON)
  # MinSizeRel compiles libraries with flags of their own.
  if(CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_CLANG_TIDY OR CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
    set(coterie_uses_pch OFF)
  endif()
else()
  set(coterie_uses_pch ${COTERIE_PCH})
endif()

# A set is a name and what it reads. Each is compiled once for libraries (position independent) and once for programs, when
# the first target asks for it, and serves all targets with the build's flags.
set(coterie_pch_std
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring>
  <deque> <functional> <initializer_list> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <string>
  <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>)
set(coterie_pch_files ${coterie_pch_std} <filesystem> <fstream> <sstream>)
set(coterie_pch_json ${coterie_pch_files} <nlohmann/json.hpp>)
set(coterie_pch_json_needs nlohmann_json::nlohmann_json)
set(coterie_pch_cli ${coterie_pch_json} <CLI/CLI.hpp>)
set(coterie_pch_cli_needs nlohmann_json::nlohmann_json CLI11::CLI11)
set(coterie_pch_network ${coterie_pch_json}
  <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/use_awaitable.hpp>)
set(coterie_pch_network_needs nlohmann_json::nlohmann_json coterie_beast OpenSSL::SSL)
set(coterie_pch_test ${coterie_pch_files} <gmock/gmock.h> <gtest/gtest.h>)
set(coterie_pch_test_needs GTest::gmock)
if(COTERIE_BUILD_SERVER)
  list(APPEND coterie_pch_test <nlohmann/json.hpp>)
  list(APPEND coterie_pch_test_needs nlohmann_json::nlohmann_json)
endif()

# coterie_precompile(target set [OWN]): OWN for a target with flags of its own (another optimisation), which no other can
# share; the set none for one of those with too few files to pay.
function(coterie_precompile target set)
  if(NOT coterie_uses_pch OR set STREQUAL "none")
    return()
  endif()
  if("OWN" IN_LIST ARGN)
    target_precompile_headers(${target} PRIVATE ${coterie_pch_${set}})
    return()
  endif()
  get_target_property(is_position_independent ${target} POSITION_INDEPENDENT_CODE)
  set(owner coterie_pch_of_${set})
  if(NOT is_position_independent)
    string(APPEND owner _programs)
  endif()
  get_target_property(is_hot ${target} COTERIE_HOT)
  if(is_hot AND COTERIE_OPTIMISE_HOT)
    string(APPEND owner _hot)
  endif()
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/pch/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// The owner of a precompiled header.\n")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${owner} PRIVATE coterie_flags ${coterie_pch_${set}_needs})
    target_precompile_headers(${owner} PRIVATE ${coterie_pch_${set}})
    set_target_properties(${owner} PROPERTIES CXX_CLANG_TIDY "")
    if(is_hot AND COTERIE_OPTIMISE_HOT)
      target_compile_options(${owner} PRIVATE -O1)
    endif()
    if(is_position_independent)
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
