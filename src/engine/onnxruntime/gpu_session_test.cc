// Runs on a fake GPU: a fake driver that delays queued work until it is waited for, and ONNX Runtime's providers by a
// fake that computes on the CPU (tests/support/fake_cuda.cc, fake_onnxruntime_gpu.cc). Numbers are right only with
// every necessary copy and wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <latch>
#include <numeric>
#include <optional>
#include <sstream>
#include <thread>

#include "base/dynlib.h"
#include "base/file.h"
#include "engine/onnxruntime/library.h"
#include "engine/test_model.h"
#include "engine/test_session.h"
#include "gpu/cuda/cuda.h"
#include "gpu/cuda/memory.h"

namespace ridge::engine::onnxruntime {
namespace {

using test_model::block;
using test_model::kFloat;
using test_model::model;
using test_model::node;
using test_model::value_info;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class OnAGpu : public SessionTest {
 protected:
  OnAGpu() : SessionTest("onnxruntime") {}

  void SetUp() override {
    const Result<const Library*> real = load("");
    if (!real) GTEST_SKIP() << real.error().message;
    SessionTest::SetUp();
    const std::string support = RIDGE_TEST_SUPPORT;
    log_ = folder_ + "/log";
    ASSERT_TRUE(write_file_atomically(log_, "").ok());
    set("RIDGE_REAL_ONNXRUNTIME", (*real)->path);
    set("RIDGE_FAKE_ONNXRUNTIME_LOG", log_);
    set("RIDGE_CUDA", support + "/libcuda.so.1");
    set("RIDGE_FAKE_CUDA", std::string(RIDGE_SOURCE_DIR) + "/tests/support/cuda/two.txt");
    set("RIDGE_NVML", support + "/libnvidia-ml.so.1");
    set("RIDGE_FAKE_NVML", std::string(RIDGE_SOURCE_DIR) + "/tests/support/nvml/healthy.txt");
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    SessionTest::TearDown();
  }

  plan::Plan plan_on(const std::string& device, const std::string& bytes) {
    plan::Plan plan = plan_for(bytes);
    plan.device = device;
    plan.engine_library = std::string(RIDGE_TEST_SUPPORT) + "/libonnxruntime-gpu.so.1";
    return plan;
  }
  void set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    set_.push_back(name);
  }
  // The calls to the fake, only lines that begin with `start`.
  std::vector<std::string> asked(const std::string& start) const {
    std::istringstream lines(*read_file(log_));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(start)) found.push_back(line);
    return found;
  }

  std::string log_;
  std::vector<std::string> set_;
};

// y = -relu(x), x [n,4].
std::string two_nodes() {
  return model(node("Relu", "first", {"x"}, "m") + node("Neg", "second", {"m"}, "y"),
               block(11, value_info("x", kFloat, {-1, 4})), block(12, value_info("y", kFloat, {-1, 4})));
}

std::vector<float> rising(int64_t rows, float first) {
  std::vector<float> values(static_cast<size_t>(rows) * 4);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Runs into memory of ours, and returns whether every value is right.
testing::AssertionResult computes(Session& session, int64_t rows, float first, RunTimes* times = nullptr) {
  const std::vector<float> in = rising(rows, first);
  std::vector<float> out(in.size(), 77);
  Output output{DataType::kFp32, {rows, 4}, std::as_writable_bytes(std::span(out)), nullptr};
  if (Status ran = run_once(session, {DataType::kFp32, {rows, 4}, std::as_bytes(std::span(in))}, output, times); !ran)
    return testing::AssertionFailure() << ran.error().message;
  for (size_t i = 0; i < in.size(); ++i)
    if (out[i] != -std::max(0.0f, in[i]))
      return testing::AssertionFailure() << "value " << i << " of " << rows << " rows is " << out[i];
  return testing::AssertionSuccess();
}

TEST_F(OnAGpu, ARunGoesThroughTheGpusMemoryAndComesBackRight) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->info().device, "cuda:1");
  EXPECT_EQ(session->info().executed, "2 nodes on CUDAExecutionProvider");
  RunTimes times;
  EXPECT_TRUE(computes(*session, 3, -5, &times));
  EXPECT_GT(times.compute.count(), 0);
  EXPECT_TRUE(computes(*session, 3, 1));        // the same addresses again
  EXPECT_TRUE(computes(*session, 300000, -9));  // larger than a chunk, and than the staging buffers
  EXPECT_TRUE(computes(*session, 2, -3));
  EXPECT_THAT(asked("append"), ElementsAre("append CUDA device_id=1 on a given stream"));
  for (const std::string& run : asked("run")) EXPECT_EQ(run, "run in: GPU out: GPU");
}

TEST_F(OnAGpu, AnOutputOfUnknownSizeIsTheEnginesAndTheRunWaitsForIt) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  const std::vector<float> in = rising(5, -4);
  Output output;
  ASSERT_TRUE(run_once(*session, {DataType::kFp32, {5, 4}, std::as_bytes(std::span(in))}, output).ok());
  EXPECT_EQ(output.shape, (Shape{5, 4}));
  ASSERT_EQ(output.data.size(), 80u);
  EXPECT_EQ(reinterpret_cast<const float*>(output.data.data())[19], -15.0f);
  EXPECT_THAT(asked("run"), ElementsAre("run in: GPU out: engine waits"));
}

