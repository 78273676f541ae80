#include "predict/engine_process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::predict {
namespace {

// A fake of the ridge program: a shell script.
class EngineProcessTest : public ::testing::Test {
 protected:
  std::string program(const std::string& body) {
    const std::string path = folder_.path() + "/program";
    EXPECT_TRUE(write_file_atomically(path, "#!/bin/sh\n" + body + "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  Result<EngineReport> ask(const std::string& body, const ChildLimits& limits = {.time = std::chrono::seconds(60)}) {
    plan::Plan plan;
    plan.model = "m.onnx";
    return ask_engine(plan, std::chrono::milliseconds(3), limits, program(body));
  }
  TemporaryFolder folder_ = *TemporaryFolder::make();
};

EngineReport some_report() { return {"onnxruntime", "1.31.1", {10, 11}, {100, 150}, {120, 160}, 7.5, 3, {.mean = 2}}; }

TEST(EngineReport, ComesBackAsItWas) {
  Result<EngineReport> back = from_json<EngineReport>(to_json(some_report()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(to_json(some_report())));
  EXPECT_EQ(back->loaded.peak, 150);
  EXPECT_FALSE(from_json<EngineReport>(Json{{"engine", "onnxruntime"}}));
}

TEST_F(EngineProcessTest, ReportsTheLastLineAndIsGivenVerbPlanAndMilliseconds) {
  Result<EngineReport> report =
      ask("echo what the engine prints by itself\n"
          "[ \"$1\" = engine-process ] && [ \"$3\" = 3 ] || exit 9\n"
          "case \"$2\" in *'\"model\":\"m.onnx\"'*) ;; *) exit 8 ;; esac\n"
          "echo '" +
          dump_json(to_json(some_report())) + "'");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->steady.peak, 160);
  EXPECT_EQ(report->version, "1.31.1");
}

TEST_F(EngineProcessTest, GivesTheReasonOfAFailure) {
  Result<EngineReport> report = ask("echo the model is damaged >&2; exit 3");
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("the model is damaged"), std::string::npos);
  EXPECT_FALSE(ask("echo no report"));
}

TEST_F(EngineProcessTest, EndsWithACrashTheTimeOrTheMemory) {
  EXPECT_EQ(ask("kill -SEGV $$").error().code, Code::kFailed);
  EXPECT_EQ(ask("exec sleep 60", {.time = std::chrono::milliseconds(100)}).error().code, Code::kTimeout);
  EXPECT_EQ(ask("exec tail /dev/zero", {.time = std::chrono::seconds(60), .memory_bytes = 100'000'000}).error().code,
            Code::kExhausted);
}

TEST(EngineProcess, RefusesWhatIsNoPlan) {
  const std::vector<std::string> nothing, wrong = {"{}", "3"}, runs = {R"({"model": "m.onnx"})", "some"};
  for (const std::vector<std::string>& arguments : {nothing, wrong, runs}) EXPECT_EQ(engine_process(arguments), 3);
}

}  // namespace
}  // namespace ridge::predict
