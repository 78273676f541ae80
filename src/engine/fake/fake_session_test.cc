#include "engine/fake/fake_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "engine/fake/script.h"

namespace ridge::engine::fake {
namespace {

plan::Plan scripted(std::map<std::string, std::string> options) {
  plan::Plan plan;
  plan.engine = "fake";
  plan.options = std::move(options);
  return plan;
}

struct Row {
  std::array<float, 16> values{};
  TensorView view() const { return {DataType::kFp32, {1, 16}, std::as_bytes(std::span(values))}; }
};

Status run_once(Session& session, Output& output, RunTimes* times = nullptr) {
  Row row;
  row.values[3] = 7;
  const TensorView input = row.view();
  const int wanted = 0;
  return session.run({&input, 1}, {&wanted, 1}, {&output, 1}, times);
}

TEST(FakeSession, EchoesItsInput) {
  auto session = engine::open(scripted({}));
  ASSERT_TRUE(session.ok()) << session.error().message;
  Output output;
  ASSERT_TRUE(run_once(**session, output).ok());
  EXPECT_EQ(output.shape, (Shape{1, 16}));
  float value = 0;
  std::memcpy(&value, output.data.data() + 3 * sizeof(float), sizeof value);
  EXPECT_EQ(value, 7);
}

TEST(FakeSession, WritesAConstantIntoTheCallersMemory) {
  auto session = engine::open(scripted({{"answer", "constant"}, {"value", "2.5"}}));
  ASSERT_TRUE(session.ok());
  std::array<float, 16> memory{};
  Output output{DataType::kFp32, {1, 16}, std::as_writable_bytes(std::span(memory)), nullptr};
  ASSERT_TRUE(run_once(**session, output).ok());
  EXPECT_EQ(memory[15], 2.5f);
  EXPECT_EQ(output.owner, nullptr);
}

TEST(FakeSession, FailsTheRunsItIsToldTo) {
  auto session = engine::open(scripted({{"fail_runs", "[2]"}}));
  ASSERT_TRUE(session.ok());
  Output first, second, third;
  EXPECT_TRUE(run_once(**session, first).ok());
  EXPECT_FALSE(run_once(**session, second).ok());
  EXPECT_TRUE(run_once(**session, third).ok());
}

TEST(FakeSession, FailsToLoadWithTheScriptsMessage) {
  auto session = engine::open(scripted({{"fail_load", "no such weights"}}));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().message, "no such weights");
}

TEST(FakeSession, OpensOnTheDevicesThatTheScriptHasAlone) {
  plan::Plan plan = scripted({{"devices", "[\"cuda:0\", \"cuda:1\"]"}});
  plan.device = "cuda:1";
  auto session = engine::open(plan);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ((*session)->info().device, "cuda:1");
  plan.device = "cpu";
  EXPECT_FALSE(engine::open(plan).ok());
  plan.options.clear();
  EXPECT_TRUE(engine::open(plan).ok()) << "without a word the processor";
  plan.device = "cuda:0";
  EXPECT_FALSE(engine::open(plan).ok());
}

TEST(FakeSession, TakesAtLeastItsLatency) {
  auto session = engine::open(scripted({{"latency_ms", "5"}}));
  ASSERT_TRUE(session.ok());
  Output output;
  RunTimes times;
  ASSERT_TRUE(run_once(**session, output, &times).ok());
  EXPECT_GE(times.compute, std::chrono::milliseconds(5));
}

TEST(FakeScript, LatencyFollowsRowsThreadsJitterAndStalls) {
  Script script;
  script.latency_ms = 2;
  script.latency_ms_per_row = 1;
  EXPECT_DOUBLE_EQ(latency_ms(script, 1, 8, 1), 10);
  script.serial_share = 0.5;
  EXPECT_DOUBLE_EQ(latency_ms(script, 1, 8, 2), 7.5);
  script.stall_runs = {3};
  script.stall_ms = 100;
  EXPECT_DOUBLE_EQ(latency_ms(script, 3, 8, 2), 107.5);
  script.jitter_ms = 1;
  EXPECT_EQ(latency_ms(script, 1, 8, 2), latency_ms(script, 1, 8, 2));
  EXPECT_NE(latency_ms(script, 1, 8, 2), latency_ms(script, 2, 8, 2));
}

TEST(FakeScript, IsReadFromAFileAndOptionsWin) {
  std::string path = testing::TempDir() + "/script" + std::to_string(getpid()) + ".fake.json";
  ASSERT_TRUE(write_file_atomically(
                  path, R"({"inputs":[{"name":"ids","type":"INT64","shape":[-1]}],"latency_ms":3,"load_ms":1})")
                  .ok());
  plan::Plan plan = scripted({{"latency_ms", "4"}});
  plan.model = path;
  Result<Script> script = read_script(plan);
  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_EQ(script->signature.inputs[0].name, "ids");
  EXPECT_DOUBLE_EQ(script->latency_ms, 4);
  EXPECT_DOUBLE_EQ(script->load_ms, 1);
}

TEST(FakeScript, AnUnknownMemberOrTypeIsAnError) {
  EXPECT_FALSE(read_script(scripted({{"latency", "4"}})).ok());
  EXPECT_FALSE(read_script(scripted({{"latency_ms", "soon"}})).ok());
  EXPECT_FALSE(read_script(scripted({{"inputs", R"([{"name":"x","type":"FP31","shape":[1]}])"}})).ok());
}

// Two threads of one model and two of another on two processors: each run that begins beside the other takes twice as long. Of several
// runs: what else the machine does makes a run longer at any time, never shorter.
TEST(FakeSession, RunsOnSharedProcessorsSlowEachOtherDown) {
  plan::Plan plan = scripted({{"latency_ms", "20"}, {"processors", "2"}});
  plan.threads = 2;
  auto one = engine::open(plan), other = engine::open(plan);
  ASSERT_TRUE(one.ok() && other.ok());
  auto took_ms = [](Session& session) {
    const TimePoint begin = SteadyClock::now();
    Output output;
    EXPECT_TRUE(run_once(session, output).ok());
    return to_ms(SteadyClock::now() - begin);
  };
  std::array<double, 5> alone_ms, beside_ms;
  for (double& ms : alone_ms) ms = took_ms(**one);
  EXPECT_LT(*std::min_element(alone_ms.begin(), alone_ms.end()), 35) << "alone";
  {
    std::atomic<int> runs = 0;
    std::jthread neighbour([&](const std::stop_token& stop) {
      for (; !stop.stop_requested(); ++runs) took_ms(**other);
    });
    while (runs == 0) std::this_thread::yield();
    for (double& ms : beside_ms) ms = took_ms(**one);
  }
  std::sort(beside_ms.begin(), beside_ms.end());
  EXPECT_GE(beside_ms[2], 40) << "hardly any begins between two runs of the neighbour";
}

}  // namespace
}  // namespace ridge::engine::fake
