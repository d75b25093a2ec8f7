// An authority that certifies devices, and the key that it certifies.
#include <stdint.h>

#include "tests/abi/check.h"

static void expect_open(const coterie_options* options, coterie_status status, const char* words) {
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(options, &dataset, &client, error, sizeof error), status);
  CHECK_CONTAINS(error, words);
  coterie_client_close(&client);
}

/* Before a device is enrolled there is no population, and so nothing to ask for. */
static void expect_no_request(const coterie_options* options) {
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(options, &dataset, &client, error, sizeof error), COTERIE_OK);
  uint8_t nonce[COTERIE_NONCE_BYTES] = {1}, hash[32], request[64] = {0};
  size_t size = sizeof request;
  const coterie_attestation attestation = {.struct_size = sizeof attestation,
                                           .format = COTERIE_ATTESTATION_OPAQUE,
                                           .nonce = nonce,
                                           .bytes = nonce,
                                           .size = sizeof nonce};
  CHECK(coterie_client_certificate_is_due(client) == 0);
  CHECK(coterie_client_certificate_is_due(NULL) == 0);
  CHECK_STATUS(coterie_client_certificate_request(client, NULL, request, &size), COTERIE_CONFLICT);
  CHECK_STATUS(coterie_client_certificate_request(client, &attestation, request, &size), COTERIE_CONFLICT);
  CHECK_CONTAINS(coterie_client_last_error(client), "not enrolled yet");
  CHECK_STATUS(coterie_client_certificate_request(client, NULL, NULL, &size), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_certificate_request(client, NULL, request, NULL), COTERIE_INVALID_ARGUMENT);
  coterie_attestation bad = attestation;
  bad.format = 5;
  CHECK_STATUS(coterie_client_certificate_request(client, &bad, request, &size), COTERIE_INVALID_ARGUMENT);
  bad = attestation;
  bad.size = COTERIE_ATTESTATION_BYTES_MAX + 1;
  CHECK_STATUS(coterie_client_certificate_request(client, &bad, request, &size), COTERIE_INVALID_ARGUMENT);
  bad = attestation;
  bad.nonce = NULL;
  CHECK_STATUS(coterie_client_certificate_request(client, &bad, request, &size), COTERIE_INVALID_ARGUMENT);
  bad.struct_size = 8;
  CHECK_STATUS(coterie_client_certificate_request(client, &bad, request, &size), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_client_last_error(client), "attestation.struct_size");
  CHECK_STATUS(coterie_client_take_certificate(client, nonce, sizeof nonce), COTERIE_CONFLICT);
  CHECK_STATUS(coterie_client_take_certificate(client, NULL, 0), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_take_certificate(client, nonce, COTERIE_CERTIFICATE_BYTES_MAX + 1),
               COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_take_certificate(NULL, nonce, sizeof nonce), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_attestation_hash(client, nonce, hash), COTERIE_CONFLICT);
  CHECK_STATUS(coterie_client_attestation_hash(client, NULL, hash), COTERIE_INVALID_ARGUMENT);
  coterie_client_close(&client);
}

static coterie_identity identity_with(const coterie_options* options) {
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_identity identity = {.struct_size = sizeof identity};
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(options, &dataset, &client, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_client_identity(client, &identity), COTERIE_OK);
  CHECK_STATUS(coterie_client_identity(client, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_identity(NULL, &identity), COTERIE_INVALID_ARGUMENT);
  coterie_identity small = {.struct_size = 4};
  CHECK_STATUS(coterie_client_identity(client, &small), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_client_last_error(client), "identity.struct_size");
  coterie_client_close(&client);
  return identity;
}

static int no_signature(void* context, const uint8_t* message, size_t size, uint8_t* signature,
                        size_t* signature_size) {
  (void)message;
  (void)size;
  (void)signature;
  *signature_size = 0;
  ++*(int*)context;
  return 1;
}

/* A key of the app's: the library makes none, and asks for signatures. */
static void test_signer(const uint8_t* public_key) {
  int asked = 0;
  coterie_signer signer = {.struct_size = sizeof signer,
                           .context = &asked,
                           .key_algorithm = 1,
                           .public_key_size = 32,
                           .public_key = public_key,
                           .sign = &no_signature};
  coterie_options options = good_options();
  options.signer = &signer;
  const coterie_identity identity = identity_with(&options);
  CHECK(identity.public_key_size == 32 && memcmp(identity.public_key, public_key, 32) == 0);
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_client* client = NULL;
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_ENROLLED && progress.step_status == COTERIE_UNAVAILABLE && asked == 1);
  CHECK_CONTAINS(coterie_client_last_error(client), "the app's key could not sign");
  coterie_client_close(&client);

  coterie_signer bad = signer;
  options.signer = &bad;
  bad.sign = NULL;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "options.signer->sign");
  bad = signer;
  bad.key_algorithm = 3;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "key_algorithm must be 1");
  bad = signer;
  bad.public_key_size = 66;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "public_key_size");
  bad = signer;
  bad.public_key_size = 31;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "no key of its algorithm");
  bad = signer;
  bad.struct_size = 8;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "options.signer.struct_size");
}

void test_authority(void) {
  coterie_options options = good_options();
  const coterie_identity first = identity_with(&options), again = identity_with(&options);
  CHECK(first.key_algorithm == 1 && first.public_key_size == 32);
  CHECK(memcmp(first.public_key, again.public_key, sizeof first.public_key) == 0);

  const uint8_t no_point[COTERIE_AUTHORITY_KEY_BYTES] = {0};
  const uint8_t certificate[COTERIE_CERTIFICATE_BYTES] = {1, 2, 3};
  options.authority_key = first.public_key; /* a good key, whoever's */
  expect_open(&options, COTERIE_OK, "");
  expect_no_request(&options);
  options.certificate = certificate;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "is not by this authority for this device's key");
  options.certificate_size = sizeof certificate;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "is not by this authority for this device's key");
  options.certificate_size = COTERIE_CERTIFICATE_BYTES_MAX + 1;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "certificate_size must be at most 1024");
  options.certificate_size = 0;
  options.authority_key = no_point;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "authority_key");
  options.authority_key = NULL;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "needs the authority_key");

  new_case_directory();
  test_signer(first.public_key);

  new_case_directory();
  options = good_options();
  options.use_p256 = 1;
  const coterie_identity p256 = identity_with(&options);
  CHECK(p256.key_algorithm == 2 && p256.public_key_size == COTERIE_PUBLIC_KEY_BYTES_MAX);
}
