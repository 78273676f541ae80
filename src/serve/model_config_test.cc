// Configurations from text to settings: config_text, config_json, config_check, config_complete, settings_from_config
// and engine_parameters together, as the loader uses them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "model_config.pb.h"
#include "serve/config_complete.h"
#include "serve/config_json.h"
#include "serve/config_text.h"
#include "serve/engine_parameters.h"
#include "serve/instance_groups.h"
#include "serve/settings_from_config.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using engine::Signature;

const Signature kImage = {{{"x", DataType::kFp32, {-1, 3, -1}}}, {{"y", DataType::kFp32, {-1, 10}}}};
const Signature kFixed = {{{"x", DataType::kFp32, {1, 3}}}, {{"y", DataType::kFp32, {-1, 10}}}};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result<ConfigPtr> complete(const std::string& text, const Signature& signature) {
  RIDGE_ASSIGN(ConfigPtr config, parse_config_text(text, "m/config.pbtxt"));
  RIDGE_TRY(check_config(*config, "m"));
  return complete_config(*config, "m", signature);
}

Json completed_json(const std::string& text, const Signature& signature) {
  auto config = complete(text, signature);
  if (!config) ADD_FAILURE() << config.error().message;
  return config ? config_to_json(**config) : Json();
}

std::string rejection(const std::string& text, const Signature& signature = kImage) {
  auto config = complete(text, signature);
  return config ? "" : config.error().message;
}

ModelSettings settings(const std::string& text, const Signature& signature = kImage) {
  auto config = complete(text, signature);
  if (!config) ADD_FAILURE() << config.error().message;
  auto result = settings_of(**config, signature, 1, "/nowhere", 100);
  if (!result) ADD_FAILURE() << result.error().message;
  return *result;
}

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
        "instance_group { rate_limiter { resources { count: 1 } } }",
        "instance_group { rate_limiter { resources { name: \"R\" } } }",
        "instance_group { rate_limiter { resources { name: \"R\" count: 1 } resources { name: \"R\" count: 2 } } }",
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

