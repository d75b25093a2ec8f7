// WorkerLink: one end of the pair of sockets between a serving master and one of its processes. It carries versions as
// open files, and words about them. Either end notices when the other is gone, however it went.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/os/file.h"
#include "base/result.h"

namespace coterie {

struct LinkMessage {
  enum class Kind : uint8_t {
    version,   // of the master: `number` is in `file`
    promoted,  // another version is
    open,      // serve with what you have
    served,    // of a process: it answers with `number`
    refused,   // it does not, because of `text`
    opened,    // it takes connections
  };
  Kind kind = Kind::open;
  uint64_t number = 0;
  std::optional<uint64_t> promoted;  // of all that the master says: which version is
  std::string text;
  os::File file = {};
};

class WorkerLink {
 public:
  static constexpr size_t kTextBytesMax = 4096;  // the rest is cut off

  // Errors: unavailable.
  static Result<std::pair<WorkerLink, WorkerLink>> make();
  // An end that was inherited.
  explicit WorkerLink(os::File socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.fd(); }
  // Neither waits. Errors: unavailable (the other end is gone, or takes nothing), malformed (no message of ours).
  Status send(const LinkMessage& message) const;
  // None: nothing has come yet. What the other end said before it was gone comes first.
  Result<std::optional<LinkMessage>> receive() const;

 private:
  os::File socket_;
};

}  // namespace coterie
