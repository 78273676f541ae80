// On a fake of NVIDIA's driver that runs kernels on the CPU and delays queued work until it is waited for
// (tests/support/fake_cuda.cc).
#include "gpu/cuda/workspace.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "gpu/test_child.h"
#include "gpu/test_workspace.h"

namespace ridge::gpu::cuda {
namespace {

constexpr const char* kTwoKernels =
    "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] *= 2; }"
    "__kernel void plus(__global float* x, int first, float more)"
    "  { int i = get_group_id(0) * get_local_size(0) + get_local_id(0); if (i >= first) x[i] += more; }";

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// A workspace with the kernels and one buffer of 0, 1, 2, ….
struct PreparedWorkspace {
  std::unique_ptr<Workspace> space;
  BufferNumber buffer;
};
Result<PreparedWorkspace> prepared(size_t count, Timing timing = Timing::kByDevice) {
  RIDGE_ASSIGN(const gpu::Device device, open_device("cuda:0"));
  RIDGE_ASSIGN(std::unique_ptr<Workspace> space, workspace_with(device, kTwoKernels, timing));
  RIDGE_ASSIGN(BufferNumber buffer, space->add(counted(count)));
  return PreparedWorkspace{std::move(space), buffer};
}

// Runs `body` with a workspace on the first GPU of the script.
void in_workspace(const char* script, size_t count, const std::function<void(Workspace&, BufferNumber)>& body) {
  on_gpus(script, [&] {
    auto made = prepared(count);
    ASSERT_TRUE(made) << made.error().message;
    body(*made->space, made->buffer);
  });
}

TEST(CudaWorkspace, RunsLaunchesInOrderAndTimesThem) {
  on_gpus("healthy", [] {
    {
      auto made = prepared(1024);
      ASSERT_TRUE(made) << made.error().message;
      std::vector<Launch> launches = {{"twice", {16}, {64}, {made->buffer}},
                                      {"plus", {4}, {256}, {made->buffer, 512, 0.5F}}};
      auto time = made->space->run(launches, 2);
      ASSERT_TRUE(time) << time.error().message;
      EXPECT_GT(time->device_seconds, 0);
      EXPECT_GE(time->whole_seconds, time->device_seconds);
      std::vector<float> content(1024);
      ASSERT_TRUE(made->space->read(made->buffer, content));
      EXPECT_EQ(content[511], 4 * 511);
      EXPECT_EQ(content[512], 2 * (2 * 512 + 0.5F) + 0.5F);
    }
    EXPECT_EQ(objects_alive(), 0u);
  });
}

TEST(CudaWorkspace, TimesByTheHostAloneWhereItIsToldTo) {
  on_gpus("healthy", [] {
    auto made = prepared(64, Timing::kByHost);
    ASSERT_TRUE(made) << made.error().message;
    Launch twice{"twice", {1}, {64}, {made->buffer}};
    auto time = made->space->run({&twice, 1});
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_GT(time->whole_seconds, 0);
    EXPECT_EQ(time->device_seconds, 0);
  });
}

// Creating it takes up to a second, so that a run over many workspaces keeps one.
TEST(CudaWorkspace, TheContextLivesAsLongAsItsDevice) {
  on_gpus("healthy", [] {
    {
      auto device = open_device("cuda:0");
      ASSERT_TRUE(device) << device.error().message;
      for (int i = 0; i < 2; ++i) ASSERT_TRUE(workspace_with(*device, kTwoKernels));
      EXPECT_EQ(objects_alive(), 1u) << "the context";
    }
    EXPECT_EQ(objects_alive(), 0u);
  });
}

TEST(CudaWorkspace, SaysWhatIsWrongWithASourceOrALaunch) {
  in_workspace("healthy", 1024, [](Workspace& space, BufferNumber buffer) {
    Launch unknown{"g", {1}, {1}, {}};
    auto missing = space.run({&unknown, 1});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    Launch wide{"twice", {1}, {2048}, {buffer}};
    auto refused = space.run({&wide, 1});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("twice with 2048 × 1 × 1 threads"), std::string::npos)
        << refused.error().message;
    Launch greedy{"twice", {1}, {64}, {buffer}, 228 << 10};
    auto too_much = space.run({&greedy, 1});
    ASSERT_FALSE(too_much);
    EXPECT_NE(too_much.error().message.find("233472 bytes"), std::string::npos) << too_much.error().message;
    Status wrong = space.build("__kernel void f(__global float* x) { nothing; }");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Code::kInvalid);
    EXPECT_NE(wrong.error().message.find("nothing"), std::string::npos) << wrong.error().message;
  });
}

