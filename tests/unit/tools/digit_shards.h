// Digits spread over devices, with a logistic model for them: what simulations of rounds begin with.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/demo/demo_data.h"

namespace coterie::test {

// A file for each device, in `directory`. Fails the test, and leaves `shards` short, where it cannot be made.
inline void make_digit_shards(uint32_t devices, const DataSplit& split, const TemporaryDirectory& directory,
                              DemoData& made, std::vector<std::string>& shards) {
  DemoOptions options;
  options.devices = devices;
  options.devices_given = true;
  options.model = ModelKind::logistic;
  options.split = split;
  Result<DemoData> data = prepare_data(options);
  ASSERT_OK(data);
  made = std::move(*data);
  for (uint32_t i = 0; i < devices; ++i) {
    const Result<Bytes> shard = made.shard_file(i);
    ASSERT_OK(shard);
    shards.push_back(directory / ("shard" + std::to_string(i)));
    ASSERT_OK(os::write_file_atomically(shards.back(), *shard));
  }
}

}  // namespace coterie::test
