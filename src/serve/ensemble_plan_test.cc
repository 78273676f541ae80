#include "serve/ensemble_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "serve/config_complete.h"
#include "serve/config_text.h"
#include "serve/ensemble_config.h"

namespace ridge::serve {
namespace {

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Steps = std::vector<EnsembleStepMaps>;

// Error of an ensemble with input "in" and output "out".
std::string plan_error(const Steps& steps) {
  const std::vector<std::string> inputs = {"in"}, outputs = {"out"};
  auto plan = plan_ensemble(inputs, outputs, steps);
  return plan ? "" : plan.error().message;
}

TEST(EnsemblePlan, FollowsTensorsFromTheClientThroughTheSteps) {
  const std::vector<std::string> inputs = {"in", "side"}, outputs = {"out", "mid"};
  auto plan =
      plan_ensemble(inputs, outputs,
                    {{"b", 7, {{"x", "mid"}, {"z", "side"}}, {{"y", "out"}}}, {"a", 0, {{"x", "in"}}, {{"y", "mid"}}}});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->tensors.size(), 4u);
  EXPECT_EQ(plan->tensors[0].name, "in");
  EXPECT_FALSE(plan->tensors[0].from);
  EXPECT_EQ(plan->tensors[0].to, std::vector<size_t>{1});
  EXPECT_EQ(plan->tensors[3].name, "mid");
  EXPECT_EQ(plan->tensors[3].from, std::optional<size_t>(1));
  EXPECT_EQ(plan->tensors[3].to, std::vector<size_t>{0});
  EXPECT_EQ(plan->outputs, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(plan->steps[0].version, 7);
}

TEST(EnsemblePlan, NamesWhatDoesNotFitTogether) {
  const EnsembleStepMaps a = {"a", 0, {{"x", "in"}}, {{"y", "out"}}};
  EXPECT_EQ(plan_error({a}), "");
  EXPECT_TRUE(has_part(plan_error({}), "at least one step"));
  EXPECT_TRUE(has_part(plan_error({{"", 0, {{"x", "in"}}, {{"y", "out"}}}}), "step 0 of ensemble_scheduling"));
  EXPECT_TRUE(has_part(plan_error({{"a", -2, {{"x", "in"}}, {{"y", "out"}}}}), "found -2"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {}, {{"y", "out"}}}}), "step 0 (model 'a') needs an input_map"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {{"x", "in"}}, {}}}), "needs an output_map"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {{"x", ""}}, {{"y", "out"}}}}), "maps 'x' to ''"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {{"x", "in"}, {"z", "what"}}, {{"y", "out"}}}}), "takes tensor 'what'"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {{"x", "in"}}, {{"y", "mid"}}}}), "output 'out' is given by no step"));
  EXPECT_TRUE(has_part(plan_error({{"a", 0, {{"x", "in"}}, {{"y", "out"}, {"z", "rest"}}}}),
                       "tensor 'rest' of step 0 (model 'a') is used by no step"));
  EXPECT_TRUE(has_part(plan_error({a, {"b", 0, {{"x", "in"}}, {{"y", "out"}}}}),
                       "tensor 'out' is given by step 1 (model 'b') and is given by step 0 (model 'a')"));
  EXPECT_TRUE(has_part(plan_error({a, {"b", 0, {{"x", "out"}}, {{"y", "in"}}}}), "an input of the ensemble"));
  const std::vector<std::string> inputs = {"in", "more"}, outputs = {"out"}, both = {"in", "out"},
                                 twice = {"out", "out"};
  EXPECT_TRUE(has_part(plan_ensemble(inputs, outputs, {a}).error().message, "input 'more' is used by no step"));
  EXPECT_TRUE(has_part(plan_ensemble(both, both, {a}).error().message, "'out'"));
  EXPECT_TRUE(has_part(plan_ensemble({&inputs[0], 1}, both, {a}).error().message, "'in' is an input"));
  EXPECT_TRUE(has_part(plan_ensemble({&inputs[0], 1}, twice, {a}).error().message, "output 'out' is configured twice"));
}

TEST(EnsemblePlan, ACycleIsNamedStepByStep) {
  const std::string error = plan_error({{"behind", 0, {{"x", "q"}}, {{"y", "out"}}},
                                        {"a", 0, {{"x", "in"}, {"z", "q"}}, {{"y", "p"}}},
                                        {"b", 0, {{"x", "p"}}, {{"y", "q"}}}});
  EXPECT_TRUE(has_part(error, "step 1 (model 'a') → step 2 (model 'b')") ||
              has_part(error, "step 2 (model 'b') → step 1 (model 'a')"))
      << error;
  EXPECT_FALSE(has_part(error, "behind")) << error;
  EXPECT_NE(plan_error({{"a", 0, {{"x", "in"}, {"z", "out"}}, {{"y", "out"}}}}), "");
}