TEST(Settings, EachInstanceHasTheResourcesOfItsGroupOnItsDevice) {
  EXPECT_TRUE(settings("instance_group { count: 2 rate_limiter { priority: 3 } }").rate_limits.empty());
  const std::vector<RateLimit> limits =
      settings(
          "instance_group { count: 2 kind: KIND_CPU rate_limiter { resources [ { name: \"R\" count: 4 }, "
          "{ name: \"G\" global: true count: 1 } ] priority: 2 } } instance_group { kind: KIND_GPU gpus: [ 0, 3 ] "
          "rate_limiter { resources { name: \"R\" count: 5 } } } instance_group { kind: KIND_CPU }")
          .rate_limits;
  ASSERT_EQ(limits.size(), 5u);
  EXPECT_EQ(limits[1].priority, 2u);
  ASSERT_EQ(limits[1].resources.size(), 2u);
  EXPECT_EQ(limits[1].resources[0].name, "R");
  EXPECT_EQ(limits[1].resources[0].count, 4u);
  EXPECT_EQ(limits[1].resources[0].device, std::optional(0));
  EXPECT_EQ(limits[1].resources[1].device, std::nullopt);
  EXPECT_EQ(limits[3].resources[0].device, std::optional(3));
  EXPECT_EQ(limits[3].priority, 1u);
  EXPECT_TRUE(limits[4].resources.empty());
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

// "cuda:0 cuda:1": the instances' devices on a machine with these GPUs.
std::string places(const std::string& groups, const std::vector<int>& gpus) {
  auto config = parse_config_text(groups, "f");
  std::string text;
  for (const plan::Device& device : devices_of(*place_instances(**config, gpus)))
    text += (text.empty() ? "" : " ") + plan::device_name(device);
  return text;
}

TEST(InstanceGroups, OfKindGpuAreOnTheGpusThatTheyListOrOnAll) {
  EXPECT_EQ(places("instance_group { kind: KIND_GPU count: 2 gpus: [ 1, 0 ] }", {0, 1, 2}),
            "cuda:1 cuda:1 cuda:0 cuda:0");
  EXPECT_EQ(places("instance_group { kind: KIND_GPU }", {0, 2}), "cuda:0 cuda:2");
  EXPECT_EQ(places("instance_group { kind: KIND_GPU }", {}), "cuda:0") << "which then says why it cannot be used";
  EXPECT_EQ(places("instance_group { kind: KIND_GPU gpus: 7 }", {0, 1}), "cuda:7") << "never another one";
  EXPECT_EQ(places("instance_group { kind: KIND_CPU count: 2 } instance_group { kind: KIND_GPU gpus: 0 }", {0}),
            "cpu cpu cuda:0");
}

TEST(InstanceGroups, OfKindAutoAreOnGpusOnlyIfTheirGpusAreThere) {
  EXPECT_EQ(places("", {0, 1}), "cuda:0 cuda:1");
  EXPECT_EQ(places("", {}), "cpu");
  EXPECT_EQ(places("instance_group { count: 2 }", {}), "cpu cpu");
  EXPECT_EQ(places("instance_group { count: 2 gpus: 1 }", {1}), "cuda:1 cuda:1");
  EXPECT_EQ(places("instance_group { count: 2 gpus: [ 0, 1 ] }", {1}), "cpu cpu");
}

// "pair  gpu_1": the instances' host policies, of which `policies` are set; where there is none, nothing.
std::string hosts(const std::string& groups, const std::vector<std::string>& policies) {
  auto config = parse_config_text(groups, "f");
  std::vector<HostPolicy> set;
  for (const std::string& name : policies) set.push_back({.name = name, .cores = {0}, .numa_node = {}});
  std::string text;
  for (const HostPolicy& host : host_policies_of(*place_instances(**config, std::vector<int>{0, 1}), set))
    text += host.name + " ";
  return text;
}

TEST(InstanceGroups, InstancesHaveTheHostPolicyThatTheirGroupNamesOrTheirKinds) {
  EXPECT_EQ(hosts("instance_group { count: 2 kind: KIND_CPU host_policy: \"pair\" } instance_group { kind: KIND_CPU }",
                  {"cpu", "pair"}),
            "pair pair cpu ");
  EXPECT_EQ(hosts("instance_group { kind: KIND_GPU } instance_group { kind: KIND_MODEL }", {"gpu_1", "model"}),
            " gpu_1 model ");
  EXPECT_EQ(hosts("instance_group { kind: KIND_CPU host_policy: \"other\" }", {"cpu"}), " ") << "not the kind's";
}

Result<plan::Plan> plan_from(const std::string& text, int cores = 0, const std::string& device = "cpu") {
  RIDGE_ASSIGN(ConfigPtr config, parse_config_text(text, "f"));
  return plan_of(*config, "/m/1/model.onnx", cores, "", *plan::device_from_name(device));
}

std::string parameter(const std::string& key, const std::string& value) {
  return "parameters { key: \"" + key + "\" value { string_value: \"" + value + "\" } } ";
}

TEST(EngineParameters, TritonsNamesAndOursDecideThePlan) {
  auto plan = plan_from(parameter("intra_op_thread_count", "3") + parameter("execution_mode", "1") +
                        parameter("enable_mem_arena", "0") + parameter("ridge_allow_spinning", "off") +
                        parameter("ridge_graph_level", "extended") + parameter("ridge_memory_pattern", "false") +
                        parameter("session.disable_prepacking", "1") + parameter("ridge_option_any.thing", "2") +
                        parameter("someone_elses", "x") + parameter("ridge_unknown", "x"));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->threads, 3);
  EXPECT_EQ(plan->inter_op_threads, 2);
  EXPECT_FALSE(plan->memory_arena);
  EXPECT_FALSE(plan->memory_pattern);
  EXPECT_EQ(plan->spin, plan::Spin::kOff);
  EXPECT_EQ(plan->graph_level, plan::GraphLevel::kExtended);
  EXPECT_EQ(plan->options,
            (std::map<std::string, std::string>{{"session.disable_prepacking", "1"}, {"any.thing", "2"}}));
}

TEST(EngineParameters, WrongValuesAreErrorsThatNameTheKey) {
  for (const char* key : {"intra_op_thread_count", "execution_mode", "enable_mem_arena", "ridge_allow_spinning",
                          "ridge_graph_level", "ridge_precision", "ridge_queue_delay"}) {
    auto plan = plan_from(parameter(key, "banana"));
    ASSERT_FALSE(plan) << key;
    EXPECT_TRUE(contains(plan.error().message, key)) << plan.error().message;
  }
  EXPECT_FALSE(plan_from("optimization { graph { level: 7 } }"));
}

