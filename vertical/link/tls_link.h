// Connections of parties: TLS 1.3 in which both show a certificate of an authority that both trust, for the name that
// the other expects. Blocking for whoever calls, but nothing waits longer than its patience.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "vertical/link/byte_stream.h"

namespace coterie::vertical {

// PEM files, and the DNS name in the peer's certificate.
struct TlsIdentity {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string peer_name;
};

struct LinkPatience {
  Millis time{60'000};                        // in which something must move
  const std::atomic<bool>* cancel = nullptr;  // looked at several times a second; may be null
};

// A listening socket; closes with the object.
class PartyListener {
 public:
  // `host` is a numeric address; port 0 takes a free one.
  static Result<PartyListener> open(const std::string& host, uint16_t port);
  PartyListener(PartyListener&& other) noexcept;
  PartyListener& operator=(PartyListener&&) = delete;
  ~PartyListener();

  uint16_t port() const { return port_; }
  int fd() const { return fd_; }  // non-blocking, for whoever takes more than one peer
  // The one peer; unauthenticated for one without the right certificate.
  Result<std::unique_ptr<ByteStream>> accept(const TlsIdentity& identity, const LinkPatience& patience) const;

 private:
  PartyListener(int fd, uint16_t port) : fd_(fd), port_(port) {}
  int fd_;
  uint16_t port_;
};

// Dials `host` (a name or an address). unavailable if nobody listens there.
Result<std::unique_ptr<ByteStream>> dial_party(const std::string& host, uint16_t port, const TlsIdentity& identity,
                                               const LinkPatience& patience);

// The same TLS inside of another connection (`carrier`), which then sees lengths and times alone: what it changes, adds
// or leaves out ends the connection. One of the two parties accepts. The carrier's patience counts.
Result<std::unique_ptr<ByteStream>> secure_inside(std::unique_ptr<ByteStream> carrier, const TlsIdentity& identity,
                                                  bool accepts);

}  // namespace coterie::vertical
