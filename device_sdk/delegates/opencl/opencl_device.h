// A device of OpenCL: its queue, its memory and the kernels that were compiled for it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

class OpenclDevice final : public DeviceMemory {
 public:
  // Errors: unavailable.
  static Result<std::unique_ptr<OpenclDevice>> open();
  OpenclDevice(const OpenclDevice&) = delete;
  OpenclDevice& operator=(const OpenclDevice&) = delete;
  ~OpenclDevice() override;

  const std::string& name() const { return name_; }
  cl_command_queue queue() const { return queue_; }
  cl_kernel kernel(const std::string& name) const { return kernels_.at(name); }

  // Buffers are cl_mem.
  Result<void*> allocate(uint64_t bytes) override;
  void release(void* buffer) override;
  Status write(void* to, const float* from, uint64_t bytes) override;
  Status read(float* to, const void* from, uint64_t bytes) override;

 private:
  OpenclDevice() = default;
  Status start(cl_device_id device);

  std::string name_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::map<std::string, cl_kernel> kernels_;
};

// unavailable, with OpenCL's number, unless it is CL_SUCCESS.
Status check_opencl(cl_int code, const char* what);

}  // namespace coterie