TEST(EngineParameters, OptionsThatMayNameFilesAreNotTakenFromClients) {
  const auto is_taken = [](const std::string& config) { return check_sent_options(*plan_from(config)).ok(); };
  for (const char* key : {"session.collect_node_memory_stats_to_file", "ep.context_file_path",
                          "session.node_partition_config_file", "optimization.unknown", "ridge_option_any.thing",
                          "ridge_option_tensorrt.trt_engine_cache_path", "ridge_option_tensorrt.trt_dump_subgraphs"})
    EXPECT_FALSE(is_taken(parameter(key, "1"))) << key;
  for (const char* key : {"session.disable_prepacking", "session.dynamic_block_base", "intra_op_thread_count",
                          "ridge_option_tensorrt.trt_fp16_enable", "ridge_option_tensorrt.trt_profile_min_shapes",
                          "ridge_option_cuda.prefer_nhwc", "ridge_option_ridge.dimension.batch"})
    EXPECT_TRUE(is_taken(parameter(key, "1"))) << key;
  const std::string openvino = "backend: \"openvino\" ";
  EXPECT_FALSE(is_taken(openvino + parameter("ridge_option_CACHE_DIR", "/c")));
  EXPECT_TRUE(is_taken(openvino + parameter("PERFORMANCE_HINT", "THROUGHPUT")));
}

TEST(EngineParameters, TritonsOpenVinoNamesDecideThePlanOfThatBackend) {
  const std::string openvino = "backend: \"openvino\" ";
  auto plan = plan_from(openvino + parameter("INFERENCE_NUM_THREADS", "3") + parameter("HINT_BF16", "YES") +
                        parameter("PERFORMANCE_HINT", "THROUGHPUT") + parameter("ENABLE_BATCH_PADDING", "YES") +
                        parameter("TARGET_DEVICE", "CPU") + parameter("ridge_option_CACHE_DIR", "/c"));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->engine, "openvino");
  EXPECT_EQ(plan->threads, 3);
  EXPECT_EQ(plan->precision, Precision::kBf16);
  EXPECT_EQ(plan->options,
            (std::map<std::string, std::string>{{"PERFORMANCE_HINT", "THROUGHPUT"}, {"CACHE_DIR", "/c"}}));
  EXPECT_EQ(plan_from(parameter("HINT_BF16", "YES"))->precision, Precision::kFp32) << "another backend's parameter";
  EXPECT_EQ(plan_from(openvino + parameter("intra_op_thread_count", "2"))->threads, 2) << "known to every backend";
  EXPECT_EQ(plan_from(openvino + parameter("TARGET_DEVICE", "GPU"))->device, "gpu:0");
  EXPECT_EQ(plan_from(openvino + parameter("TARGET_DEVICE", "GPU.1"))->device, "gpu:1");
  for (const auto& [key, value] : std::map<std::string, std::string>{{"INFERENCE_NUM_THREADS", "many"},
                                                                     {"HINT_BF16", "1"},
                                                                     {"TARGET_DEVICE", "NPU"},
                                                                     {"CPU_EXTENSION_PATH", "/x.so"}}) {
    auto refused = plan_from(openvino + parameter(key, value));
    ASSERT_FALSE(refused) << key;
    EXPECT_TRUE(contains(refused.error().message, key)) << refused.error().message;
  }
}

// A tuned configuration is read back as the measured plan.
TEST(EngineParameters, AreReadBackAsEachEngineWritesThem) {
  for (const engine::Engine& engine : engine::known())
    for (const plan::DeviceKind kind : engine.devices) {
      if (engine.for_tests || plan::is_nvidia({kind})) continue;  // accelerators: engine/engines_test.cc
      plan::Plan measured;
      if (kind == plan::DeviceKind::kCpu) measured.threads = 3;
      if (kind != plan::DeviceKind::kCpu) measured.device = plan::device_name({kind, 1});
      if (engine.takes_precision) measured.precision = Precision::kBf16;
      measured.options["session.any"] = "1";
      std::string text = "backend: \"" + std::string(engine.backend) + "\" ";
      for (const auto& [key, value] : engine.parameters(measured)) text += parameter(key, value);
      const Result<plan::Plan> read = plan_from(text);
      ASSERT_TRUE(read) << text << read.error().message;
      EXPECT_EQ(read->engine, engine.name);
      EXPECT_EQ(read->device, measured.device) << text;
      EXPECT_EQ(read->threads, measured.threads) << text;
      EXPECT_EQ(read->precision, measured.precision) << text;
      EXPECT_EQ(read->options, measured.options) << text;
    }
}

