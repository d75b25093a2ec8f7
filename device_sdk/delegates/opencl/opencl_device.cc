#include "device_sdk/delegates/opencl/opencl_device.h"

#include <array>

#include "device_sdk/delegates/opencl/opencl_kernels.h"

namespace coterie {
namespace {

Error no_opencl(const std::string& what) { return {ErrorCode::unavailable, "opencl: " + what}; }

std::string name_of(cl_device_id device) {
  std::array<char, 256> name{};
  if (clGetDeviceInfo(device, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr) != CL_SUCCESS) return "unknown";
  return name.data();
}

}  // namespace

Status check_opencl(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return {};
  return no_opencl(std::string(what) + " has failed with " + std::to_string(code));
}

Result<std::unique_ptr<OpenclDevice>> OpenclDevice::open() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_uint count = 0;
  if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0) {
    return no_opencl("there is no platform: install a driver, such as Debian's pocl-opencl-icd");
  }
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS || count == 0) {
    return no_opencl("the first platform has no device");
  }
  std::unique_ptr<OpenclDevice> opened(new OpenclDevice);
  COT_TRY(opened->start(device));
  return opened;
}

Status OpenclDevice::start(cl_device_id device) {
  name_ = name_of(device);
  cl_int code = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  COT_TRY(check_opencl(code, "clCreateContext"));
  queue_ = clCreateCommandQueue(context_, device, 0, &code);
  COT_TRY(check_opencl(code, "clCreateCommandQueue"));
  const char* source = kOpenclKernels;
  program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
  COT_TRY(check_opencl(code, "clCreateProgramWithSource"));
  COT_TRY(check_opencl(clBuildProgram(program_, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "clBuildProgram"));
  for (const char* name : {"conv2d", "dense", "relu", "add", "pool"}) {
    const cl_kernel kernel = clCreateKernel(program_, name, &code);
    COT_TRY(check_opencl(code, "clCreateKernel"));
    kernels_[name] = kernel;
  }
  return {};
}

OpenclDevice::~OpenclDevice() {
  for (const auto& [name, kernel] : kernels_) clReleaseKernel(kernel);
  if (program_ != nullptr) clReleaseProgram(program_);
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
  if (context_ != nullptr) clReleaseContext(context_);
}

Result<void*> OpenclDevice::allocate(uint64_t bytes) {
  cl_int code = CL_SUCCESS;
  const cl_mem buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  COT_TRY(check_opencl(code, "clCreateBuffer"));
  return static_cast<void*>(buffer);
}

void OpenclDevice::release(void* buffer) { clReleaseMemObject(static_cast<cl_mem>(buffer)); }

Status OpenclDevice::write(void* to, const float* from, uint64_t bytes) {
  return check_opencl(
      clEnqueueWriteBuffer(queue_, static_cast<cl_mem>(to), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
}

Status OpenclDevice::read(float* to, const void* from, uint64_t bytes) {
  const auto buffer = static_cast<cl_mem>(const_cast<void*>(from));
  return check_opencl(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
                      "clEnqueueReadBuffer");
}

}  // namespace coterie