TEST_F(OnAGpu, SeveralCallersGetTheirOwnAnswers) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int run = 0; run < 25; ++run)
        EXPECT_TRUE(computes(*session, 1 + (caller + run) % 7, static_cast<float>(100 * caller - 200)));
    });
}

size_t count_of_driver(const char* function) {
  const Result<DynamicLibrary> driver = DynamicLibrary::open(std::getenv("RIDGE_CUDA"));
  const Result<size_t (*)()> count = driver->symbol<size_t()>(function);
  return (*count)();
}

// Returns the fake driver's live objects; each lane has its own stream, events and memory.
size_t objects_on_gpus() { return count_of_driver("fakeCudaObjects"); }

void await(const std::function<bool()>& what) {
  while (!what()) std::this_thread::yield();
}

// While it lives, no run on a GPU ends.
class Hold {
 public:
  explicit Hold(const std::string& folder) : file_(folder + "/hold") {
    EXPECT_TRUE(write_file_atomically(file_, "").ok());
    setenv("RIDGE_FAKE_HOLD", file_.c_str(), 1);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { std::filesystem::remove(file_); }

 private:
  std::string file_;
};

TEST_F(OnAGpu, TheInputsOfOneCallerAreSentWhileAnothersRunComputes) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(computes(*session, 3, -5));
  std::optional<Hold> hold(folder_);
  const size_t objects = objects_on_gpus();
  std::jthread first([&] { EXPECT_TRUE(computes(*session, 3, -7)); });
  await([&] { return asked("run").size() == 2; });  // the first caller's run computes
  std::jthread second([&] { EXPECT_TRUE(computes(*session, 3, -9)); });
  // Stream, five events, and memory on the GPU and beside it for input and output.
  await([&] { return objects_on_gpus() == objects + 10; });  // the second one's lane is full
  EXPECT_EQ(asked("run").size(), 2u) << "and it waits for its turn to compute";
  hold.reset();
}

// Copying 48 MB back takes longer than a wait may spin; that of the last run tells.
TEST_F(OnAGpu, ALongWaitLeavesTheCore) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(computes(*session, 3000000, -7));
  const size_t slept = count_of_driver("fakeCudaSleepingWaits");
  EXPECT_TRUE(computes(*session, 3, -7));
  EXPECT_EQ(count_of_driver("fakeCudaSleepingWaits"), slept + 1);
}

TEST_F(OnAGpu, OptionsReachTheProvidersTogether) {
  plan::Plan plan = plan_on("tensorrt:1", two_nodes());
  plan.options = {{"cuda.use_tf32", "0"},
                  {"cuda.cudnn_conv_algo_search", "HEURISTIC"},
                  {"tensorrt.trt_fp16_enable", "1"},
                  {"tensorrt.trt_profile_max_shapes", "x:8x4"}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->info().device, "tensorrt:1");
  EXPECT_EQ(session->info().executed, "2 nodes on TensorrtExecutionProvider");
  EXPECT_THAT(
      asked("append"),
      ElementsAre("append TensorRT device_id=1 trt_fp16_enable=1 trt_profile_max_shapes=x:8x4 on a given stream",
                  "append CUDA cudnn_conv_algo_search=HEURISTIC device_id=1 use_tf32=0 on a given stream"));
  EXPECT_TRUE(computes(*session, 2, -3));
}

TEST_F(OnAGpu, AGraphIsKeptPerSetOfAddresses) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  for (const int64_t rows : {2, 2, 3, 2}) EXPECT_TRUE(computes(*session, rows, -3));
  const std::vector<std::string> runs = asked("run");
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_THAT(runs[0], StartsWith("run in: GPU out: GPU graph "));
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]) << "another shape is another graph";
  EXPECT_EQ(runs[0], runs[3]) << "and the first is known still";
}

TEST_F(OnAGpu, ACaptureSurvivesWhatOtherThreadsAskOfTheDriver) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  std::jthread captures;
  const Hold hold(folder_);
  captures = std::jthread([&] { EXPECT_TRUE(computes(*session, 2, -3)); });
  await([&] { return asked("run").size() == 1; });
  const Result<gpu::cuda::Cuda> driver = gpu::cuda::Cuda::open();
  const Result<gpu::cuda::CudaContext> context = driver->context(1);
  Result<gpu::cuda::CudaMemory> memory = gpu::cuda::CudaMemory::allocate(*context, 4096, gpu::MemoryKind::kDevice);
  ASSERT_TRUE(memory) << memory.error().message;
  std::vector<std::byte> bytes(4096);
  EXPECT_TRUE(memory->read(bytes, 0));
}

