// Which code makes examples of files. What reads a table, decodes an image or fits a scale differently has another
// digest, so that no entry of another build's making is taken for its own.
#pragma once

namespace coterie {

// Hexadecimal SHA-256 of those sources, of the compiler and its target. Made by the build (cmake/digest_sources.cmake).
extern const char* const kDataCodeDigest;

}  // namespace coterie
