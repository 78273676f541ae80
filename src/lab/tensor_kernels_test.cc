// The kernels that use tensor cores: their text runs here on an emulator of the instructions, thread by thread, for
// sizes that no experiment has; and the machine code that NVIDIA's compiler makes of it is read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "disassembly.h"
#include "gpu/cuda/nvrtc.h"
#include "lab/kernels.h"
#include "lab/workload.h"
#include "warp_emulator.h"

namespace ridge::lab {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define __CUDA_ARCH__ 900
#include "lab/kernels/matmul_tensor.cu"
//
#include "lab/kernels/matmul_hopper.cu"
//
#include "lab/kernels/attention_tensor.cu"
#undef __CUDA_ARCH__
#pragma GCC diagnostic pop

constexpr Precision kFormats[] = {Precision::kFp16, Precision::kBf16, Precision::kTf32};

std::vector<WORD> bits_of(const std::vector<float>& values, Precision format) {
  const std::vector<float> words = words_of(values, format);
  std::vector<WORD> bits(words.size());
  std::memcpy(bits.data(), words.data(), words.size() * sizeof(float));
  return bits;
}

void expect_clean(const fake::Findings& found) {
  EXPECT_EQ(found.bank_conflicts, 0);
  EXPECT_EQ(found.early_reads, 0);
  EXPECT_EQ(found.early_writes, 0);
  EXPECT_EQ(found.split_warps, 0);
  EXPECT_EQ(found.never_ends, 0);
}

constexpr size_t kRows =
    3 * SIDE;  // of the products below; a result has 2 × 3 blocks, of which block (1, 2) is computed

// Runs the kernel on a and b, c of `columns`, in its block; checks all results exactly: values are coarse.
template <typename Kernel>
fake::Findings check_product(Precision format, size_t columns, int steps, const Kernel& kernel) {
  const size_t depth = 32 * static_cast<size_t>(steps) * values_per_word(format);
  const std::vector<float> a = coarse_values(kRows * depth, 3), b = coarse_values(columns * depth, 5);
  const std::vector<WORD> a_bits = bits_of(a, format), b_bits = bits_of(b, format);
  std::vector<float> c(kRows * columns, NAN);
  const fake::Findings found =
      fake::Block::run({1, 2}, {2, 3}, 256, [&] { kernel(a_bits.data(), b_bits.data(), c.data()); });
  expect_clean(found);
  for (size_t row = 0; row < kRows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      const float got = c[row * columns + column];
      if (row < 2 * SIDE || column < columns / 2) {
        EXPECT_TRUE(std::isnan(got)) << "written outside of the block: " << row << ", " << column;
        continue;
      }
      float expected = 0;
      for (size_t k = 0; k < depth; ++k) expected += a[row * depth + k] * b[column * depth + k];
      EXPECT_EQ(got, expected) << row << ", " << column << " of " << steps << " steps";
      if (got != expected) return found;
    }
  return found;
}

struct ProductKernel {
  void (*kernel)(const WORD*, const WORD*, float*, int, int);
  Precision format;
  size_t columns;  // of a block
};
const ProductKernel kProducts[] = {{matmul_fp16, Precision::kFp16, 128}, {matmul_wide_fp16, Precision::kFp16, 256},
                                   {matmul_bf16, Precision::kBf16, 128}, {matmul_wide_bf16, Precision::kBf16, 256},
                                   {matmul_tf32, Precision::kTf32, 128}, {matmul_wide_tf32, Precision::kTf32, 256}};

// Rows have `steps` steps of 32 words.
void check_product(const ProductKernel& one, int steps) {
  const fake::Findings found =
      check_product(one.format, 2 * one.columns, steps, [&](const WORD* a, const WORD* b, float* c) {
        one.kernel(a, b, c, static_cast<int>(2 * one.columns), steps * ROW);
      });
  const int64_t warps = 8, results = SIDE * static_cast<int64_t>(one.columns);
  EXPECT_EQ(found.multiplications, results / (16 * 8) * 4 * steps);
  EXPECT_EQ(found.matrix_reads, warps * (4 + static_cast<int64_t>(one.columns) / 64) * (4 * steps + 1));
  EXPECT_EQ(found.copies, warps * (4 + static_cast<int64_t>(one.columns) / 32) * steps);
}

TEST(TensorKernels, MultiplyExactlyWithoutBankConflictsOrRaces) {
  for (const ProductKernel& one : kProducts) check_product(one, 5);
}

TEST(TensorKernels, MultiplyWhatIsShorterThanTheirStages) {
  for (int steps : {1, 2, 3}) check_product(kProducts[steps % 2], steps);
}

struct HopperKernel {
  void (*kernel)(TENSOR_MAP, TENSOR_MAP, float*, int, int);
  Precision format;
  int steps;
};

TEST(TensorKernels, MultiplyByWarpGroupsExactly) {
  for (const HopperKernel& one :
       {HopperKernel{matmul_hopper_fp16, Precision::kFp16, 10}, HopperKernel{matmul_hopper_bf16, Precision::kBf16, 5},
        HopperKernel{matmul_hopper_tf32, Precision::kTf32, 4}, HopperKernel{matmul_hopper_fp16, Precision::kFp16, 1}}) {
    const int columns = 512, words = one.steps * ROW;
    const fake::Findings found =
        check_product(one.format, columns, one.steps, [&](const WORD* a, const WORD* b, float* c) {
          one.kernel({a, kRows, words, SIDE}, {b, columns, words, 256}, c, columns, words);
        });
    EXPECT_EQ(found.group_multiplications, 2 * 4 * one.steps);
    EXPECT_EQ(found.boxes, 2 * one.steps);
    EXPECT_EQ(found.multiplications + found.matrix_reads + found.copies, 0);
  }
}

struct Inputs {
  std::vector<float> q, k, v;
};

void check_attention(const Inputs& in, Precision format, size_t heads, size_t count, double tolerance) {
  const auto q = bits_of(in.q, format), k = bits_of(in.k, format), v = bits_of(in.v, format);
  std::vector<float> out(in.q.size(), NAN);
  const auto kernel = format == Precision::kFp16 ? attention_tensor_fp16 : attention_tensor_bf16;
  for (unsigned head = 0; head < heads; ++head)
    for (unsigned block = 0; block < count / 128; ++block) {
      const fake::Findings found =
          fake::Block::run({block, head}, {static_cast<unsigned>(count / 128), static_cast<unsigned>(heads)}, 128,
                           [&] { kernel(q.data(), k.data(), v.data(), out.data(), static_cast<int>(count)); });
      expect_clean(found);
      const auto tiles = static_cast<int64_t>(count / 64);
      EXPECT_EQ(found.multiplications, 4 * 128 * tiles);
      EXPECT_EQ(found.matrix_reads, 4 * 32 * tiles);
      EXPECT_EQ(found.copies, 4 * 8 * tiles);
    }
  const std::vector<float> expected = attention_of(in.q, in.k, in.v, count, 64);
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_NEAR(out[i], expected[i], tolerance) << i / 64 << ", " << i % 64 << " of " << count;
}

Inputs attention_inputs(size_t values) {
  return {coarse_values(values, 7), coarse_values(values, 11), coarse_values(values, 13)};
}

TEST(TensorKernels, AttendToAllPositions) {
  check_attention(attention_inputs(size_t{2} * 384 * 64), Precision::kFp16, 2, 384, 2e-3);
  check_attention(attention_inputs(size_t{128} * 64), Precision::kBf16, 1, 128, 1.6e-2);
}

// Scores that grow from tile to tile rescale every sum; those that do not, none after the first tile.
TEST(TensorKernels, AttendWhereTheLargestScoreMovesAndWhereItStays) {
  constexpr size_t kCount = 256;
  Inputs in = attention_inputs(kCount * 64);
  Inputs growing = in, falling = in, constant = in;
  for (size_t i = 0; i < in.k.size(); ++i) {
    growing.k[i] *= static_cast<float>(1 << i / 64 / 64);  // tiles of 64 keys: · 1, 2, 4, 8
    falling.k[i] *= static_cast<float>(8 >> i / 64 / 64);
    constant.k[i] = 0;
  }
  for (const Inputs& one : {growing, falling, constant}) check_attention(one, Precision::kFp16, 1, kCount, 3e-3);
}

// How often each instruction stands in the loop of a kernel that multiplies most.
std::map<std::string, int> instructions_of_loop(const std::string& all, const std::string& kernel,
                                                const std::string& multiplication = "HMMA") {
  const size_t begin = all.find("\n.text." + kernel + ":");
  EXPECT_NE(begin, std::string::npos) << kernel;
  std::istringstream text(all.substr(begin + 1, all.find("\n\t.section", begin + 1) - begin));
  std::vector<std::string> names;  // of the instructions, in their order
  std::map<std::string, size_t> labels;
  std::map<std::string, int> most;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(".L_")) labels[line.substr(0, line.find(':'))] = names.size();
    size_t at = line.find("*/");
    if (at == std::string::npos || line.find("@!PT") != std::string::npos) continue;  // never executed
    at = line.find_first_not_of(" \t", at + 2);
    if (at != std::string::npos && line[at] == '@') at = line.find_first_not_of(' ', line.find(' ', at));
    if (at == std::string::npos || std::isupper(static_cast<unsigned char>(line[at])) == 0) continue;
    names.push_back(line.substr(at, line.find_first_of(". ", at) - at));
    const size_t target = line.find(".L_");
    if (names.back() != "BRA" || target == std::string::npos) continue;
    const auto label = labels.find(line.substr(target, line.find(')', target) - target));
    if (label == labels.end()) continue;  // forwards
    std::map<std::string, int> counts;
    for (size_t i = label->second; i < names.size(); ++i) ++counts[names[i]];
    if (counts[multiplication] > most[multiplication]) most = counts;
  }
  return most;
}

