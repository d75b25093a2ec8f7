# Fails if PROGRAM needs a shared library that C++ itself does not. A script, so that it can look into a program of
# another machine: READELF is that machine's.
execute_process(COMMAND ${READELF} -d ${PROGRAM} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]\n]*\\]" needed "${dynamic}")
if(NOT needed)
  message(FATAL_ERROR "${READELF} -d ${PROGRAM} names no library: is it a dynamic program?")
endif()
foreach(line IN LISTS needed)
  string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" library "${line}")
  if(NOT library MATCHES "^(libc|libm|libstdc\\+\\+|libgcc_s|ld-linux-.*)\\.so")
    message(SEND_ERROR "${PROGRAM} links ${library}: the engine alone is to link nothing but C++'s own libraries")
  endif()
endforeach()
