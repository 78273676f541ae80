// For tests of memory shared by processes: another process that exports some, like a client of a server.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/child_process.h"
#include "gpu/cuda/abi.h"
#include "gpu/cuda/cuda.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/memory.h"
#include "gpu/test_gpus.h"

namespace ridge::gpu {

// The handle of memory on the GPU, for other processes.
inline Result<cuda::CudaShareHandle> share(const cuda::CudaContext& context, const cuda::CudaMemory& memory) {
  RIDGE_TRY(context.use());
  cuda::IpcHandle of_driver{};
  RIDGE_TRY(cuda_status(context.library(), "cuIpcGetMemHandle",
                        context.library().cuIpcGetMemHandle(&of_driver, memory.address())));
  cuda::CudaShareHandle handle{};
  std::copy(std::begin(of_driver.bytes), std::end(of_driver.bytes), handle.begin());
  return handle;
}

// A child that holds these floats on GPU 0 of the script until it is stopped. Start it before this process opens the
// driver.
class SharingProcess {
 public:
  SharingProcess(const char* script, const std::vector<float>& values) : values_(values) {
    EXPECT_TRUE(pipe(up_) == 0 && pipe(down_) == 0);
    const Result<pid_t> child = fork_child({}, [&] { return serve(script) ? 0 : 1; });
    EXPECT_TRUE(child.ok());
    child_ = child ? *child : -1;
    close(up_[1]);
    close(down_[0]);
    EXPECT_EQ(::read(up_[0], handle_.data(), handle_.size()), static_cast<ssize_t>(handle_.size()));
  }
  ~SharingProcess() {
    close(down_[1]);
    close(up_[0]);
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  SharingProcess(const SharingProcess&) = delete;
  SharingProcess& operator=(const SharingProcess&) = delete;

  const cuda::CudaShareHandle& handle() const { return handle_; }
  // The current content, as seen by the child.
  std::vector<float> values() {
    std::vector<float> found(values_.size());
    const auto bytes = static_cast<ssize_t>(found.size() * sizeof(float));
    EXPECT_EQ(write(down_[1], "?", 1), 1);
    EXPECT_EQ(::read(up_[0], found.data(), static_cast<size_t>(bytes)), bytes);
    return found;
  }

 private:
  bool serve(const char* script) {
    close(up_[0]);
    close(down_[1]);
    play_gpus(script);
    Result<cuda::Cuda> cuda = cuda::Cuda::open();
    Result<cuda::CudaContext> context = cuda ? cuda->context(0) : Result<cuda::CudaContext>(cuda.error());
    if (!context) return false;
    Result<cuda::CudaMemory> memory = cuda::CudaMemory::allocate(*context, values_.size() * sizeof(float));
    if (!memory || !memory->write(std::as_bytes(std::span(values_)))) return false;
    Result<cuda::CudaShareHandle> handle = share(*context, *memory);
    if (!handle || write(up_[1], handle->data(), handle->size()) < 0) return false;
    for (char asked = 0; ::read(down_[0], &asked, 1) == 1;)
      if (!memory->read(std::as_writable_bytes(std::span(values_))) ||
          write(up_[1], values_.data(), values_.size() * sizeof(float)) < 0)
        return false;
    return true;
  }

  std::vector<float> values_;
  cuda::CudaShareHandle handle_{};
  int up_[2] = {-1, -1}, down_[2] = {-1, -1};
  pid_t child_ = -1;
};

}  // namespace ridge::gpu
