#include "tools/serve/worker_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coterie {
namespace {

struct Head {
  uint64_t number = 0;
  uint64_t promoted = 0;
  uint8_t kind = 0;
  uint8_t has_promoted = 0;
  uint8_t unused[6] = {};
};

constexpr auto kKindLast = static_cast<uint8_t>(LinkMessage::Kind::opened);

Error failed(const char* what) {
  return Error(ErrorCode::unavailable,
               std::string("between processes that serve, ") + what + ": " + std::strerror(errno));
}

// The open file behind a message, if there is one.
os::File file_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    return os::File(fd, "a version of the model");
  }
  return {};
}

}  // namespace

Result<std::pair<WorkerLink, WorkerLink>> WorkerLink::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return failed("socketpair");
  return std::pair(WorkerLink(os::File(ends[0], "link")), WorkerLink(os::File(ends[1], "link")));
}

Status WorkerLink::send(const LinkMessage& message) const {
  Head head{.number = message.number,
            .promoted = message.promoted.value_or(0),
            .kind = static_cast<uint8_t>(message.kind),
            .has_promoted = static_cast<uint8_t>(message.promoted.has_value())};
  std::string text = message.text.substr(0, kTextBytesMax);
  iovec pieces[] = {{&head, sizeof head}, {text.data(), text.size()}};
  msghdr parts{};
  parts.msg_iov = pieces;
  parts.msg_iovlen = std::size(pieces);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (message.file.is_open()) {
    parts.msg_control = control;
    parts.msg_controllen = sizeof control;
    cmsghdr* const part = CMSG_FIRSTHDR(&parts);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = message.file.fd();
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  }
  if (::sendmsg(socket_.fd(), &parts, MSG_NOSIGNAL) < 0) return failed("send");
  return {};
}

Result<std::optional<LinkMessage>> WorkerLink::receive() const {
  Head head;
  char text[kTextBytesMax];
  iovec pieces[] = {{&head, sizeof head}, {text, sizeof text}};
  msghdr parts{};
  parts.msg_iov = pieces;
  parts.msg_iovlen = std::size(pieces);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  parts.msg_control = control;
  parts.msg_controllen = sizeof control;
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.fd(), &parts, MSG_CMSG_CLOEXEC);
  } while (count < 0 && (errno == EINTR || errno == ECONNRESET));  // once, where the other has left words unread
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<LinkMessage>();
  if (count < 0) return failed("receive");
  if (count == 0) return Error(ErrorCode::unavailable, "the other process has ended");
  LinkMessage message;
  message.file = file_of(parts);
  if (static_cast<size_t>(count) < sizeof head || head.kind > kKindLast)
    return Error(ErrorCode::malformed, "between processes that serve: no message of this program");
  message.kind = static_cast<LinkMessage::Kind>(head.kind);
  message.number = head.number;
  if (head.has_promoted != 0) message.promoted = head.promoted;
  message.text.assign(text, static_cast<size_t>(count) - sizeof head);
  return std::optional(std::move(message));
}

}  // namespace coterie