TEST(EngineParameters, CoresAreDividedAmongTheInstances) {
  EXPECT_EQ(plan_from("instance_group { count: 2 }", 4)->threads, 2);
  EXPECT_EQ(plan_from("instance_group { count: 9 }", 4)->threads, 1);
  EXPECT_EQ(
      plan_from("instance_group { kind: KIND_CPU } instance_group { kind: KIND_GPU count: 3 gpus: 0 }", 4)->threads, 4)
      << "those on GPUs need none";
  EXPECT_EQ(plan_from("instance_group { count: 2 }", {})->threads, 0);
  EXPECT_EQ(plan_from("instance_group { count: 2 } " + parameter("ridge_threads", "4"), 4)->threads, 4);
}

std::string accelerator(const std::string& name, const std::string& parameters) {
  return "optimization { execution_accelerators { gpu_execution_accelerator { name: \"" + name + "\" " + parameters +
         " } } } ";
}
std::string named(const std::string& key, const std::string& value) {
  return "parameters { key: \"" + key + "\" value: \"" + value + "\" } ";
}

TEST(GpuAccelerators, OfAGpuBecomeOptionsOfItsProvider) {
  const std::string text = accelerator("cuda", named("use_tf32", "0")) + parameter("cudnn_conv_algo_search", "1") +
                           parameter("arena_extend_strategy", "1") + parameter("gpu_mem_limit", "4294967296");
  auto plan = plan_from(text, 8, "cuda:1");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->device, "cuda:1");
  EXPECT_EQ(plan->threads, 1);
  EXPECT_EQ(plan->options, (std::map<std::string, std::string>{{"cuda.use_tf32", "0"},
                                                               {"cuda.cudnn_conv_algo_search", "HEURISTIC"},
                                                               {"cuda.arena_extend_strategy", "kSameAsRequested"},
                                                               {"cuda.gpu_mem_limit", "4294967296"}}));
  EXPECT_TRUE(plan_from(text, 8)->options.empty()) << "on the CPU they mean nothing";
}

TEST(GpuAccelerators, TensorRtIsADeviceWithItsOwnOptionsAndTheRangeOfBatches) {
  const std::string text =
      accelerator("tensorrt", named("precision_mode", "FP16") + named("max_workspace_size_bytes", "1073741824")) +
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 2, 4 ] } "
      "input { name: \"x\" data_type: TYPE_FP32 dims: [ 3, 5 ] } ";
  auto plan = plan_from(text, 0, "cuda:1");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->device, "tensorrt:1");
  EXPECT_EQ(plan->options, (std::map<std::string, std::string>{{"tensorrt.trt_fp16_enable", "1"},
                                                               {"tensorrt.trt_max_workspace_size", "1073741824"},
                                                               {"tensorrt.trt_profile_min_shapes", "x:1x3x5"},
                                                               {"tensorrt.trt_profile_opt_shapes", "x:4x3x5"},
                                                               {"tensorrt.trt_profile_max_shapes", "x:8x3x5"}}));
  auto open =
      plan_from(accelerator("tensorrt", "") + "max_batch_size: 8 input { name: \"x\" dims: [ -1 ] }", 0, "cuda:0");
  EXPECT_TRUE(open->options.empty()) << "a range of other dimensions is the user's to give";
}

TEST(GpuAccelerators, AnUnknownOneOrAWrongModeIsAnErrorThatNamesIt) {
  EXPECT_TRUE(contains(plan_from(accelerator("vulkan", ""), 0, "cuda:0").error().message, "'vulkan'"));
  EXPECT_TRUE(contains(plan_from(accelerator("tensorrt", named("precision_mode", "FP8")), 0, "cuda:0").error().message,
                       "precision_mode"));
}

// What the server sets, and what clients see, of a model with a control, an id and a state.
const Signature kStateful = {{{"x", DataType::kFp32, {-1, 1}},
                              {"start", DataType::kInt32, {-1, 1}},
                              {"id", DataType::kBytes, {-1, 1}},
                              {"s", DataType::kFp32, {-1, 3}}},
                             {{"y", DataType::kFp32, {-1, 1}}, {"next", DataType::kFp32, {-1, 3}}}};
