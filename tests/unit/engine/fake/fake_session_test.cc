#include "engine/fake/fake_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/fake_clock.h"
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
  EXPECT_TRUE(engine::open(plan).ok()) << "without a word the CPU";
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

TEST(FakeScript, OneValueStandsForAListOfOne) {
  const Result<Script> script = read_script(scripted({{"stall_runs", "3"}, {"devices", "cuda:1"}}));
  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_EQ(script->stall_runs, std::set<int64_t>{3});
  EXPECT_EQ(script->devices, std::set<std::string>{"cuda:1"});
  EXPECT_EQ(read_script(scripted({}))->devices, std::set<std::string>{"cpu"});
}

TEST(FakeScript, AnUnknownMemberOrTypeIsAnError) {
  EXPECT_FALSE(read_script(scripted({{"latency", "4"}})).ok());
  EXPECT_FALSE(read_script(scripted({{"latency_ms", "soon"}})).ok());
  EXPECT_FALSE(read_script(scripted({{"answer", "silence"}})).ok());
  EXPECT_FALSE(read_script(scripted({{"fail_runs", "\"all\""}})).ok());
  EXPECT_FALSE(read_script(scripted({{"inputs", R"([{"name":"x","type":"FP31","shape":[1]}])"}})).ok());
}

// Two threads of one model and two of another on two CPUs: a run beside the other takes twice as long.
TEST(FakeSession, RunsOnSharedCpusSlowEachOtherDown) {
  FakeClock clock;
  plan::Plan plan = scripted({{"latency_ms", "20"}, {"processors", "2"}});
  plan.threads = 2;
  auto one = engine::open(plan, clock), other = engine::open(plan, clock);
  ASSERT_TRUE(one.ok() && other.ok());
  auto took_ms = [&](Session& session) {
    const TimePoint begin = clock.now();
    Output output;
    EXPECT_TRUE(run_once(session, output).ok());
    return to_ms(clock.now() - begin);
  };
  EXPECT_EQ(took_ms(**one), 20) << "alone";
  std::vector<double> neighbours;
  std::jthread neighbour = clock.start([&] {
    for (int run = 0; run < 3; ++run) neighbours.push_back(took_ms(**other));
  });
  clock.sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(took_ms(**one), 40);
  clock.join(neighbour);
  EXPECT_EQ(neighbours, (std::vector<double>{20, 40, 20})) << "as each of them began";
}

// Two runs make progress at once; the third begins when the first of them ends.
TEST(FakeSession, ARunWaitsForAPlaceAmongThoseThatMakeProgress) {
  FakeClock clock;
  auto session = engine::open(scripted({{"latency_ms", "20"}, {"parallel", "2"}}), clock);
  ASSERT_TRUE(session.ok());
  const TimePoint begin = clock.now();
  std::vector<double> ended_ms;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i)
    callers.push_back(clock.start([&, i] {
      clock.sleep_for(std::chrono::milliseconds(5 * i));
      Output output;
      EXPECT_TRUE(run_once(**session, output).ok());
      ended_ms.push_back(to_ms(clock.now() - begin));
    }));
  for (std::jthread& caller : callers) clock.join(caller);
  EXPECT_EQ(ended_ms, (std::vector<double>{20, 25, 40}));
}

}  // namespace
}  // namespace ridge::engine::fake
