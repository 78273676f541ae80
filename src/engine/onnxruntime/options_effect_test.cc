// Each engine option has its effect from docs/contracts.md in ONNX Runtime: these tests fail for one without.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "engine/test_model.h"
#include "engine/test_session.h"

namespace ridge::engine::onnxruntime {
namespace {

using test_model::block;
using test_model::kFloat;
using test_model::model;
using test_model::node;
using test_model::value_info;
namespace fs = std::filesystem;

class EngineOption : public SessionTest {
 protected:
  EngineOption() : SessionTest("onnxruntime") {}

  // y = -relu(x), x [n,4]: relu's result lies in the engine's arena.
  Result<std::unique_ptr<Session>> open(std::map<std::string, std::string> options, int threads = 1) {
    plan::Plan plan =
        plan_for(model(node("Relu", "first", {"x"}, "m") + node("Neg", "second", {"m"}, "y"),
                       block(11, value_info("x", kFloat, {-1, 4})), block(12, value_info("y", kFloat, {-1, 4}))));
    plan.threads = threads;
    plan.graph_level = plan::GraphLevel::kOff;
    plan.memory_pattern = false;
    plan.options = std::move(options);
    return engine::open(plan);
  }
};

// The output lies in our own memory, so that only the engine's tensors are in its arena.
Status run_rows(Session& session, int64_t rows) {
  static std::vector<float> in, out;
  in.resize(static_cast<size_t>(rows) * 4, 1);
  out.resize(in.size());
  const TensorView input{DataType::kFp32, {rows, 4}, std::as_bytes(std::span(in))};
  Output output{DataType::kFp32, {rows, 4}, std::as_writable_bytes(std::span(out)), nullptr};
  const int wanted = 0;
  return session.run({&input, 1}, {&wanted, 1}, {&output, 1});
}

std::set<std::string> threads_now() {
  std::set<std::string> threads;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) threads.insert(entry.path().filename().string());
  return threads;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(EngineOption, SessionsThatShareThreadsStartNoneOfTheirOwn) {
  Result<std::unique_ptr<Session>> one = open({{"ridge.shared_threads", "3"}}, 5);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ((*one)->info().threads, 3);
  const size_t with_one = threads_now().size();
  Result<std::unique_ptr<Session>> two = open({{"ridge.shared_threads", "3"}}, 5);
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(threads_now().size(), with_one);
  EXPECT_TRUE(run_rows(**one, 3).ok() && run_rows(**two, 3).ok());

  Result<std::unique_ptr<Session>> own = open({}, 2);
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(threads_now().size(), with_one + 1) << "a session without the option has its own";
  Result<std::unique_ptr<Session>> other = open({{"ridge.shared_threads", "4"}});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("first session decides"), std::string::npos) << other.error().message;
}

TEST_F(EngineOption, ThreadsMayBeBoundToCpus) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = CPU_SETSIZE - 1;
  while (cpu > 0 && !CPU_ISSET(cpu, &allowed)) --cpu;
  const std::set<std::string> before = threads_now();
  Result<std::unique_ptr<Session>> session =
      open({{"session.intra_op_thread_affinities", std::to_string(cpu + 1)}}, 2);  // it counts from 1
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE(run_rows(**session, 1000).ok());
  auto bound = [&] {
    for (const std::string& thread : threads_now()) {
      cpu_set_t set;
      if (before.contains(thread) || sched_getaffinity(std::stoi(thread), sizeof set, &set) != 0) continue;
      if (CPU_COUNT(&set) == 1 && CPU_ISSET(cpu, &set)) return true;
    }
    return false;
  };
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one CPU: every thread is bound to it";
  while (!bound()) sched_yield();  // the thread binds itself when it begins
}

TEST_F(EngineOption, AnArenaKeepsToItsLimit) {
  Result<std::unique_ptr<Session>> session = open({{"ridge.arena.max_mem", "1048576"}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE(run_rows(**session, 1000).ok());
  Status larger = run_rows(**session, 200000);  // relu's result takes 3.2 MB
  ASSERT_FALSE(larger.ok());
  EXPECT_EQ(larger.error().code, Code::kExhausted) << larger.error().message;

  Result<std::unique_ptr<Session>> other = open({{"ridge.arena.max_mem", "4194304"}});
  ASSERT_FALSE(other.ok()) << "one arena for all";
  Result<std::unique_ptr<Session>> own = open({});
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(run_rows(**own, 200000).ok()) << "a session without the option has its own";
}

TEST_F(EngineOption, MemoryMayBeGivenBackAfterEachRun) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer keeps freed memory";
#endif
  constexpr int64_t kRows = 4 << 20;  // of 16 bytes: 64 MiB for relu's result
  constexpr int64_t kHeld = 48 << 20;
  ASSERT_TRUE(run_rows(**open({}), kRows).ok());  // the test's own memory is allocated now
  Result<std::unique_ptr<Session>> keeps = open({});
  ASSERT_TRUE(keeps.ok());
  int64_t before = resident_bytes();
  ASSERT_TRUE(run_rows(**keeps, kRows).ok());
  EXPECT_GT(resident_bytes() - before, kHeld);
  keeps->reset();

  Result<std::unique_ptr<Session>> gives = open({{"memory.enable_memory_arena_shrinkage", "cpu:0"}});
  ASSERT_TRUE(gives.ok()) << gives.error().message;
  before = resident_bytes();
  ASSERT_TRUE(run_rows(**gives, 1).ok());  // its first memory stays
  ASSERT_TRUE(run_rows(**gives, kRows).ok());
  EXPECT_LT(resident_bytes() - before, kHeld);
}

TEST_F(EngineOption, AnOpenDimensionMayBeFixed) {
  Result<std::unique_ptr<Session>> session = open({{"ridge.dimension.n", "3"}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ((*session)->signature().inputs[0].shape, (Shape{3, 4}));
  EXPECT_TRUE(run_rows(**session, 3).ok());
}

TEST_F(EngineOption, OneOfOursThatIsNotKnownIsAnError) {
  Result<std::unique_ptr<Session>> session = open({{"ridge.no_such", "1"}});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