const std::string kStart =
    "control_input { name: \"start\" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 7 ] } } ";
const std::string kId =
    "control_input { name: \"id\" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } } ";
const std::string kState = "state { input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 } ";

TEST(SequenceConfig, ControlsAndStatesAreNotForClients) {
  const std::string text = "sequence_batching { " + kStart + kId + kState + "}";
  const Json json = completed_json(text, kStateful);
  EXPECT_EQ(json["max_batch_size"], 4);
  EXPECT_FALSE(json.contains("dynamic_batching"));
  ASSERT_EQ(json["input"].size(), 1u);
  EXPECT_EQ(json["input"][0]["name"], "x");
  ASSERT_EQ(json["output"].size(), 1u);
  const SequenceSettings sequences = *settings(text, kStateful).sequences;
  EXPECT_EQ(sequences.slots, 4u);
  EXPECT_TRUE(sequences.row_is_slot);
  EXPECT_EQ(sequences.max_idle, std::chrono::seconds(1));
  ASSERT_EQ(sequences.controls.size(), 2u);
  EXPECT_EQ(sequences.controls[0].signature_index, 1);
  EXPECT_EQ(sequences.controls[0].on, std::string("\7\0\0\0", 4));
  ASSERT_EQ(sequences.states.size(), 1u);
  EXPECT_EQ(sequences.states[0].initial, std::string(12, '\0'));
  EXPECT_FALSE(sequences.states[0].listed);
}

TEST(SequenceConfig, AStateThatIsAnOutputIsOneForClients) {
  const ModelSettings both = settings("max_batch_size: 2 sequence_batching { oldest { max_candidate_sequences: 9 } " +
                                          kStart + kId + kState + "} output [ { name: \"y\" }, { name: \"next\" } ]",
                                      kStateful);
  EXPECT_EQ(both.outputs.size(), 2u);
  EXPECT_EQ(both.sequences->states[0].listed, 1u);
  EXPECT_EQ(both.sequences->slots, 9u);
  EXPECT_FALSE(both.sequences->row_is_slot);
}

TEST(SequenceConfig, ASlotUtilizationIsWaitedFor) {
  const std::string with = "max_batch_size: 4 sequence_batching { " + kStart + kId + kState;
  const BatchLimits limits =
      settings(with + "direct { max_queue_delay_microseconds: 5 minimum_slot_utilization: 0.6 } }", kStateful)
          .queue.batch;
  EXPECT_EQ(limits.preferred, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(limits.max_delay, std::chrono::microseconds(5));
  EXPECT_EQ(settings(with + "direct { max_queue_delay_microseconds: 5 } }", kStateful).queue.batch.max_delay,
            Nanoseconds(0));
}

TEST(SequenceConfig, RequestsWithAStateOfOpenShapeRunAlone) {
  Signature open = kStateful;
  open.inputs[3].shape = open.outputs[1].shape = {-1, -1};
  const ModelSettings alone = settings("max_batch_size: 4 sequence_batching { " + kStart + kId + kState + "}", open);
  EXPECT_FALSE(alone.queue.batch.merge);
}

TEST(SequenceConfig, RefusesWhatTheModelDoesNotHave) {
  const auto refused = [](const std::string& text) {
    auto config = complete("max_batch_size: 4 " + text, kStateful);
    return !config || !settings_of(**config, kStateful, 1, "/nowhere", 100);
  };
  const std::string begin = "sequence_batching { " + kStart + kId;
  EXPECT_FALSE(refused(begin + kState + "}"));
  for (const char* state : {"{ input_name: \"t\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"last\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_INT32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 4 }",
                            "{ input_name: \"s\" output_name: \"y\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_FP32 dims: 2 } }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_INT32 dims: 3 } }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_FP32 dims: 3 data_file: "
                            "\"none\" } }"})
    EXPECT_TRUE(refused(begin + "state " + state + " }")) << state;
  const std::string other_control =
      "control_input { name: \"%\" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } } }";
  for (const char* input : {"none", "start", "x"}) {
    std::string text = begin + kState + other_control;
    EXPECT_TRUE(refused(text.replace(text.find('%'), 1, input) + " input { name: \"x\" }")) << input;
  }
}

}  // namespace
}  // namespace ridge::serve