TEST(CudaWorkspace, GivesKernelsAMatrixThatTheirBufferHolds) {
  in_workspace("healthy", 1024, [](Workspace& space, BufferNumber buffer) {
    Launch whole{"twice", {1}, {64}, {BoxedMatrix{buffer, 32, 32, 8}}};
    auto ran = space.run({&whole, 1});
    EXPECT_TRUE(ran) << ran.error().message;
    Launch beyond{"twice", {1}, {64}, {BoxedMatrix{buffer, 33, 32, 8}}};
    auto refused = space.run({&beyond, 1});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("cuTensorMapEncodeTiled"), std::string::npos) << refused.error().message;
  });
}

TEST(CudaWorkspace, GivesAGpuThatNvrtcDoesNotKnowItsNearestPtx) {
  in_workspace("newer", 64, [](Workspace& space, BufferNumber buffer) {
    Launch twice{"twice", {1}, {64}, {buffer}};
    EXPECT_TRUE(space.run({&twice, 1}));
  });
  auto target = choose_target({75, 80, 86, 89, 90, 100, 120}, 103);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->architecture, 100);
  EXPECT_FALSE(target->exact);
  EXPECT_TRUE(choose_target({75, 80}, 80)->exact);
  auto old = choose_target({75, 80}, 61);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::kUnsupported);
}

TEST(CudaWorkspace, ReportsALostGpuFromTheRunOnwards) {
  in_workspace("loses", 64, [](Workspace& space, BufferNumber buffer) {
    Launch twice{"twice", {1}, {64}, {buffer}};
    ASSERT_TRUE(space.run({&twice, 1}, 3));
    for (int i = 0; i < 2; ++i) {
      auto lost = space.run({&twice, 1});
      ASSERT_FALSE(lost);
      EXPECT_EQ(lost.error().code, Code::kUnavailable);
      EXPECT_NE(lost.error().message.find("NVRM: Xid"), std::string::npos) << lost.error().message;
    }
  });
}

TEST(CudaWorkspace, MovesDataBetweenAllKindsOfMemory) {
  in_workspace("healthy", 16, [](Workspace& space, BufferNumber) {
    expect_data_moves_between_all_kinds_of_memory(space);
    expect_parts_are_read_and_written(space);
    expect_kernels_take_no_memory_of_the_host(space);
  });
}

TEST(CudaWorkspace, TakesMemoryFromTheDriverAndFromThePoolInTurn) {
  in_workspace("healthy", 64, [](Workspace& space, BufferNumber buffer) {
    ASSERT_TRUE(space.build(kPut));
    for (bool pooled : {true, false, true}) expect_memory_is_taken_anew(space, buffer, pooled);
  });
}

// One queue copies data in, the other processes it afterwards.
TEST(CudaWorkspace, AQueueWaitsForAnother) {
  in_workspace("healthy", 256, [](Workspace& space, BufferNumber buffer) {
    auto zeros = space.add(std::vector<float>(256), MemoryKind::kPinned);
    ASSERT_TRUE(zeros);
    const std::vector<Step> steps = {{Copy{*zeros, buffer}, 1},
                                     {WaitFor{1}, 0},
                                     {Launch{"plus", {1}, {256}, {buffer, 0, 7.0F}}, 0},
                                     {WaitFor{0}, 1}};
    auto time = space.run(steps, 3);
    ASSERT_TRUE(time) << time.error().message;
    std::vector<float> got(256);
    ASSERT_TRUE(space.read(buffer, got));
    EXPECT_EQ(got[0], 7);
    EXPECT_EQ(got[255], 7);
  });
}

TEST(CudaWorkspace, RecordedLaunchesRunAsOftenAsTheyAreStarted) {
  in_workspace("healthy", 64, [](Workspace& space, BufferNumber buffer) {
    Launch plus{"plus", {1}, {64}, {buffer, 0, 1.0F}};
    EXPECT_FALSE(space.record({&plus, 1})) << "its code is not loaded yet";
    ASSERT_TRUE(space.run({&plus, 1}));
    auto ten = space.record({&plus, 1}, 10);
    ASSERT_TRUE(ten) << ten.error().message;
    std::vector<float> got(64);
    ASSERT_TRUE(space.read(buffer, got));
    EXPECT_EQ(got[63], 63 + 1) << "recorded, not run";
    const Step step{*ten};
    auto time = space.run({&step, 1}, 3);
    ASSERT_TRUE(time) << time.error().message;
    ASSERT_TRUE(space.read(buffer, got));
    EXPECT_EQ(got[63], 63 + 31);
  });
}

