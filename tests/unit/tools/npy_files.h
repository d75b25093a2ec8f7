// .npy files as a test wants them, right or wrong.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace coterie::test {

// `shape` as Python writes it: "(3, 2)".
template <typename T>
Bytes npy_file(const std::string& type, const std::string& shape, const std::vector<T>& values,
               const std::string& fortran = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 10, ' ');
  header.back() = '\n';
  const std::string begin = std::string("\x93NUMPY\x01\x00", 8);
  Bytes file(begin.begin(), begin.end());
  file.push_back(static_cast<uint8_t>(header.size()));
  file.push_back(static_cast<uint8_t>(header.size() >> 8));
  file.insert(file.end(), header.begin(), header.end());
  const size_t at = file.size();
  file.resize(at + values.size() * sizeof(T));
  std::memcpy(file.data() + at, values.data(), values.size() * sizeof(T));
  return file;
}

}  // namespace coterie::test
