# Writes OUTPUT, a source that defines NAME as the SHA-256 of the files LIST names (a line each) and of SALT. Files are
# hashed in the order of the list, each behind its path below ROOT.
file(STRINGS ${LIST} files)
set(text "${SALT}")
foreach(file ${files})
  file(SHA256 ${file} digest)
  file(RELATIVE_PATH path ${ROOT} ${file})
  string(APPEND text "\n${path} ${digest}")
endforeach()
string(SHA256 all "${text}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace coterie {\nconst char* const ${NAME} = \"${all}\";\n}\n")
