// Surroundings: what a simulated process has around it in place of the system's own: the network, time, chance and a
// disk. The linker puts surroundings.cc between the shipped code of a party, or of a coordinator's folder of jobs, and
// what that code calls (--wrap, CMakeLists.txt). A thread without surroundings gets what it always gets.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "vertical/link/tls_link.h"

namespace coterie::simulation {

class Surroundings {
 public:
  virtual ~Surroundings() = default;

  // A connection to the coordinator.
  virtual Result<std::unique_ptr<vertical::ByteStream>> dial(const vertical::LinkPatience& patience) = 0;
  virtual Instant now() = 0;
  virtual Status wait(Millis time) = 0;
  virtual void draw(std::span<uint8_t> bytes) = 0;

  // Before a file is replaced, cut or removed, and behind it. Both may throw Killed. `bytes`: its new content.
  // begin_file() false: it stays undone though the process takes it for done (a mutant).
  virtual bool begin_file(const std::string& path, ByteView bytes) = 0;
  virtual void end_file() = 0;
  // How many of so many bytes get to a file's end: fewer than all, and the process is killed behind them. None: it
  // stays as it was, likewise.
  virtual std::optional<size_t> appended(const std::string& path, size_t bytes) = 0;
  [[noreturn]] virtual void die() = 0;
};

// Those of the calling thread, as long as this lives.
class Surrounded {
 public:
  explicit Surrounded(Surroundings& surroundings);
  ~Surrounded();
  Surrounded(const Surrounded&) = delete;
  Surrounded& operator=(const Surrounded&) = delete;
};

// How often code that has surroundings has called what the linker wraps, in the life of this program.
struct WrapperCalls {
  std::string_view function;
  uint64_t calls = 0;
};
std::vector<WrapperCalls> wrapper_calls();

}  // namespace coterie::simulation
