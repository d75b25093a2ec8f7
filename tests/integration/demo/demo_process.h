// DemoProcess: a real `coterie` process, mostly a demo, and what it left behind.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace coterie::integration {

struct DemoSurroundings {
  std::string network_namespace = {};  // the file of one that it runs in; empty: this process's
  std::string input = "/dev/null";     // a file that it reads as its standard input
};

class DemoProcess {
 public:
  // `arguments` come behind `coterie`. It runs in `directory`.
  DemoProcess(const std::string& directory, const std::vector<std::string>& arguments,
              const DemoSurroundings& around = {});
  ~DemoProcess();  // kills it
  DemoProcess(const DemoProcess&) = delete;
  DemoProcess& operator=(const DemoProcess&) = delete;

  // Reads standard error until it holds `text`; false if it ended without.
  bool wait_for(const std::string& text);
  // Until there is something at `path`; false if it ended without.
  bool wait_for_path(const std::string& path) const;
  void signal(int number) const;
  int wait();  // for its end; the exit status as the shell tells it

  const std::string& errors() const { return errors_; }  // what was read of standard error: all of it after wait()
  std::string output() const;                            // standard output so far
  const std::string& output_path() const { return output_path_; }

 private:
  bool read_more();

  std::string output_path_;
  std::string errors_;
  int errors_fd_ = -1;
  int pid_ = -1;
};

// The processes whose command line speaks of `text`.
std::vector<int> processes_with(const std::string& text);

// A directory of its own for the demos of a test; all of what they do must be over, and gone, at its end.
class DemoTest : public ::testing::Test {
 protected:
  // A small demo into directory_/run, with `more` behind it.
  std::vector<std::string> small(const std::vector<std::string>& more = {}) const;
  std::string run() const { return directory_ / "run"; }
  std::vector<std::string> names_in(const std::string& path) const;

  test::TemporaryDirectory directory_{test::memory_disk()};
};

}  // namespace coterie::integration
