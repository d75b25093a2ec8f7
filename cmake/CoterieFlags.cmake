# Warnings, hardening and sanitizers of our own targets (never of dependencies), as one interface target.
add_library(coterie_flags INTERFACE)
target_compile_options(coterie_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual -Wimplicit-fallthrough
  -Wunused -Wvla -fno-omit-frame-pointer -fvisibility=hidden -fvisibility-inlines-hidden
  $<$<BOOL:${COTERIE_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(coterie_flags INTERFACE -Wthread-safety -Wshorten-64-to-32)
elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in "a" + std::string (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651) and copies
  # beyond the end in std::vector::insert.
  target_compile_options(coterie_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-array-bounds>")
  # It does not see that a loop over registers ran, nor that members a designated initializer leaves out are meant.
  target_compile_options(coterie_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-missing-field-initializers>")
endif()
# Debug builds, the sanitizers' among them, check the machines after every step (base/assert.h).
target_compile_definitions(coterie_flags INTERFACE $<$<CONFIG:Debug>:COT_CHECK_STEPS>)
if(NOT APPLE)
  target_link_options(coterie_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(COTERIE_SANITIZE STREQUAL "")
  target_compile_options(coterie_flags INTERFACE -fstack-protector-strong -fstack-clash-protection $<$<NOT:$<OR:$<CONFIG:Debug>,$<BOOL:${COTERIE_QUICK}>>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
  # Indirect jumps land only where the compiler meant them to, on CPUs and kernels that check it. An app chooses for itself.
  if(APPLE)  # has its own
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT COTERIE_ENGINE_ONLY)
    target_compile_options(coterie_flags INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND NOT COTERIE_ENGINE_ONLY)
    target_compile_options(coterie_flags INTERFACE -mbranch-protection=standard)
  endif()
else()
  # The sanitizers must see every object that is linked, so they are global rather than a property of our targets.
  add_compile_options(-fsanitize=${COTERIE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COTERIE_SANITIZE})
  # To find uses of a local behind its function's return, each function asks first whether its locals shall lie elsewhere. Tests have found
  # none, and pay for it in each call. Fuzz targets look for it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND COTERIE_SANITIZE MATCHES "address" AND NOT COTERIE_FUZZ)
    add_compile_options(-fsanitize-address-use-after-return=never)
  endif()
  # The address sanitizer has a table of pointers to all variables. The loader writes it anew wherever a program may lie: half of the time
  # that `coterie` takes to start, and a test starts dozens of programs. One that lies where its linker put it has nothing to write.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND COTERIE_SANITIZE MATCHES "address")
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()
if(COTERIE_ENGINE_ONLY)
  # Nobody there reads what steps are called (device_sdk/runtime/step.h).
  target_compile_definitions(coterie_flags INTERFACE COTERIE_NO_STEP_TEXT)
  # An app's linker drops what it does not reach; -Oz makes all but the kernels half as large as -O2.
  target_compile_options(coterie_flags INTERFACE -ffunction-sections -fdata-sections)
  set(CMAKE_CXX_FLAGS_MINSIZEREL "-Oz -DNDEBUG")
  # What throws nothing and catches nothing is half as large without the tables of those who do, frame pointers and stack
  # protectors: of some 340 KiB beside the kernels 110 are tables and 60 code. Out of memory, beside the arena, whose
  # allocation has a typed error, then ends the process (docs/adr/0008).
  set(small_library $<AND:$<CONFIG:MinSizeRel>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>>)
  target_compile_options(coterie_flags INTERFACE
    "$<${small_library}:-fno-exceptions;-fno-asynchronous-unwind-tables;-fno-unwind-tables;-fomit-frame-pointer;-fno-stack-protector>")
endif()
if(COTERIE_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# coterie_foreign_classes(target): it calls objects of modules that it loads, whose classes have type information of their own: the sanitizer
# would take them for objects of no such class.
function(coterie_foreign_classes target)
  if(COTERIE_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=vptr)
  endif()
endfunction()

# coterie_check_by_calls(target): the address sanitizer checks by calls, and not in place, where a function has more than 100 reads and
# writes. Loops that are unrolled over vectors by hand have thousands, and the compiler then takes four times as long.
function(coterie_check_by_calls target)
  if(COTERIE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -asan-instrumentation-with-call-threshold=100")
  endif()
endfunction()
