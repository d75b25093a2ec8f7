# cmake -DINPUT=file -DOUTPUT=file.cc -DHEADER=a/b.h -DNAME=kName -P embed.cmake
# Writes a C++ file that defines the bytes of INPUT as the ByteView NAME, which HEADER declares.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace coterie {
namespace {

constexpr uint8_t kBytes[] = {
${bytes}};

}  // namespace

const ByteView ${NAME}(kBytes);

}  // namespace coterie
")
