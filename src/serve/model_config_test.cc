// Configurations from text to settings: config_text, config_json, config_check, config_complete and
// settings_from_config together, as the loader uses them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "model_config.pb.h"
#include "serve/test_config.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

const Signature kFixed = {{{"x", DataType::kFp32, {1, 3}}}, {{"y", DataType::kFp32, {-1, 10}}}};

TEST(ConfigText, AcceptsTheFormsOfProtobufText) {
  auto config = parse_config_text(R"(
    # a comment
    name: 'm' max_batch_size: 8,
    input { name: "x" "y"; data_type: TYPE_FP32 dims: [ 3, -1 ] }
    output: [ { name: "a" data_type: TYPE_STRING dims: 1 dims: 2 } ]
    parameters { key: "k" value: { string_value: "v" } }
    dynamic_batching: { }
  )",
                                  "m/config.pbtxt");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)->input(0).name(), "xy");
  EXPECT_EQ((*config)->output(0).dims_size(), 2);
}

TEST(ConfigText, NamesFileLineAndColumnOfTheFirstError) {
  auto unknown = parse_config_text("name: \"m\"\n  nonsense: 1\n", "m/config.pbtxt");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(contains(unknown.error().message, "m/config.pbtxt:2:")) << unknown.error().message;
  EXPECT_TRUE(contains(unknown.error().message, "nonsense"));
  EXPECT_FALSE(parse_config_text("input [ {", "f"));
  EXPECT_FALSE(parse_config_text("max_batch_size: 99999999999", "f"));
  EXPECT_FALSE(parse_config_text("input { data_type: TYPE_FLOAT }", "f"));
}

TEST(ConfigText, RefusesTextsThatTheWireCannotShow) {
  const auto config = parse_config_text(R"(parameters { key: "k" value { string_value: "a\377" } })", "m/config.pbtxt");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "m/config.pbtxt: a name or value in it is not UTF-8");
}

TEST(ConfigText, ReadsJsonWithIntegersAsStrings) {
  auto config = parse_config_json(
      R"({"maxBatchSize":"3","input":[{"name":"x","data_type":"TYPE_FP32","dims":["2",-1]}]})", "load");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)->max_batch_size(), 3);
  EXPECT_EQ((*config)->input(0).dims(1), -1);
  EXPECT_FALSE(parse_config_json("{broken", "load"));
  EXPECT_TRUE(contains(parse_config_json(R"({"no_such_field":1})", "load").error().message, "no_such_field"));
}

TEST(ConfigJson, MapsAreSortedAndNumbersThatJsonLacksAreProtobufsTexts) {
  std::string text = "sequence_batching { direct { minimum_slot_utilization: inf } }";
  for (int i = 9; i >= 0; --i) text += fmt::format(" metric_tags {{ key: \"k{}\" value: \"v\" }}", i);
  const auto config = parse_config_text(text, "m/config.pbtxt");
  ASSERT_TRUE(config);
  const Json json = config_to_json(**config);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["metric_tags"].items()) keys.push_back(key);
  EXPECT_EQ(keys.size(), 10u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(json["sequence_batching"]["direct"]["minimum_slot_utilization"], "Infinity");
  EXPECT_TRUE(parse_config_json(dump_json(json), "again"));
}

TEST(ConfigJson, PrintsSixtyFourBitIntegersAsNumbersAndEnumsAsNames) {
  Json json = completed_json(
      "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 100 preferred_batch_size: 4 } "
      "version_policy { specific { versions: 7 } }",
      kImage);
  EXPECT_EQ(json["input"][0]["dims"], Json::parse("[3,-1]"));
  EXPECT_EQ(json["input"][0]["data_type"], "TYPE_FP32");
  EXPECT_EQ(json["dynamic_batching"]["max_queue_delay_microseconds"], 100);
  EXPECT_EQ(json["version_policy"]["specific"]["versions"], Json::parse("[7]"));
  EXPECT_EQ(json["instance_group"][0]["kind"], "KIND_CPU");
  EXPECT_EQ(json["instance_group"][0]["count"], 1);
}

TEST(ConfigJson, PrintsDefaultsOfScalarsAndListsButNoUnsetMessages) {
  Json json = completed_json("max_batch_size: 8 parameters { key: \"k\" value { string_value: \"v\" } }", kImage);
  EXPECT_EQ(json["default_model_filename"], "model.onnx");
  EXPECT_EQ(json["input"][0]["optional"], false);
  EXPECT_EQ(json["input"][0]["allow_ragged_batch"], false);
  EXPECT_EQ(json["model_warmup"], Json::array());
  EXPECT_EQ(json["metric_tags"], Json::object());
  EXPECT_EQ(json["parameters"]["k"]["string_value"], "v");
  for (const char* unset : {"dynamic_batching", "sequence_batching", "ensemble_scheduling", "optimization",
                            "response_cache", "model_transaction_policy"})
    EXPECT_FALSE(json.contains(unset)) << unset;
  EXPECT_FALSE(json["input"][0].contains("reshape"));
}

