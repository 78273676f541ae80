// The CPU as the GPU of fake_cuda.cc: compiles kernels with OpenCL (pocl) and runs them on the CPU's memory. Kernels
// use the words of src/gpu/dialect.cu, which mean the same in both languages.
//
// One thread at a time.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/opencl/library.h"
#include "gpu/opencl/workspace.h"

namespace ridge::fake {

using gpu::opencl::OpenClObject;

// An argument as OpenCL reports it.
struct Parameter {
  bool pointer = false;
  size_t size = 0;
};

struct Kernel {
  OpenClObject<cl_kernel> object;
  std::vector<Parameter> parameters;
  int shared_bytes = 0;
  int dynamic_shared_allowed = 48 << 10;
  bool launched = false;  // outside a capture
};

struct Program {
  OpenClObject<cl_program> object;
  std::map<std::string, Kernel> kernels;
};

// Begin and end of the allocation that holds an address; size 0: none.
struct Range {
  uint64_t begin = 0;
  size_t size = 0;
};

// OpenCL functions that ridge itself does not call.
struct KernelQuestions {
  explicit KernelQuestions(const DynamicLibrary& file)
      : clGetKernelInfo(file, "clGetKernelInfo"),
        clGetKernelArgInfo(file, "clGetKernelArgInfo"),
        clGetKernelWorkGroupInfo(file, "clGetKernelWorkGroupInfo") {}
  gpu::LibraryFunction<decltype(::clGetKernelInfo)> clGetKernelInfo;
  gpu::LibraryFunction<decltype(::clGetKernelArgInfo)> clGetKernelArgInfo;
  gpu::LibraryFunction<decltype(::clGetKernelWorkGroupInfo)> clGetKernelWorkGroupInfo;
};

class Cpu {
 public:
  Cpu() {
    auto table = gpu::open_table<gpu::opencl::Library>("", "RIDGE_OPENCL", {"libOpenCL.so.1"}, "the OpenCL loader");
    if (!table) return;
    library_ = std::move(*table);
    questions_ = std::make_unique<KernelQuestions>(library_->file);
    library_->file.leak();
    cl_platform_id platform = nullptr;
    uint32_t count = 0;
    cl_int code = 0;
    if (library_->clGetPlatformIDs(1, &platform, &count) != 0 || count == 0) return;
    if (library_->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, &count) != 0) return;
    context_ = OpenClObject(library_->clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code),
                            library_->clReleaseContext);
    queue_ = OpenClObject(library_->clCreateCommandQueue(context_.get(), device_, 0, &code),
                          library_->clReleaseCommandQueue);
    ready_ = code == 0;
  }
  bool ready() const { return ready_; }

  // False: the source does not compile; the log says why.
  bool build(const std::string& source, Program& program, std::string& log) {
    const char* text = source.c_str();
    const size_t size = source.size();
    cl_int code = 0;
    program.object = OpenClObject(library_->clCreateProgramWithSource(context_.get(), 1, &text, &size, &code),
                                  library_->clReleaseProgram);
    cl_program raw = program.object.get();
    if (library_->clBuildProgram(raw, 1, &device_, "-cl-kernel-arg-info", nullptr, nullptr) == 0) return true;
    size_t length = 0;
    library_->clGetProgramBuildInfo(raw, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length);
    log.resize(length);
    library_->clGetProgramBuildInfo(raw, device_, CL_PROGRAM_BUILD_LOG, length, log.data(), nullptr);
    return false;
  }

  // nullptr: the program has no such kernel.
  Kernel* kernel(Program& program, const std::string& name) {
    if (auto found = program.kernels.find(name); found != program.kernels.end()) return &found->second;
    cl_int code = 0;
    cl_kernel raw = library_->clCreateKernel(program.object.get(), name.c_str(), &code);
    if (code != 0) return nullptr;
    Kernel kernel;
    kernel.object = OpenClObject(raw, library_->clReleaseKernel);
    uint32_t count = 0;
    questions_->clGetKernelInfo(raw, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
    for (uint32_t i = 0; i < count; ++i) kernel.parameters.push_back(parameter(raw, i));
    cl_ulong shared = 0;
    questions_->clGetKernelWorkGroupInfo(raw, device_, CL_KERNEL_LOCAL_MEM_SIZE, sizeof shared, &shared, nullptr);
    kernel.shared_bytes = static_cast<int>(shared);
    return &program.kernels.emplace(name, std::move(kernel)).first->second;
  }

  // Runs a kernel to its end. `range_of`: the allocation behind an address. False: an unallocated address.
  template <typename RangeOf>
  bool run(const Kernel& kernel, std::array<size_t, 3> blocks, std::array<size_t, 3> threads,
           const std::vector<uint64_t>& values, const RangeOf& range_of) {
    std::map<uint64_t, OpenClObject<cl_mem>> buffers;
    cl_kernel raw = kernel.object.get();
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (!kernel.parameters[i].pointer) {
        if (library_->clSetKernelArg(raw, i, kernel.parameters[i].size, &values[i]) != 0) return false;
        continue;
      }
      cl_mem buffer = nullptr;
      if (values[i] != 0) {
        const Range range = range_of(values[i]);
        if (range.size == 0) return false;
        OpenClObject<cl_mem>& made = buffers[values[i]];
        if (made.get() == nullptr) made = on_host(values[i], range.begin + range.size - values[i]);
        buffer = made.get();
      }
      if (library_->clSetKernelArg(raw, i, sizeof buffer, &buffer) != 0) return false;
    }
    const size_t all[] = {blocks[0] * threads[0], blocks[1] * threads[1], blocks[2] * threads[2]};
    return library_->clEnqueueNDRangeKernel(queue_.get(), raw, 3, nullptr, all, threads.data(), 0, nullptr, nullptr) ==
               0 &&
           library_->clFinish(queue_.get()) == 0;
  }

 private:
  Parameter parameter(cl_kernel kernel, uint32_t index) const {
    uint32_t qualifier = 0;
    questions_->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof qualifier, &qualifier,
                                   nullptr);
    if (qualifier == CL_KERNEL_ARG_ADDRESS_GLOBAL) return {true, sizeof(uint64_t)};
    char type[64] = "";
    questions_->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, nullptr);
    bool wide = std::strcmp(type, "long") == 0 || std::strcmp(type, "ulong") == 0 || std::strcmp(type, "double") == 0;
    return {false, wide ? sizeof(uint64_t) : sizeof(uint32_t)};
  }
  OpenClObject<cl_mem> on_host(uint64_t address, size_t size) const {
    cl_int code = 0;
    return OpenClObject(library_->clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                                                 reinterpret_cast<void*>(address), &code),
                        library_->clReleaseMemObject);
  }

  std::unique_ptr<gpu::opencl::Library> library_;
  std::unique_ptr<KernelQuestions> questions_;
  cl_device_id device_ = nullptr;
  OpenClObject<cl_context> context_;
  OpenClObject<cl_command_queue> queue_;
  bool ready_ = false;
};

}  // namespace ridge::fake
