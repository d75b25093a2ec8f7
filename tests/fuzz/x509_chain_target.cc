// Any bytes as a chain of certificates: none has the extension and a path to the root, so the answer is an error.
#include "base/assert.h"
#include "secure/crypto/x509_chain.h"

namespace {

// Its key is nowhere any more (P-256, until 2126).
constexpr const char* kRoot = R"(-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUQ2O2rBCfsrywsw4R/8ny/+HXia4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEZnV6ejAgFw0yNjExMjUxNTAyNDdaGA8yMTI2MTEwMTE1MDI0
N1owDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBGi
Wni00Ddh0KtACAR22zCeH9hsC9yxZVJPw0czgiY/TOrG8lMPRtDxT5svntAsCr0g
03OaGztjM9QzQ1xTzGOjUzBRMB0GA1UdDgQWBBTrj5uzaIDWVLG6DXyjL9TEE/n/
xjAfBgNVHSMEGDAWgBTrj5uzaIDWVLG6DXyjL9TEE/n/xjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIAWGAXFwf8Hzz2kPp+63fR5asoVfK7G7l7GL
l3eypf6OAiBWnckDLjXBHwNYMjKr71yNPRe01xAoObCuarAaP7ywCA==
-----END CERTIFICATE-----
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const auto leaf = verify_x509_chain({data, size}, {.roots_pem = kRoot,
                                                     .now = wall_time_from_unix_ms(1'800'000'000'000),
                                                     .revoked_serials = {"7"},
                                                     .extension_oid = "1.3.6.1.4.1.11129.2.1.17"});
  COT_ASSERT(!leaf && !leaf.error().message().empty());
  COT_ASSERT(leaf.error().code() != ErrorCode::invalid_argument);
  return 0;
}