// True if all steps run when each waits for the names that it takes. Slow, and by names alone.
bool all_run(const Steps& steps) {
  std::set<std::string> there = {"in"};
  std::set<size_t> done;
  for (size_t round = 0; round < steps.size(); ++round)
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto is_there = [&](const auto& use) { return there.contains(use.second); };
      if (!std::all_of(steps[i].inputs.begin(), steps[i].inputs.end(), is_there)) continue;
      done.insert(i);
      for (const auto& [of_model, name] : steps[i].outputs) there.insert(name);
    }
  return done.size() == steps.size();
}

TEST(EnsemblePlan, OfManyRandomStepsThoseThatCanRunAreAccepted) {
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  size_t accepted = 0, circles = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    Steps steps(1 + below(5));
    std::vector<std::string> names = {"in"};
    for (size_t i = 0; i < steps.size(); ++i) {  // each gives one tensor that is its own, seldom another's
      steps[i].model = "m" + std::to_string(i);
      const size_t given = below(30) == 0 ? below(steps.size()) : i;
      names.push_back(given + 1 == steps.size() ? "out" : "t" + std::to_string(given));
      steps[i].outputs = {{"y", names.back()}};
    }
    for (size_t i = 0; i < steps.size(); ++i) {  // mostly of steps before it
      const size_t count = 1 + below(2);
      for (size_t k = 0; k < count; ++k)
        steps[i].inputs.emplace_back("x" + std::to_string(k), names[below(below(4) == 0 ? names.size() : i + 1)]);
    }
    const std::string error = plan_error(steps);
    if (error.empty()) {
      EXPECT_TRUE(all_run(steps));
      ++accepted;
    } else if (has_part(error, "in a circle")) {
      EXPECT_FALSE(all_run(steps)) << error;
      ++circles;
    }
  }
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(circles, 500u);
}

TensorSettings tensor_of_model(const std::string& name, Shape dims, DataType type = DataType::kFp32) {
  TensorSettings settings;
  settings.name = name;
  settings.type = type;
  settings.dims = std::move(dims);
  return settings;
}

ModelSettings model_with(const std::string& name, int64_t batch, std::vector<TensorSettings> inputs,
                         std::vector<TensorSettings> outputs) {
  ModelSettings settings;
  settings.name = name;
  settings.max_batch_size = batch;
  settings.inputs = std::move(inputs);
  settings.outputs = std::move(outputs);
  return settings;
}

// Error of the ensemble in → a → mid → b → out.
std::string models_error(const ModelSettings& ensemble, const ModelSettings& a, const ModelSettings& b) {
  const std::vector<std::string> inputs = {"in"}, outputs = {"out"};
  const auto plan = plan_ensemble(inputs, outputs,
                                  {{"a", 0, {{"x", "in"}}, {{"y", "mid"}}}, {"b", 0, {{"x", "mid"}}, {{"y", "out"}}}});
  const std::vector<const ModelSettings*> models = {&a, &b};
  const Status fits = check_models(ensemble, *plan, models);
  return fits ? "" : fits.error().message;
}

TEST(EnsemblePlan, TypesAndShapesOfTheModelsHaveToAgree) {
  const ModelSettings e = model_with("e", 4, {tensor_of_model("in", {2})}, {tensor_of_model("out", {2})});
  const ModelSettings m = model_with("m", 8, {tensor_of_model("x", {2})}, {tensor_of_model("y", {2})});
  EXPECT_EQ(models_error(e, m, m), "");
  EXPECT_EQ(models_error(e, m, model_with("open", 8, {tensor_of_model("x", {-1})}, {tensor_of_model("y", {-1})})), "");
  EXPECT_EQ(
      models_error(e, m, model_with("whole", 0, {tensor_of_model("x", {-1, 2})}, {tensor_of_model("y", {-1, 2})})), "");
  EXPECT_TRUE(has_part(models_error(e, m, model_with("b", 8, {tensor_of_model("x", {3})}, {tensor_of_model("y", {2})})),
                       "tensor 'mid' is FP32 [-1,2] as 'y' of 'm', but FP32 [-1,3] as 'x' of 'b'"));
  EXPECT_TRUE(has_part(
      models_error(e, m,
                   model_with("b", 8, {tensor_of_model("x", {2}, DataType::kInt32)}, {tensor_of_model("y", {2})})),
      "INT32"));
  EXPECT_TRUE(has_part(
      models_error(e, m, model_with("b", 8, {tensor_of_model("x", {2})}, {tensor_of_model("y", {2}, DataType::kFp64)})),
      "tensor 'out'"));
  EXPECT_TRUE(has_part(models_error(e, model_with("small", 2, m.inputs, m.outputs), m), "max_batch_size is 2"));
  EXPECT_TRUE(has_part(models_error(e, m, model_with("b", 8, {tensor_of_model("z", {2})}, {tensor_of_model("y", {2})})),
                       "'z' is missing"));
  EXPECT_TRUE(has_part(models_error(e, m, model_with("b", 8, {tensor_of_model("x", {2})}, {tensor_of_model("z", {2})})),
                       "no output 'y'"));
}