class TensorMachineCode : public testing::TestWithParam<int> {
 protected:
  void compile(const std::string& texts) {
    auto nvrtc = gpu::cuda::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/libnvrtc.so");
    ASSERT_TRUE(nvrtc) << nvrtc.error().message;
    auto program = nvrtc->compile(kernel_source(texts), "tensor.cu", GetParam());
    ASSERT_TRUE(program) << program.error().message;
    kernels_ = program->kernels;
    log_ = program->log;
    text_ = fake::disassembled(program->machine_code);
  }
  gpu::cuda::CudaKernelUse use(const std::string& name) {
    for (const gpu::cuda::CudaKernelUse& kernel : kernels_)
      if (kernel.name == name) return kernel;
    ADD_FAILURE() << name;
    return {};
  }
  void expect_loop(const std::string& kernel, int multiplications, int matrix_reads, int copies) {
    std::map<std::string, int> loop = instructions_of_loop(text_, kernel);
    const bool turing = GetParam() < 80;
    EXPECT_EQ(loop["HMMA"], turing ? 2 * multiplications : multiplications) << kernel;
    EXPECT_EQ(loop["LDSM"], matrix_reads) << kernel;
    EXPECT_EQ(loop[turing ? "STS" : "LDGSTS"], copies) << kernel;
    EXPECT_EQ(loop["LDS"], 0) << kernel;
    EXPECT_EQ(loop["LDL"] + loop["STL"], 0) << kernel;
    EXPECT_EQ(loop["BAR"], 1) << kernel;
    EXPECT_EQ(use(kernel).spill_bytes + use(kernel).stack_bytes, 0) << kernel;
  }
  // The limit: `each` multiplications per step, of which the compiler may join several.
  void expect_only_multiplies(const std::string& kernel, int each) {
    std::map<std::string, int> loop = instructions_of_loop(text_, kernel);
    EXPECT_GE(loop["HMMA"], each) << kernel;
    EXPECT_EQ(loop["HMMA"] % each, 0) << kernel;
    int all = 0;
    for (const auto& [name, count] : loop) all += count;
    EXPECT_LE(all - loop["HMMA"], loop["HMMA"] / 2) << kernel << ": not issued one after the other";
    EXPECT_EQ(loop["LDS"] + loop["LDG"] + loop["LDL"] + loop["STL"], 0) << kernel;
    EXPECT_EQ(use(kernel).spill_bytes + use(kernel).stack_bytes, 0) << kernel;
  }
  // Blocks whose registers fit a multiprocessor's 65536, which are given to warps in units of 256.
  int blocks_by_registers(const std::string& kernel, int threads) {
    return 65536 / ((use(kernel).registers + 7) / 8 * 8 * threads);
  }