TEST(CompleteConfig, AModelWithOpenFirstDimensionsIsBatched) {
  Json json = completed_json("", kImage);
  EXPECT_EQ(json["name"], "m");
  EXPECT_EQ(json["platform"], "onnxruntime_onnx");
  EXPECT_EQ(json["backend"], "onnxruntime");
  EXPECT_EQ(json["max_batch_size"], 4);
  EXPECT_TRUE(json.contains("dynamic_batching"));
  EXPECT_EQ(json["output"][0]["dims"], Json::parse("[10]"));
}

TEST(CompleteConfig, AModelWithAFixedFirstDimensionIsNot) {
  Json json = completed_json("", kFixed);
  EXPECT_EQ(json["max_batch_size"], 0);
  EXPECT_FALSE(json.contains("dynamic_batching"));
  EXPECT_EQ(json["input"][0]["dims"], Json::parse("[1,3]"));
}

TEST(CompleteConfig, WhatIsGivenStays) {
  Json json = completed_json("max_batch_size: 2 output { name: \"y\" label_filename: \"l.txt\" }", kImage);
  EXPECT_EQ(json["max_batch_size"], 2);
  EXPECT_FALSE(json.contains("dynamic_batching")) << "batching is completed only where max_batch_size is";
  EXPECT_EQ(json["output"][0]["data_type"], "TYPE_FP32");
  EXPECT_EQ(json["output"][0]["dims"], Json::parse("[10]"));
  EXPECT_EQ(json["output"][0]["label_filename"], "l.txt");
  Json unbatched = completed_json(
      "input { name: \"x\" data_type: TYPE_FP32 dims: [ -1, 3, 5 ] } "
      "output { name: \"y\" data_type: TYPE_FP32 dims: [ -1, 10 ] }",
      kImage);
  EXPECT_EQ(unbatched["max_batch_size"], 0);
}

TEST(ConfigText, SaysWhetherABatchSizeIsWritten) {
  EXPECT_TRUE(states_batch_size("name: \"m\" max_batch_size: 0"));
  EXPECT_FALSE(states_batch_size("name: \"m\""));
  EXPECT_TRUE(states_batch_size_in_json(R"({"maxBatchSize": 0})"));
  EXPECT_FALSE(states_batch_size_in_json(R"({"name": "m"})"));
}

TEST(CompleteConfig, WithoutBatchingRowsAreAnOpenFirstDimension) {
  const auto config = complete(
      "max_batch_size: 8 input { name: \"x\" reshape { shape: [ 3, -1 ] } dims: [ 3, 1, -1 ] } "
      "dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 9 priority_levels: 2 "
      "default_priority_level: 1 } parameters { key: \"ridge_queue_delay\" value { string_value: \"auto\" } }",
      kImage);
  ASSERT_TRUE(config) << config.error().message;
  const ConfigPtr alone = without_batching(**config);
  const Json json = config_to_json(*alone);
  EXPECT_EQ(json["max_batch_size"], 0);
  EXPECT_EQ(json["input"][0]["dims"], Json::parse("[-1,3,1,-1]"));
  EXPECT_EQ(json["input"][0]["reshape"]["shape"], Json::parse("[-1,3,-1]"));
  EXPECT_EQ(json["output"][0]["dims"], Json::parse("[-1,10]"));
  EXPECT_TRUE(check_config(*alone, "m"));
  const auto again = settings_of(*alone, kImage, 1, "", 1);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->queue.batch.merge);
  EXPECT_EQ(again->queue.levels.size(), 2u);
}

TEST(CompleteConfig, OutputsListedWithTheirBatchDimensionMeanNoBatching) {
  EXPECT_EQ(completed_json("output { name: \"y\" dims: [ -1, 10 ] }", kImage)["max_batch_size"], 0);
  EXPECT_EQ(completed_json("output { name: \"y\" dims: [ 10 ] }", kImage)["max_batch_size"], 4);
}

TEST(CompleteConfig, AScalarPerRowIsReshaped) {
  Signature signature = {{{"x", DataType::kInt64, {-1}}}, {{"y", DataType::kInt64, {-1}}}};
  Json json = completed_json("", signature);
  EXPECT_EQ(json["max_batch_size"], 4);
  EXPECT_EQ(json["input"][0]["dims"], Json::parse("[1]"));
  EXPECT_EQ(json["input"][0]["reshape"]["shape"], Json::array());
}

