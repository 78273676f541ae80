#include "engine/engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/own_format.h"

namespace ridge::engine {
namespace {

TEST(Engines, BeginWithTheDefaultOfPlans) { EXPECT_EQ(known().front().name, plan::Plan{}.engine); }

TEST(Engines, AreWholeRowsWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Engine& engine : known()) {
    EXPECT_TRUE(names.insert(engine.name).second) << engine.name;
    EXPECT_FALSE(engine.label.empty()) << engine.name;
    EXPECT_FALSE(engine.devices.empty()) << engine.name;
    EXPECT_NE(engine.open, nullptr) << engine.name;
    EXPECT_NE(engine.find, nullptr) << engine.name;
    EXPECT_NE(engine.parameters, nullptr) << engine.name;
    EXPECT_EQ(named(engine.backend).backend, engine.backend) << engine.name << ": ridge serves what it writes";
    for (const Ability& ability : engine.abilities)
      EXPECT_TRUE(runs_on(engine, ability.device)) << engine.name << " " << ability.variant;
  }
}

TEST(Engines, OfferTheModelAsGivenOnEveryDeviceThatHasVariants) {
  for (const Engine& engine : known())
    for (const Ability& ability : engine.abilities)
      EXPECT_NE(ability_of(engine, "fp32", ability.device), nullptr) << engine.name;
}

TEST(Engines, AnUnknownNameIsAnsweredByThoseThatUsersHave) {
  EXPECT_TRUE(check_name("fake"));
  const std::string typo = check_name("openvin").error().message;
  EXPECT_NE(typo.find("did you mean 'openvino'"), std::string::npos) << typo;
  EXPECT_EQ(typo.find("fake"), std::string::npos) << typo;
  EXPECT_NE(check_name("tensorrt").error().message.find("--device tensorrt:0"), std::string::npos);
}

TEST(Engines, ANamedLibraryThatIsNoneIsKnownBeforeAModelIsOpened) {
  EXPECT_TRUE(check_library("onnxruntime", "").ok());
  EXPECT_EQ(check_library("onnxruntime", "/dev/null").error().code, Code::kNotFound);
  EXPECT_TRUE(check_library("fake", "/dev/null").ok()) << "it has no library";
}

TEST(Engines, OfAnUnknownNameIsARowInWhichNothingHolds) {
  const Engine& engine = named("none such");
  EXPECT_TRUE(engine.name.empty());
  EXPECT_FALSE(engine.has_providers || engine.takes_precision || engine.writes_graph || engine.pools_threads);
  EXPECT_FALSE(runs_on(engine, plan::DeviceKind::kCpu));
  plan::Plan plan;
  plan.engine = "none such";
  EXPECT_EQ(open(plan).error().code, Code::kInvalid);
  EXPECT_EQ(find_engine(plan).error().code, Code::kInvalid);
}

TEST(Engines, WithoutANameAreChosenByDeviceAndNeverThoseForTests) {
  EXPECT_EQ(usual_for(plan::DeviceKind::kCpu).name, "onnxruntime");
  EXPECT_EQ(usual_for(plan::DeviceKind::kTensorRt).name, "onnxruntime");
  EXPECT_EQ(usual_for(plan::DeviceKind::kGpu).name, "openvino");
  EXPECT_EQ(first_that(&Engine::takes_precision).name, "openvino") << "the fake engine does too";
}

TEST(Engines, AFileOfAnOwnFormatIsForItsEngineAlone) {
  EXPECT_EQ(owner_of("model.onnx"), nullptr);
  EXPECT_EQ(owner_of("model"), nullptr);
  ASSERT_NE(owner_of("a/model.xml"), nullptr);
  EXPECT_EQ(owner_of("a/model.xml")->name, "openvino");
  EXPECT_EQ(engine_for("model.onnx", "").value(), plan::kUsualEngine);
  EXPECT_EQ(engine_for("model.onnx", "openvino").value(), "openvino");
  EXPECT_EQ(engine_for("model.xml", "").value(), "openvino");
  EXPECT_NE(engine_for("model.xml", "onnxruntime").error().message.find("own format"), std::string::npos);
  EXPECT_EQ(engine_for("model.xml", "nothing").error().code, Code::kInvalid);
}

TEST(Engines, ReadTheAcceleratorsThatTheyWrite) {
  plan::Plan measured;
  measured.device = "tensorrt:1";
  measured.options = {{"cuda.prefer_nhwc", "1"}, {"session.disable_prepacking", "1"}, {"tensorrt.trt_x", "2"}};
  for (const Engine& engine : known()) {
    if (!runs_on(engine, plan::DeviceKind::kTensorRt)) continue;
    plan::Plan read;
    read.device = "cuda:1";  // as instance_group says it
    ASSERT_TRUE(engine.read_accelerators(engine.accelerators(measured), {}, read)) << engine.name;
    for (const auto& [key, value] : engine.parameters(measured))
      EXPECT_TRUE(engine.read_parameter(key, value, read).value()) << key;
    EXPECT_EQ(read.device, measured.device) << engine.name;
    EXPECT_EQ(read.options, measured.options) << engine.name;
  }
}

}  // namespace
}  // namespace ridge::engine