  std::vector<gpu::cuda::CudaKernelUse> kernels_;
  std::string text_, log_;
};

TEST_P(TensorMachineCode, OfProductsIsWhatTheLoopSays) {
  compile("half warp_matrix warp_rows matmul_tensor");
  const bool turing = GetParam() < 80;
  const bool wide = GetParam() == 80 || GetParam() == 87 || (GetParam() >= 90 && GetParam() < 120);
  for (const std::string format : {"fp16", "bf16", "tf32"}) {
    if (GetParam() < 80 && format != "fp16") continue;
    expect_loop("matmul_" + format, 64, 24, 8);
    expect_only_multiplies("alone_" + format, turing ? 2 * 8 : 8);
    if (!wide) continue;
    expect_loop("matmul_wide_" + format, 128, 32, 12);
    EXPECT_EQ(blocks_by_registers("matmul_wide_" + format, 256), 1);
  }
}

TEST_P(TensorMachineCode, OfHoppersProductsMultipliesWithoutWaitingInBetween) {
  if (GetParam() != 90) GTEST_SKIP() << "Hopper alone has warp groups";
  compile("half warp_matrix warp_rows warp_group matmul_tensor matmul_hopper");
  EXPECT_EQ(log_.find("serialized"), std::string::npos) << log_;
  for (const std::string format : {"fp16", "bf16", "tf32"}) {
    const std::string kernel = "matmul_hopper_" + format;
    std::map<std::string, int> loop = instructions_of_loop(text_, kernel, "HGMMA");
    EXPECT_EQ(loop["HGMMA"], 4) << kernel;
    EXPECT_EQ(loop["WARPGROUP"], 2) << "one arrival, one wait; " << kernel;
    EXPECT_EQ(loop["UTMALDG"], 2) << kernel;
    EXPECT_EQ(loop["BAR"], 1) << kernel;
    EXPECT_EQ(loop["LDS"] + loop["LDSM"] + loop["LDL"] + loop["STL"], 0) << kernel;
    EXPECT_EQ(use(kernel).spill_bytes + use(kernel).stack_bytes, 0) << kernel;
    EXPECT_EQ(blocks_by_registers(kernel, 256), 1) << kernel;
  }
}