TEST(CompleteConfig, TensorsMustBeTheModels) {
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 input { name: \"z\" data_type: TYPE_FP32 dims: 3 }"), "input 'z'"));
  EXPECT_TRUE(
      contains(rejection("max_batch_size: 4 output { name: \"z\" data_type: TYPE_FP32 dims: 3 }"), "output 'z'"));
  EXPECT_TRUE(
      contains(rejection("max_batch_size: 4 input { name: \"x\" data_type: TYPE_INT8 dims: [ 3, -1 ] }"), "TYPE_INT8"));
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 output { name: \"y\" dims: [ 11 ] }"), "[-1,11]"));
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 output { name: \"y\" dims: [ -1 ] }"), "output 'y'"));
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 input { name: \"x\" dims: [ 3 ] }"), "input 'x'"));
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 input { name: \"x\" dims: [ 3, 0 ] }"), "at least 1"));
  EXPECT_TRUE(contains(rejection("output { name: \"y\" } output { name: \"y\" }"), "twice"));
  EXPECT_TRUE(contains(rejection("max_batch_size: 4", kFixed), "first dimension is not dynamic"));
  Signature two = kImage;
  two.inputs.push_back({"z", DataType::kInt64, {-1}});
  EXPECT_TRUE(contains(rejection("max_batch_size: 4 input { name: \"x\" }", two), "input 'z'"));
  EXPECT_TRUE(contains(rejection("output { name: \"y\" dims: [ 5 ] reshape { shape: [ 10 ] } }"), "reshape"));
}

TEST(CompleteConfig, AnInputMayBeOptionalIfTheModelHasAValueForIt) {
  Signature signature = {{{"x", DataType::kFp32, {4}}}, {{"y", DataType::kFp32, {4}}}, {{"b", DataType::kFp32, {4}}}};
  EXPECT_EQ(completed_json("", signature)["input"].size(), 1u) << "it is not offered unasked";
  const char* with = "input { name: \"b\" optional: true } input { name: \"x\" }";
  EXPECT_EQ(completed_json(with, signature)["input"][0]["dims"], Json::parse("[4]"));
  ModelSettings found = settings(with, signature);
  EXPECT_EQ(found.model_inputs, 2u);
  EXPECT_EQ(found.inputs[0].signature_index, 1);
  EXPECT_TRUE(contains(rejection("input { name: \"x\" optional: true }", signature), "cannot be optional"));
}

TEST(CompleteConfig, ANarrowerOpenDimensionIsAllowed) {
  EXPECT_EQ(completed_json("max_batch_size: 4 input { name: \"x\" dims: [ 3, 7 ] }", kImage)["input"][0]["dims"],
            Json::parse("[3,7]"));
}

TEST(CheckConfig, RefusesWhatCannotBeServedAndSaysWhatToDo) {
  for (const char* text :
       {"name: \"other\"",
        "backend: \"python\"",
        "platform: \"tensorflow_graphdef\"",
        "sequence_batching { iterative_sequence: true }",
        "sequence_batching { oldest { } }",
        "sequence_batching { oldest { max_candidate_sequences: 2 preserve_ordering: true } }",
        "max_batch_size: 2 sequence_batching { oldest { max_candidate_sequences: 2 preferred_batch_size: 3 } }",
        "sequence_batching { direct { minimum_slot_utilization: 1.5 } }",
        "sequence_batching { } response_cache { enable: true }",
        "sequence_batching { control_input { name: \"s\" } }",
        "sequence_batching { control_input { name: \"s\" control { fp32_false_true: [ 0 ] } } }",
        "sequence_batching { control_input { name: \"s\" control { fp32_false_true: [ 0, 1 ] int32_false_true: [ 0, 1 "
        "] } } }",
        "sequence_batching { control_input { name: \"s\" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 "
        "} } }",
        "model_transaction_policy { decoupled: true }",
        "response_cache { enable: true } dynamic_batching { preserve_ordering: true }",
        "instance_group { kind: KIND_CPU gpus: 0 }",
        "instance_group { kind: KIND_MODEL gpus: 0 }",
        "instance_group { kind: KIND_GPU gpus: -1 }",
        "backend: \"openvino\" instance_group { kind: KIND_GPU }",
        "instance_group { count: -1 }",
        "instance_group { count: 2000000000 }",
        "instance_group { count: 600 kind: KIND_GPU gpus: [ 0, 1 ] }",
        "max_batch_size: -1",
        "max_batch_size: 4 dynamic_batching { preferred_batch_size: 5 }",
        "dynamic_batching { priority_levels: 9999999999 default_priority_level: 1 }",
        "dynamic_batching { priority_levels: 2 }",
        "dynamic_batching { priority_queue_policy { key: 1 value { } } }",
        "input { name: \"x\" allow_ragged_batch: true }",
        "input { name: \"x\" is_shape_tensor: true }"})
    EXPECT_NE(rejection(text), "") << text;
  EXPECT_TRUE(contains(rejection("backend: \"python\""), "use backend: \"onnxruntime\""));
  EXPECT_EQ(rejection("backend: \"onnxruntime\" platform: \"onnxruntime_onnx\" response_cache { enable: false }"), "");
}