TEST(CudaWorkspace, KeepsMultiplicationsApartWhoseFactorLiesOtherwise) {
  in_workspace("healthy", 256, [](Workspace& space, BufferNumber b) {
    std::vector<float> one(256);
    for (size_t i = 0; i < 256; i += 17) one[i] = 1;
    auto a = space.add(one), d = space.add(std::vector<float>(256));
    ASSERT_TRUE(a && d);
    for (bool by_columns : {false, true}) {
      const GemmProblem problem{Precision::kFp32, 16, 16, 16, by_columns};
      const Step step{Gemm{*a, b, *d, problem}};
      auto time = space.run({&step, 1});
      ASSERT_TRUE(time) << time.error().message;
      std::vector<float> got(256);
      ASSERT_TRUE(space.read(*d, got));
      EXPECT_EQ(got[1], by_columns ? 16 : 1) << "in row 0, column 1 of the product with one";
      auto plan = space.plan(problem);
      ASSERT_TRUE(plan);
      EXPECT_LT(plan->chosen, plan->candidates);
    }
  });
}

// The script's GPU holds 2048 threads per multiprocessor; the fake's kernels take 32 registers.
TEST(CudaWorkspace, SaysHowManyThreadsOfAKernelAreResident) {
  in_workspace("healthy", 16, [](Workspace& space, BufferNumber buffer) {
    for (auto [shared, percent] : {std::pair<size_t, double>{0, 100}, {100 << 10, 25}}) {
      auto residency = space.residency({"twice", {1}, {256}, {buffer}, shared});
      ASSERT_TRUE(residency) << residency.error().message;
      EXPECT_EQ(residency->registers, 32);
      EXPECT_EQ(residency->occupancy_percent, percent);
    }
    EXPECT_FALSE(space.residency({"g", {1}, {256}, {buffer}}));
  });
}

// A driver of CUDA 10 has no pools and no graphs, and the release of the primary context has its old name.
TEST(CudaWorkspace, WorksWithAnOldDriverButForWhatItLacks) {
  on_gpus("turing", [] {
    setenv("RIDGE_CUDA", test_support("libcuda-old.so.1").c_str(), 1);
    auto made = prepared(64);
    ASSERT_TRUE(made) << made.error().message;
    Launch twice{"twice", {1}, {64}, {made->buffer}};
    EXPECT_TRUE(made->space->run({&twice, 1}));
    const Step pooled{Reallocate{made->buffer, true}};
    auto pool = made->space->run({&pooled, 1});
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, Code::kUnsupported);
    EXPECT_NE(pool.error().message.find("CUDA 11.2"), std::string::npos) << pool.error().message;
    EXPECT_FALSE(made->space->record({&twice, 1}));
    auto unified = made->space->add(std::vector<float>(16), MemoryKind::kUnified);
    ASSERT_TRUE(unified);
    const Step ahead{Prefetch{*unified, true}};
    EXPECT_TRUE(made->space->run({&ahead, 1}));
  });
}

// Repeats the important tests above.
TEST(CudaWorkspace, WorksOnTheGpuOfThisMachine) {
  auto device = open_device("cuda:0");
  if (!device) GTEST_SKIP() << "no GPU here: " << device.error().message;
  SCOPED_TRACE(device->facts.name);
  auto opened = workspace_with(*device,
                               "extern \"C\" __global__ void plus(float* x, int first, float more)"
                               "  { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= first) x[i] += more; }");
  if (!opened && opened.error().code == Code::kNotFound) GTEST_SKIP() << opened.error().message;
  ASSERT_TRUE(opened) << opened.error().message;
  Workspace& space = **opened;
  auto buffer = space.add(counted(1024));
  ASSERT_TRUE(buffer) << buffer.error().message;
  Launch plus{"plus", {4}, {256}, {*buffer, 512, 0.5F}};
  auto time = space.run({&plus, 1}, 4);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_GT(time->device_seconds, 0);
  auto recording = space.record({&plus, 1}, 4);
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_TRUE(space.run(std::vector<Step>{{*recording, 1}, {WaitFor{1}, 0}}));
  std::vector<float> content(1024);
  ASSERT_TRUE(space.read(*buffer, content));
  EXPECT_EQ(content[511], 511);
  EXPECT_EQ(content[512], 512 + 8 * 0.5F);
  expect_parts_are_read_and_written(space);
  auto residency = space.residency(plus);
  ASSERT_TRUE(residency) << residency.error().message;
  EXPECT_GT(residency->occupancy_percent, 0);
  EXPECT_LE(residency->occupancy_percent, 100);
}

}  // namespace
}  // namespace ridge::gpu::cuda