TEST_P(TensorMachineCode, OfAttentionIsWhatTheLoopSays) {
  compile("half warp_matrix warp_rows attention_tensor");
  for (const std::string format : {"fp16", "bf16"}) {
    if (GetParam() < 80 && format != "fp16") continue;
    const std::string kernel = "attention_tensor_" + format;
    expect_loop(kernel, 128, 32, 8);
    std::map<std::string, int> loop = instructions_of_loop(text_, kernel);
    EXPECT_EQ(loop["MUFU"], 64 + 4) << "one for each score of a thread, one for each row that may be rescaled";
    EXPECT_EQ(use(kernel).shared_bytes, 2 * 2 * 64 * 128);
    EXPECT_EQ(blocks_by_registers(kernel, 128), 2);
  }
}

// Another release needs more registers: that of the wheels that PyTorch for CUDA 13.0 asks for.
TEST(TensorKernels, SpillNothingWithAnOlderCompiler) {
  auto nvrtc = gpu::cuda::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc-13.0/libnvrtc.so.13");
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  for (const char* texts : {"half warp_matrix warp_rows warp_group matmul_tensor matmul_hopper",
                            "half warp_matrix warp_rows attention_tensor"}) {
    auto program = nvrtc->compile(kernel_source(texts), "tensor.cu", 90);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_FALSE(program->kernels.empty());
    for (const gpu::cuda::CudaKernelUse& kernel : program->kernels)
      EXPECT_EQ(kernel.spill_bytes + kernel.stack_bytes, 0) << kernel.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, TensorMachineCode,
                         testing::Values(75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121));

}  // namespace
}  // namespace ridge::lab