TEST(Settings, TheResponseCacheIsUsedWhereTheConfigurationEnablesIt) {
  EXPECT_FALSE(settings("").response_cache);
  EXPECT_TRUE(settings("response_cache { enable: true }").response_cache);
}

TEST(Settings, TheQueueDelayIsAdaptiveWhereTheParameterSaysSo) {
  const std::string automatic = "parameters { key: \"ridge_queue_delay\" value { string_value: \"auto\" } }";
  EXPECT_FALSE(settings("max_batch_size: 8 dynamic_batching { }").queue.batch.adaptive);
  EXPECT_TRUE(settings("max_batch_size: 8 dynamic_batching { } " + automatic).queue.batch.adaptive);
  auto alone = complete("max_batch_size: 8 " + automatic, kImage);
  ASSERT_TRUE(alone);
  EXPECT_EQ(settings_of(**alone, kImage, 1, "/nowhere", 100).error().code, Code::kInvalid);
}

TEST(Settings, BatchingAndQueuesComeFromDynamicBatching) {
  ModelSettings found = settings(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 500 "
      "preserve_ordering: true priority_levels: 2 default_priority_level: 2 "
      "default_queue_policy { max_queue_size: 5 default_timeout_microseconds: 18446744073709551615 } "
      "priority_queue_policy { key: 1 value { max_queue_size: 9 timeout_action: DELAY allow_timeout_override: true } } "
      "}");
  EXPECT_TRUE(found.queue.batch.merge);
  EXPECT_EQ(found.queue.batch.max_rows, 8);
  EXPECT_EQ(found.queue.batch.preferred, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(found.queue.batch.max_delay, std::chrono::microseconds(500));
  EXPECT_TRUE(found.preserve_ordering);
  ASSERT_EQ(found.queue.levels.size(), 2u);
  EXPECT_EQ(found.queue.levels[0].max_size, 9u);
  EXPECT_TRUE(found.queue.levels[0].delay_expired);
  EXPECT_TRUE(found.queue.levels[0].allow_timeout_override);
  EXPECT_EQ(found.queue.levels[1].max_size, 5u);
  EXPECT_GT(found.queue.levels[1].default_timeout, std::chrono::hours(1));
  EXPECT_EQ(found.queue.default_level, 1u);
  EXPECT_EQ(found.queue.size_limit, 100u);
}

TEST(Settings, WithoutDynamicBatchingRequestsRunAlone) {
  EXPECT_FALSE(settings("max_batch_size: 8").queue.batch.merge);
  EXPECT_FALSE(settings("dynamic_batching { }", kFixed).queue.batch.merge) << "a model that does not batch";
}

TEST(Settings, KnowWhereShapesAreFixed) {
  ModelSettings open = settings("max_batch_size: 8");
  EXPECT_FALSE(open.fixed_input_shapes);
  EXPECT_EQ(open.outputs[0].fixed_shape, (Shape{10}));
  EXPECT_TRUE(settings("max_batch_size: 8 input { name: \"x\" dims: [ 3, 7 ] }").fixed_input_shapes);
  EXPECT_FALSE(settings("", kFixed).outputs[0].fixed_shape);
}

TEST(Settings, InstancesAndTagsAndWarmup) {
  ModelSettings found = settings(
      "max_batch_size: 8 instance_group { count: 2 kind: KIND_CPU } instance_group { } "
      "metric_tags { key: \"b\" value: \"2\" } metric_tags { key: \"a\" value: \"1\" } "
      "model_warmup { name: \"w\" batch_size: 2 inputs { key: \"x\" value { data_type: TYPE_FP32 dims: [ 3, 5 ] "
      "random_data: true } } }");
  EXPECT_EQ(found.instances, 3);
  EXPECT_EQ(found.metric_tags[0], (std::pair<std::string, std::string>{"a", "1"}));
  ASSERT_EQ(found.warmup_samples.size(), 1u);
  EXPECT_EQ(found.warmup_samples[0].batch, 2);
  EXPECT_EQ(found.warmup_samples[0].inputs[0].data, WarmupTensor::Data::kRandom);
}

TEST(Settings, LabelAndWarmupFilesStayInsideTheModelsFolder) {
  auto config = complete("output { name: \"y\" label_filename: \"../secret\" }", kImage);
  ASSERT_TRUE(config);
  EXPECT_FALSE(settings_of(**config, kImage, 1, "/nowhere", 100));
}

}  // namespace
}  // namespace ridge::serve
