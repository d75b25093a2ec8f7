// RoundVault: what a device's disk keeps of a round that is under way, sealed under a key of that round alone. The key
// is erased when the round is over, so that what the disk still has of removed files opens no more.
//
//   round.key   32 bytes, made when the first secret of a round is sealed
//
// Sealed: XChaCha20-Poly1305, a nonce drawn for each text. A file is [text][nonce][tag][mark], so that it opens in
// place. What a flash drive keeps of an overwritten block is beyond reach: then the key itself may be found.
//
// Not thread-safe; the caller holds the directory's lock.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/crypto/cipher.h"

namespace coterie {

class RoundVault {
 public:
  // `key_name`: of what is kept for longer than a round (state_files.h).
  explicit RoundVault(std::string directory, std::string key_name = "round.key")
      : directory_(std::move(directory)), key_name_(std::move(key_name)) {}

  // Seals `content` as the file `name`, which outlives a loss of power whole or not at all.
  Status write_file(const std::string& name, Bytes content) const;
  // What was written as `name`; a file without a mark is one of an SDK that did not seal, and is returned as it is.
  // data_loss: it was changed, or its key is erased. Otherwise as os::read_file, with at most `bytes_max` of content.
  Result<Bytes> read_file(const std::string& name, uint64_t bytes_max) const;

  // The same for a text that lies in a file of somebody else's. `context` is vouched for, not hidden.
  Result<Bytes> seal(ByteView context, ByteView text) const;
  // Fills `text`; data_loss, and zeros, if it does not open.
  Status open(ByteView context, ByteView sealed, std::span<uint8_t> text) const;

  // With the round's key, for what is sealed piece by piece (Trainer's checkpoints).
  Result<std::shared_ptr<const AuthenticatedCipher>> cipher() const;

  // Overwrites the key, waits for the disk, and removes it. None is success.
  Status erase() const;

 private:
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_, key_name_;
};

}  // namespace coterie
