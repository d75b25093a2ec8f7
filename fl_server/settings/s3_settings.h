// What an operator says about a store that speaks S3.
#pragma once

#include <cstdint>
#include <string>

#include "base/problem.h"
#include "base/time.h"

namespace coterie {

inline constexpr size_t kS3PrefixBytesMax = 256;
inline constexpr size_t kS3TextBytesMax = 1024;       // of each other text here
inline constexpr uint64_t kS3PartBytesMin = 5 << 20;  // S3: of every part but the last
inline constexpr uint64_t kS3PartBytesMax = 256 << 20;

struct S3Settings {
  std::string endpoint;  // https://host or https://host:port, no path
  std::string region = "us-east-1";
  std::string bucket;
  std::string prefix;       // before every key; empty, or ends with /
  std::string ca_file;      // PEM: who may certify the store; empty: whom the system trusts
  bool path_style = false;  // https://host/bucket/key in the place of https://bucket.host/key

  // No file of a configuration says these.
  Millis connect_max{5'000};
  Millis transfer_max{60'000};   // one try
  Millis operation_max{90'000};  // all tries of one object, page or part
  uint32_t tries_max = 6;
  Millis backoff_base{100};  // backoff.h
  Millis backoff_max{5'000};
  uint64_t part_bytes = 8 << 20;  // larger blobs are put in parts of so many; that is the memory that putting takes
};

// Everything wrong with them, pointers relative to the block ("/endpoint").
Problems validate(const S3Settings& settings);

}  // namespace coterie
