// A collector of traces in a process of its own: tests/doubles/otlp_collector.py.
#pragma once

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

}  // namespace coterie::test
