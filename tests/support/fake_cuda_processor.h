// The processor as the card of fake_cuda.cc: compiles kernels by OpenCL (pocl) and runs them on the processor's memory. Kernels
// are written in the words of src/gpu/dialect.cu, which mean the same in both languages.
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

#include "gpu/opencl/abi.h"
#include "gpu/opencl/state.h"

namespace ridge::fake {

using gpu::opencl::OpenClObject;

// Of one argument, as OpenCL tells it.
struct Parameter {
  bool pointer = false;
  size_t size = 0;
};

struct Kernel {
  OpenClObject object;
  std::vector<Parameter> parameters;
  int shared_bytes = 0;
  int dynamic_shared_allowed = 48 << 10;
};

struct Program {
  OpenClObject object;
  std::map<std::string, Kernel> kernels;
};

// Where an allocation begins and ends that holds an address; size 0: none does.
struct Range {
  uint64_t begin = 0;
  size_t size = 0;
};

// What ridge itself does not ask OpenCL for.
struct KernelQuestions {
  using Handle = gpu::opencl::Handle;
  explicit KernelQuestions(const DynamicLibrary& file)
      : clGetKernelInfo(file, "clGetKernelInfo"),
        clGetKernelArgInfo(file, "clGetKernelArgInfo"),
        clGetKernelWorkGroupInfo(file, "clGetKernelWorkGroupInfo") {}
  gpu::LibraryFunction<int32_t(Handle, uint32_t, size_t, void*, size_t*)> clGetKernelInfo;
  gpu::LibraryFunction<int32_t(Handle, uint32_t, uint32_t, size_t, void*, size_t*)> clGetKernelArgInfo;
  gpu::LibraryFunction<int32_t(Handle, Handle, uint32_t, size_t, void*, size_t*)> clGetKernelWorkGroupInfo;
};

class Processor {
 public:
  Processor() {
    auto table = gpu::open_table<gpu::opencl::Library>("", "RIDGE_OPENCL", {"libOpenCL.so.1"}, "the OpenCL loader");
    if (!table) return;
    library_ = std::move(*table);
    questions_ = std::make_unique<KernelQuestions>(library_->file);
    library_->file.leak();
    gpu::opencl::Handle platform = nullptr;
    uint32_t count = 0;
    int32_t code = 0;
    if (library_->clGetPlatformIDs(1, &platform, &count) != 0 || count == 0) return;
    if (library_->clGetDeviceIDs(platform, gpu::opencl::kAllDevices, 1, &device_, &count) != 0) return;
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
    int32_t code = 0;
    program.object = OpenClObject(library_->clCreateProgramWithSource(context_.get(), 1, &text, &size, &code),
                                  library_->clReleaseProgram);
    gpu::opencl::Handle raw = program.object.get();
    if (library_->clBuildProgram(raw, 1, &device_, "-cl-kernel-arg-info", nullptr, nullptr) == 0) return true;
    size_t length = 0;
    library_->clGetProgramBuildInfo(raw, device_, gpu::opencl::kBuildLog, 0, nullptr, &length);
    log.resize(length);
    library_->clGetProgramBuildInfo(raw, device_, gpu::opencl::kBuildLog, length, log.data(), nullptr);
    return false;
  }

  // nullptr: the program has no such kernel.
  Kernel* kernel(Program& program, const std::string& name) {
    if (auto found = program.kernels.find(name); found != program.kernels.end()) return &found->second;
    int32_t code = 0;
    gpu::opencl::Handle raw = library_->clCreateKernel(program.object.get(), name.c_str(), &code);
    if (code != 0) return nullptr;
    Kernel kernel;
    kernel.object = OpenClObject(raw, library_->clReleaseKernel);
    uint32_t count = 0;
    questions_->clGetKernelInfo(raw, kArguments, sizeof count, &count, nullptr);
    for (uint32_t i = 0; i < count; ++i) kernel.parameters.push_back(parameter(raw, i));
    uint64_t shared = 0;
    questions_->clGetKernelWorkGroupInfo(raw, device_, kLocalMemory, sizeof shared, &shared, nullptr);
    kernel.shared_bytes = static_cast<int>(shared);
    return &program.kernels.emplace(name, std::move(kernel)).first->second;
  }

  // Runs a kernel to its end. `range_of`: the allocation behind an address. False: an address that nobody allocated.
  template <typename RangeOf>
  bool run(const Kernel& kernel, std::array<size_t, 3> blocks, std::array<size_t, 3> threads,
           const std::vector<uint64_t>& values, const RangeOf& range_of) {
    std::map<uint64_t, OpenClObject> buffers;
    gpu::opencl::Handle raw = kernel.object.get();
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (!kernel.parameters[i].pointer) {
        if (library_->clSetKernelArg(raw, i, kernel.parameters[i].size, &values[i]) != 0) return false;
        continue;
      }
      gpu::opencl::Handle buffer = nullptr;
      if (values[i] != 0) {
        const Range range = range_of(values[i]);
        if (range.size == 0) return false;
        OpenClObject& made = buffers[values[i]];
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
  // Values of the OpenCL 1.2 specification, tables 5.19 to 5.21.
  static constexpr uint32_t kArguments = 0x1191, kAddressQualifier = 0x1196, kTypeName = 0x1198, kGlobal = 0x119B,
                            kLocalMemory = 0x11B2;
  static constexpr gpu::opencl::Bits kUseHostPointer = 1 << 3;

  Parameter parameter(gpu::opencl::Handle kernel, uint32_t index) const {
    uint32_t qualifier = 0;
    questions_->clGetKernelArgInfo(kernel, index, kAddressQualifier, sizeof qualifier, &qualifier, nullptr);
    if (qualifier == kGlobal) return {true, sizeof(uint64_t)};
    char type[64] = "";
    questions_->clGetKernelArgInfo(kernel, index, kTypeName, sizeof type - 1, type, nullptr);
    bool wide = std::strcmp(type, "long") == 0 || std::strcmp(type, "ulong") == 0 || std::strcmp(type, "double") == 0;
    return {false, wide ? sizeof(uint64_t) : sizeof(uint32_t)};
  }
  OpenClObject on_host(uint64_t address, size_t size) const {
    int32_t code = 0;
    return OpenClObject(library_->clCreateBuffer(context_.get(), gpu::opencl::kReadWrite | kUseHostPointer, size,
                                                 reinterpret_cast<void*>(address), &code),
                        library_->clReleaseMemObject);
  }

  std::unique_ptr<gpu::opencl::Library> library_;
  std::unique_ptr<KernelQuestions> questions_;
  gpu::opencl::Handle device_ = nullptr;
  OpenClObject context_, queue_;
  bool ready_ = false;
};

}  // namespace ridge::fake