TEST(EnsemblePlan, OptionalInputsMayBeLeftOutWhereTheModelAllowsIt) {
  ModelSettings e = model_with("e", 4, {tensor_of_model("in", {2})}, {tensor_of_model("out", {2})});
  ModelSettings m =
      model_with("m", 8, {tensor_of_model("x", {2}), tensor_of_model("extra", {2})}, {tensor_of_model("y", {2})});
  m.inputs[1].optional = true;
  EXPECT_EQ(models_error(e, m, m), "");
  e.inputs[0].optional = true;
  EXPECT_TRUE(has_part(models_error(e, m, m), "'in' cannot be optional"));
  m.inputs[0].optional = true;
  EXPECT_EQ(models_error(e, m, m), "");
}

TEST(EnsemblePlan, ABatchOfOneGainsOrLosesItsDimensionBetweenModels) {
  const ModelSettings batching = model_with("b", 4, {tensor_of_model("x", {2})}, {}),
                      whole = model_with("w", 0, {tensor_of_model("x", {2})}, {});
  EXPECT_EQ(shape_for(batching, batching.inputs[0], {2}, false), (Shape{1, 2}));
  EXPECT_EQ(shape_for(batching, batching.inputs[0], {3, 2}, false), (Shape{3, 2}));
  EXPECT_EQ(shape_for(whole, whole.inputs[0], {1, 2}, true), (Shape{2}));
  EXPECT_EQ(shape_for(whole, whole.inputs[0], {3, 2}, true), (Shape{3, 2}));
  EXPECT_EQ(shape_for(batching, batching.inputs[0], {1, 2}, true), (Shape{1, 2}));
}

const std::string kTensors =
    "input { name: \"in\" data_type: TYPE_FP32 dims: 2 } output { name: \"out\" data_type: TYPE_FP32 dims: 2 } ";
const std::string kStep =
    "ensemble_scheduling { step { model_name: \"a\" model_version: -1 input_map { key: \"x\" value: \"in\" } "
    "output_map { key: \"y\" value: \"out\" } } }";

std::string config_error(const std::string& text) {
  auto config = parse_config_text(text, "m/config.pbtxt");
  if (!config) return config.error().message;
  const Status valid = check_config(**config, "m");
  return valid ? "" : valid.error().message;
}

TEST(EnsembleConfig, NamesWhatAnEnsembleCannotHave) {
  EXPECT_EQ(config_error("platform: \"ensemble\" max_batch_size: 4 " + kTensors + kStep), "");
  EXPECT_EQ(config_error(kTensors + kStep), "");
  EXPECT_TRUE(has_part(config_error("platform: \"ensemble\" " + kTensors), "needs ensemble_scheduling"));
  EXPECT_TRUE(has_part(config_error("platform: \"onnxruntime_onnx\" " + kTensors + kStep), "onnxruntime_onnx"));
  EXPECT_TRUE(has_part(config_error("backend: \"onnxruntime\" " + kTensors + kStep), "no backend"));
  EXPECT_TRUE(has_part(config_error("name: \"other\" " + kTensors + kStep), "'other'"));
  for (const char* part : {"instance_group { count: 2 }", "optimization { }", "model_warmup { }", "max_batch_size: -1"})
    EXPECT_NE(config_error(part + kTensors + kStep), "") << part;
  EXPECT_TRUE(has_part(config_error(kStep), "there is no input"));
  EXPECT_TRUE(has_part(config_error("input { name: \"in\" dims: 2 } output { name: \"out\" } " + kStep), "data_type"));
  EXPECT_TRUE(has_part(config_error("input { name: \"in\" data_type: TYPE_FP32 } output { name: \"out\" } " + kStep),
                       "needs dims"));
  EXPECT_TRUE(has_part(config_error("input { name: \"q\" data_type: TYPE_FP32 dims: 2 } " + kTensors + kStep), "'q'"));
}

TEST(EnsembleConfig, IsReadWithItsTensorsAndStepsAndCompleted) {
  auto config = parse_config_text("max_batch_size: 4 metric_tags { key: \"k\" value: \"v\" } " + kTensors + kStep, "");
  ASSERT_TRUE(config);
  auto read = read_ensemble(**config, "m", 3, "/nowhere");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->settings.name, "m");
  EXPECT_EQ(read->settings.version, 3);
  EXPECT_EQ(read->settings.platform, "ensemble");
  EXPECT_EQ(read->settings.max_batch_size, 4);
  EXPECT_EQ(read->settings.inputs[0].dims, (Shape{2}));
  EXPECT_EQ(read->settings.outputs[0].fixed_shape, (Shape{2}));
  EXPECT_EQ(read->plan.steps[0].version, 0);
  EXPECT_EQ(models_of_steps(**config), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace ridge::serve
