// PEM files of an authority and of those whom it certified.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/temporary_directory.h"
#include "vertical/link/tls_link.h"

namespace coterie::vertical::test {

class PartyFiles {
 public:
  // Files of `name` that expects `peer`.
  TlsIdentity identity(const std::string& name, const std::string& peer) {
    const PemPair pair = *make_peer_certificate(ca_, {name}, os::wall_now(), 1);
    const std::string tag = name + std::to_string(++files_);
    return {.ca_file = write(tag + ".ca", ca_.certificate),
            .certificate_file = write(tag + ".pem", pair.certificate),
            .key_file = write(tag + ".key", pair.private_key),
            .peer_name = peer};
  }

 private:
  std::string write(const std::string& file, const std::string& text) {
    EXPECT_TRUE(os::write_file_atomically(directory_ / file, as_bytes(text)));
    return directory_ / file;
  }

  coterie::test::TemporaryDirectory directory_{coterie::test::memory_disk()};
  PemPair ca_ = *make_dev_ca(os::wall_now(), 1);
  int files_ = 0;
};

}  // namespace coterie::vertical::test
