// One batch of spans to a collector: OTLP over HTTP, as JSON. By libcurl. Blocks.
//
// As for other questions of the server (oidc/https_get.h): the certificate is verified, TLS 1.2 at least, no redirects,
// no proxy of the environment. In the clear to this machine alone (ADR 88): a collector beside the server.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct OtlpCollector {
  std::string url;      // of its traces: "https://collector:4318/v1/traces"
  std::string ca_file;  // PEM: who may certify it; empty: whom the system trusts
  std::string token;    // sent as a bearer token; empty: none
  Millis total_max{10'000};
};

// unavailable: nobody answered, or the answer asks for another try (429, 502, 503, 504: OTLP 1.3, "Retryable Response
// Codes"); cancelled: `cancelled` was set by another thread; refused by any other answer: invalid_argument.
Status otlp_post(const OtlpCollector& collector, const std::string& body, const std::atomic<bool>& cancelled);

}  // namespace coterie
