// MetricsBoard: texts in memory that processes share, one slot a process: what each says of itself, for whichever is
// asked to say it of all.
//
// A reader never sees half a text: a slot counts its writes, and is odd while one is under way. A process that is
// killed then leaves nothing to read, and whoever comes in its place writes over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os/file.h"
#include "base/result.h"

namespace coterie {

class MetricsBoard {
 public:
  static constexpr size_t kTextBytesMax = 1 << 20;
  static constexpr size_t kSlotsMax = 1024;

  // New and empty. Errors: unavailable (no memory).
  static Result<MetricsBoard> make(size_t slots);
  // One that another process has made, by its file. Errors: malformed (the file is no board's), unavailable.
  static Result<MetricsBoard> open(os::File file);
  MetricsBoard(MetricsBoard&& other) noexcept;
  MetricsBoard& operator=(MetricsBoard&&) = delete;
  ~MetricsBoard();

  const os::File& file() const { return file_; }  // to be inherited
  size_t slots() const { return slots_; }
  // One writer a slot at a time; a text over kTextBytesMax leaves the slot empty.
  void write(size_t slot, std::string_view text);
  // How often the slot was written, each time whole. Any thread of any process.
  uint64_t writes(size_t slot) const;
  // Empty: there is none, or its writer was killed while it wrote. Any thread of any process.
  std::string read(size_t slot) const;

 private:
  MetricsBoard(os::File file, size_t slots, uint64_t* words) : file_(std::move(file)), slots_(slots), words_(words) {}

  os::File file_;
  size_t slots_;
  uint64_t* words_;  // of each slot: how often it was written, twice; the text's bytes; the text
};

}  // namespace coterie
