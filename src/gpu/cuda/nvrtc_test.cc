#include "gpu/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ridge::gpu::cuda {
namespace {

// Installed by ./dev setup from the wheel pinned in ./versions; without it these tests would prove nothing.
Result<Nvrtc> compiler() {
  const char* folder = std::getenv("RIDGE_DEPS");
  return Nvrtc::open(std::string(folder ? folder : ".deps") + "/nvrtc/libnvrtc.so");
}

TEST(Nvrtc, CompilesForAChipThatIsNotThere) {
  auto nvrtc = compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  auto program = nvrtc->compile(
      "extern \"C\" __global__ void turned(const float* in, float* out) {"
      "  __shared__ float block[256];"
      "  block[threadIdx.x] = in[threadIdx.x];"
      "  __syncthreads();"
      "  out[threadIdx.x] = block[255 - threadIdx.x]; }",
      "turned.cu", 90);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->machine_code.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_NE(program->ptx.find(".target sm_90"), std::string::npos);
  ASSERT_EQ(program->kernels.size(), 1u) << program->log;
  EXPECT_EQ(program->kernels[0].name, "turned");
  EXPECT_EQ(program->kernels[0].shared_bytes, 1024);
  EXPECT_GT(program->kernels[0].registers, 0);
  EXPECT_EQ(program->kernels[0].spill_bytes, 0);
}

TEST(Nvrtc, CompilesWhatOnlyHopperHasUnlessLaterChipsAreToRunIt) {
  auto nvrtc = compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  const std::string source = "#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error\n#endif\n";
  auto hopper = nvrtc->compile(source, "hopper.cu", 90);
  EXPECT_TRUE(hopper) << hopper.error().message;
  EXPECT_FALSE(nvrtc->compile(source, "later.cu", 90, true));
  EXPECT_FALSE(nvrtc->compile(source, "blackwell.cu", 100));
}

// The wheels that PyTorch for CUDA 13.0 asks for: a library without a run path to its second half.
TEST(Nvrtc, CompilesWithoutARunPath) {
  const char* folder = std::getenv("RIDGE_DEPS");
  auto nvrtc = Nvrtc::open(std::string(folder ? folder : ".deps") + "/nvrtc-13.0/libnvrtc.so.13");
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  auto program = nvrtc->compile("extern \"C\" __global__ void one(float* out) { *out = 1; }", "one.cu", 90);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->kernels.size(), 1u) << program->log;
}

TEST(Nvrtc, SaysWhereASourceIsWrong) {
  auto nvrtc = compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  auto program = nvrtc->compile("__global__ void f() { nothing(); }", "wrong.cu", 89);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kInvalid);
  EXPECT_NE(program.error().message.find("wrong.cu(1)"), std::string::npos) << program.error().message;
  auto old = nvrtc->compile("", "old.cu", 35);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::kUnsupported);
  EXPECT_NE(old.error().message.find("it does for 75"), std::string::npos) << old.error().message;
}

TEST(Nvrtc, ThatIsNotThereIsAnError) {
  auto nvrtc = Nvrtc::open("/nowhere/libnvrtc.so");
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().code, Code::kNotFound);
}

// A report as ptxas of CUDA 13.5 writes it; older ones print name and stack on one line.
TEST(KernelUses, AreReadFromTheAssemblersReport) {
  auto kernels = kernel_uses(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_75'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     40 bytes stack frame, 36 bytes spill stores, 48 bytes spill loads\n"
      "ptxas info    : Used 13 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]\n"
      "ptxas info    : Compile time = 2.198 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_75'\n"
      "ptxas info    : Used 255 registers, 372 bytes cmem[0]\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(kernels[0].registers, 13);
  EXPECT_EQ(kernels[0].shared_bytes, 1024);
  EXPECT_EQ(kernels[0].stack_bytes, 40);
  EXPECT_EQ(kernels[0].spill_bytes, 36);
  EXPECT_EQ(kernels[1].registers, 255);
  EXPECT_EQ(kernels[1].shared_bytes, 0);
  EXPECT_TRUE(kernel_uses("").empty());
}

}  // namespace
}  // namespace ridge::gpu::cuda
