# Prints what the stripped PROGRAM weighs, and fails if it is more than KIB.
file(SIZE ${PROGRAM} bytes)
math(EXPR kib "(${bytes} + 1023) / 1024")
message(STATUS "${PROGRAM}: ${kib} KiB, at most ${KIB}")
if(kib GREATER KIB)
  message(FATAL_ERROR "${PROGRAM} weighs ${kib} KiB, more than ${KIB}: what has come in, and must it?")
endif()
