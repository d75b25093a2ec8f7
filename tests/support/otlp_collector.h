// Collectors of traces, each in a process of its own: tests/doubles/otlp_collector.py, and otlp_receiver.mjs.
#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/python_double.h"

namespace coterie::test {

class OtlpCollectorDouble {
 public:
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + process_.port() + path; }
  // What was POSTed next; waits for it.
  nlohmann::json next() { return nlohmann::json::parse(process_.line()); }

 private:
  PythonDouble process_{"tests/doubles/otlp_collector.py", {}};
};

// What judges, on Node, each span that it gets.
class OtlpReceiverDouble {
 public:
  static bool is_installed() { return std::system("node --version > /dev/null 2>&1") == 0; }
  std::string url() const { return "http://127.0.0.1:" + process_.port() + "/v1/traces"; }
  // What came next and what is wrong with it: {"spans": [...], "problems": [...]}; waits for it.
  nlohmann::json next() { return nlohmann::json::parse(process_.line()); }

 private:
  ProcessDouble process_{{"node", source_dir() + "/tests/doubles/otlp_receiver.mjs"}};
};

}  // namespace coterie::test
