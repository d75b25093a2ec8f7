# cmake -DFILES="a.h;b.c" -DOUTPUT=c.c -DINCLUDE=a.h -DTITLE=text -P join_c.cmake
# Writes one C file of several: INCLUDE is the one file that it includes.
set(all "/* ${TITLE} */\n#include \"${INCLUDE}\"\n")
foreach(file ${FILES})
  file(READ ${file} text)
  string(REGEX REPLACE "#include \"[^\"\n]*\"\n" "" text "${text}")
  string(APPEND all "\n${text}")
endforeach()
file(WRITE ${OUTPUT} "${all}")