// The end of a session frees memory on the GPU: on a thread that has called nothing of the driver before, which would
// break the capture.
TEST_F(OnAGpu, ACaptureSurvivesTheEndOfAnotherSession) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> session = open_model(plan), other = open_model(plan);
  ASSERT_TRUE(session && other);
  std::jthread captures, ends;
  {
    const Hold hold(folder_);
    captures = std::jthread([&] { EXPECT_TRUE(computes(*session, 2, -3)); });
    await([&] { return asked("run").size() == 1; });
    ends = std::jthread([&] { other.reset(); });
    // Time for the end to come too early; it does not have to.
    for (int i = 0; i < 100 && asked("end").empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(asked("end").empty());
  }
  ends.join();
  EXPECT_EQ(asked("end").size(), 1u);
}

TEST_F(OnAGpu, ReplaysOfTwoSessionsRunBesideEachOther) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> one = open_model(plan), other = open_model(plan);
  ASSERT_TRUE(one && other);
  // A graph is kept per thread, so each thread captures its own before both replay.
  std::latch captured(3), held(3);
  const auto caller = [&](Session& session) {
    EXPECT_TRUE(computes(session, 2, -3));
    captured.arrive_and_wait();
    held.arrive_and_wait();
    EXPECT_TRUE(computes(session, 2, -5));
  };
  std::jthread first(caller, std::ref(*one)), second(caller, std::ref(*other));
  captured.arrive_and_wait();
  const Hold hold(folder_);
  held.arrive_and_wait();
  await([&] { return asked("run").size() == 4; });
}

TEST_F(OnAGpu, OnlySoManyLayoutsGetAGraph) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  for (int64_t rows = 40; rows > 0; --rows) EXPECT_TRUE(computes(*session, rows, -3));
  const std::vector<std::string> runs = asked("run");
  ASSERT_EQ(runs.size(), 40u);
  EXPECT_EQ(std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.ends_with(" graph -1"); }), 24);
  EXPECT_TRUE(computes(*session, 40, -3));
  EXPECT_EQ(asked("run").back(), runs.front()) << "the first ones keep theirs";
}

// One after the other, on one lane.
TEST_F(OnAGpu, OnlySoManyThreadsGetAGraphOfALayout) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.enable_cuda_graph", "1"}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  for (int caller = 0; caller < 20; ++caller) std::jthread([&] { EXPECT_TRUE(computes(*session, 3, -3)); }).join();
  const std::vector<std::string> runs = asked("run");
  ASSERT_EQ(runs.size(), 20u);
  EXPECT_EQ(std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.ends_with(" graph -1"); }), 4);
}

TEST_F(OnAGpu, NodesThatStayWithTheCpuAreListed) {
  set("RIDGE_FAKE_FALLBACK", "Neg");
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->info().executed, "1 node on CUDAExecutionProvider, 1 on CPUExecutionProvider: Neg (left)");
  EXPECT_TRUE(computes(*session, 3, -5));
  EXPECT_THAT(asked("run"), ElementsAre("run in: GPU out: GPU waits")) << "what crosses over has no stream to wait for";
}

TEST_F(OnAGpu, AModelThatWouldRunOnTheCpuAloneIsAnError) {
  set("RIDGE_FAKE_FALLBACK", "all");
  Result<std::unique_ptr<Session>> session = engine::open(plan_on("cuda:1", two_nodes()));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().message, HasSubstr("cuda:1 runs no node of "));
  EXPECT_THAT(session.error().message, HasSubstr("2 nodes on CPUExecutionProvider"));
}

TEST_F(OnAGpu, AModelOfWhichTensorRtTakesNothingIsAnErrorAlsoWhereTheCudaProviderWouldTakeIt) {
  set("RIDGE_FAKE_FALLBACK", "tensorrt");
  Result<std::unique_ptr<Session>> session = engine::open(plan_on("tensorrt:1", two_nodes()));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().message, HasSubstr("tensorrt:1 runs no node of "));
  EXPECT_THAT(session.error().message, HasSubstr("Use --device cuda:1"));
  EXPECT_TRUE(engine::open(plan_on("cuda:1", two_nodes())).ok());
}

TEST_F(OnAGpu, AnOptionThatTheProviderRefusesIsAnErrorThatNamesIt) {
  plan::Plan plan = plan_on("cuda:1", two_nodes());
  plan.options = {{"cuda.no_such", "1"}};
  EXPECT_THAT(engine::open(plan).error().message, HasSubstr("Unknown provider option: \"no_such\""));
}

TEST_F(OnAGpu, AGpuThatIsNotThereIsAnErrorThatListsThoseThatAre) {
  const Error error = engine::open(plan_on("cuda:7", two_nodes())).error();
  EXPECT_THAT(error.message, HasSubstr("there is no GPU 7; the driver has 2: cuda:0 "));
}

TEST_F(OnAGpu, AWrongTensorIsRefusedByNameAndTheNextRunIsRight) {
  std::unique_ptr<Session> session = open_model(plan_on("cuda:1", two_nodes()));
  ASSERT_NE(session, nullptr);
  const std::vector<float> in = rising(3, 0);
  Output output;
  const Status ran = run_once(*session, {DataType::kFp32, {2, 4}, std::as_bytes(std::span(in))}, output);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("'x'"));
  EXPECT_TRUE(computes(*session, 3, -3));
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
