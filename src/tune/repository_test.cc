#include "tune/repository.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "engine/engines.h"
#include "model_config.pb.h"
#include "tune/serving_config.h"
#include "tune/warmup_data.h"

namespace ridge::tune {
namespace {

namespace fs = std::filesystem;

ServingFacts resnet() {
  ServingFacts facts;
  facts.name = "resnet50";
  facts.signature.inputs = {{"input", DataType::kFp32, {-1, 3, 224, 224}}};
  facts.signature.outputs = {{"output", DataType::kFp32, {-1, 1000}}};
  facts.best = {.threads = 1, .instances = 2, .batch = 4};
  facts.batches = true;
  facts.verified_batch = 16;
  facts.batching = {.helps = true, .max_batch = 4, .preferred = {2, 4}, .queue_delay_ms = 3.5, .reason = ""};
  return facts;
}

inference::ModelConfig parsed(const ServingFacts& facts) {
  inference::ModelConfig message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config_text(serving_config(facts)), &message));
  return message;
}

TEST(ServingConfig, HoldsTheDecisionUnderTritonsNames) {
  inference::ModelConfig config = parsed(resnet());
  EXPECT_EQ(config.name(), "resnet50");
  EXPECT_EQ(config.backend(), "onnxruntime");
  EXPECT_EQ(config.max_batch_size(), 8) << "clients may send 8 rows though 4 are best";
  ASSERT_EQ(config.input_size(), 1);
  EXPECT_EQ(config.input(0).name(), "input");
  EXPECT_EQ(config.input(0).data_type(), inference::TYPE_FP32);
  EXPECT_EQ(std::vector<int64_t>(config.input(0).dims().begin(), config.input(0).dims().end()),
            (std::vector<int64_t>{3, 224, 224}));
  EXPECT_EQ(config.output(0).dims_size(), 1);
  ASSERT_EQ(config.instance_group_size(), 1);
  EXPECT_EQ(config.instance_group(0).count(), 2);
  EXPECT_EQ(config.instance_group(0).kind(), inference::ModelInstanceGroup::KIND_CPU);
  ASSERT_EQ(config.dynamic_batching().preferred_batch_size_size(), 2);
  EXPECT_EQ(config.dynamic_batching().preferred_batch_size(1), 4);
  EXPECT_EQ(config.dynamic_batching().max_queue_delay_microseconds(), 3500u);
  EXPECT_EQ(config.parameters().at("intra_op_thread_count").string_value(), "1");
}

TEST(ServingConfig, OfAGpuNamesItAndGivesItsProvidersTheirOptions) {
  ServingFacts facts = resnet();
  facts.device = {plan::DeviceKind::kTensorRt, 1};
  facts.engine_options = {{"tensorrt.trt_fp16_enable", "1"}, {"session.disable_prepacking", "1"}};
  facts.best.options = {{"cuda.prefer_nhwc", "1"}};
  const inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.instance_group(0).kind(), inference::ModelInstanceGroup::KIND_GPU);
  ASSERT_EQ(config.instance_group(0).gpus_size(), 1);
  EXPECT_EQ(config.instance_group(0).gpus(0), 1);
  const auto& accelerators = config.optimization().execution_accelerators().gpu_execution_accelerator();
  ASSERT_EQ(accelerators.size(), 2);
  EXPECT_EQ(accelerators[0].name(), "tensorrt");
  EXPECT_EQ(accelerators[0].parameters().at("trt_fp16_enable"), "1");
  EXPECT_EQ(accelerators[1].name(), "cuda");
  EXPECT_EQ(accelerators[1].parameters().at("prefer_nhwc"), "1");
  EXPECT_TRUE(config.parameters().contains("session.disable_prepacking"));
  EXPECT_FALSE(config.parameters().contains("cuda.prefer_nhwc"));
  facts.device = {};
  facts.engine_options.clear();
  facts.best.options.clear();
  EXPECT_FALSE(parsed(facts).has_optimization());
}

TEST(ServingConfig, NoDelayWhereBatchingDidNotHelp) {
  ServingFacts facts = resnet();
  facts.batching.helps = false;
  inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.dynamic_batching().max_queue_delay_microseconds(), 0u);
  ASSERT_EQ(config.dynamic_batching().preferred_batch_size_size(), 1) << "the tuned batch, of what waits anyway";
  EXPECT_EQ(config.dynamic_batching().preferred_batch_size(0), 4);
  EXPECT_EQ(config.max_batch_size(), 8);
  facts.best.batch = 1;
  EXPECT_FALSE(parsed(facts).has_dynamic_batching());
}

TEST(ServingConfig, ModelThatDoesNotBatchKeepsItsDimsWhole) {
  ServingFacts facts = resnet();
  facts.batches = false;
  facts.best.batch = 1;
  facts.signature.inputs[0].shape[0] = 1;
  inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.max_batch_size(), 0);
  EXPECT_EQ(config.input(0).dims_size(), 4);
  EXPECT_EQ(config.input(0).dims(0), 1);
}

TEST(ServingConfig, TensorOfOneNumberPerRowIsReshaped) {
  ServingFacts facts = resnet();
  facts.signature.outputs = {{"label", DataType::kInt64, {-1}}, {"text", DataType::kBytes, {-1, 2}}};
  inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.output(0).dims(0), 1);
  EXPECT_TRUE(config.output(0).has_reshape());
  EXPECT_EQ(config.output(0).reshape().shape_size(), 0);
  EXPECT_EQ(config.output(1).data_type(), inference::TYPE_STRING);
}

TEST(ServingConfig, EngineOptionsTravelAsParameters) {
  ServingFacts facts = resnet();
  facts.best.spin = plan::Spin::kOff;
  facts.best.inter_op_threads = 2;
  facts.best.block_base = 4;
  facts.engine_options["session.set_denormal_as_zero"] = "1";
  auto parameters = parsed(facts).parameters();
  EXPECT_EQ(parameters.at("session.intra_op.allow_spinning").string_value(), "0");
  EXPECT_EQ(parameters.at("inter_op_thread_count").string_value(), "2");
  EXPECT_EQ(parameters.at("execution_mode").string_value(), "1");
  EXPECT_EQ(parameters.at("session.dynamic_block_base").string_value(), "4");
  EXPECT_EQ(parameters.at("session.set_denormal_as_zero").string_value(), "1");
}

TEST(ServingConfig, OpenVinoIsConfiguredUnderItsBackendsNames) {
  ServingFacts facts = resnet();
  facts.engine = "openvino";
  facts.precision = Precision::kBf16;
  facts.engine_options["PERFORMANCE_HINT"] = "LATENCY";
  ServingFacts quantised = facts;
  quantised.precision = Precision::kInt8;
  EXPECT_EQ(parsed(quantised).parameters().at("ridge_precision").string_value(), "int8");
  EXPECT_EQ(parsed(quantised).parameters().count("HINT_BF16"), 0u);
  const inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.backend(), "openvino");
  EXPECT_EQ(config.default_model_filename(), "model.onnx");
  EXPECT_EQ(config.parameters().at("INFERENCE_NUM_THREADS").string_value(), "1");
  EXPECT_EQ(config.parameters().at("HINT_BF16").string_value(), "YES");
  EXPECT_EQ(config.parameters().at("ridge_option_PERFORMANCE_HINT").string_value(), "LATENCY");
  EXPECT_EQ(config.parameters().count("intra_op_thread_count"), 0u);
}

TEST(ServingConfig, ModelServerGetsOneModelWithAllInstancesThreads) {
  ServingFacts facts = resnet();
  EXPECT_EQ(ovms_text(facts), "") << "tuned for another engine";
  facts.engine = "openvino";
  facts.best.threads = 4;
  const Json config = parse_json(ovms_text(facts), "ovms.json").value()["model_config_list"][0]["config"];
  EXPECT_EQ(config["name"], "resnet50");
  EXPECT_EQ(config["nireq"], 2);
  EXPECT_EQ(config["base_path"], ".") << "relative to the file";
  EXPECT_EQ(config["plugin_config"]["NUM_STREAMS"], "2");
  EXPECT_EQ(config["plugin_config"]["INFERENCE_NUM_THREADS"], "8");
  EXPECT_EQ(config.size(), 4u) << "the server refuses members that its schema does not have";
}

TEST(ServingConfig, OfAnIntelGpuNamesItForBothServers) {
  ServingFacts facts = resnet();
  facts.engine = "openvino";
  facts.device = {plan::DeviceKind::kGpu, 1};
  const inference::ModelConfig config = parsed(facts);
  EXPECT_EQ(config.parameters().at("TARGET_DEVICE").string_value(), "GPU.1");
  EXPECT_EQ(config.parameters().count("INFERENCE_NUM_THREADS"), 0u) << "a property of the CPU";
  EXPECT_EQ(config.instance_group(0).kind(), inference::ModelInstanceGroup::KIND_CPU) << "as its backend wants it";
  const Json server = parse_json(ovms_text(facts), "ovms.json").value()["model_config_list"][0]["config"];
  EXPECT_EQ(server["target_device"], "GPU.1");
  EXPECT_FALSE(server["plugin_config"].contains("INFERENCE_NUM_THREADS"));
}

// Configurations that Triton's core refuses (model_config_utils.cc of triton-inference-server/core), beyond its schema.
void expect_accepted(const inference::ModelConfig& config) {
  EXPECT_FALSE(config.name().empty() || config.backend().empty());
  for (const auto& input : config.input()) EXPECT_GT(input.dims_size(), 0) << "dims may not be empty";
  for (const auto& output : config.output()) EXPECT_GT(output.dims_size(), 0);
  for (const auto& group : config.instance_group()) EXPECT_GT(group.count(), 0);
  EXPECT_TRUE(config.max_batch_size() > 0 || !config.has_dynamic_batching());
  for (const int32_t size : config.dynamic_batching().preferred_batch_size()) {
    EXPECT_GT(size, 0);
    EXPECT_LE(size, config.max_batch_size());
  }
  for (const auto& warmup : config.model_warmup()) {
    EXPECT_EQ(warmup.inputs_size(), config.input_size());
    EXPECT_GE(warmup.batch_size(), 1u);
    EXPECT_LE(warmup.batch_size(), static_cast<uint32_t>(std::max(1, config.max_batch_size())));
    for (const auto& input : config.input()) {
      ASSERT_TRUE(warmup.inputs().contains(input.name()));
      EXPECT_EQ(warmup.inputs().at(input.name()).data_type(), input.data_type());
      for (const int64_t dimension : warmup.inputs().at(input.name()).dims()) EXPECT_GT(dimension, 0);
    }
  }
}

ServingFacts bert() {
  ServingFacts facts = resnet();
  facts.signature.inputs = {{"ids", DataType::kInt64, {-1, -1}}};
  facts.warmup = {{"ids", DataType::kInt64, {128}, "input-0", std::string(1024, '\1')}};
  return facts;
}

TEST(ServingConfig, EveryFormOfAWinnerIsWhatTritonAccepts) {
  for (const engine::Engine& engine : engine::known())
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8})
      for (const int64_t batch : {1, 4})
        for (const bool helps : {false, true})
          for (const bool batches : {false, true})
            for (ServingFacts facts : {resnet(), bert()}) {
              facts.engine = engine.name;
              facts.precision = precision;
              facts.best.batch = batch;
              facts.batches = batches;
              facts.batching.helps = helps && batch > 1;
              SCOPED_TRACE(config_text(serving_config(facts)));
              expect_accepted(parsed(facts));
            }
}

TEST(ServingConfig, OpenDimensionsAreWarmedUpWithWhatWasTuned) {
  const inference::ModelConfig config = parsed(bert());
  ASSERT_EQ(config.model_warmup_size(), 4) << "batches 1, 2, 4 and 8";
  EXPECT_EQ(config.model_warmup(3).batch_size(), 8u);
  EXPECT_EQ(config.model_warmup(0).inputs().at("ids").dims(0), 128);
  EXPECT_EQ(config.model_warmup(0).inputs().at("ids").input_data_file(), "input-0");
}

TEST(WarmupData, IsOneRowOfTheTunedShapesWhereDimensionsAreOpen) {
  engine::Signature signature;
  signature.inputs = {{"ids", DataType::kInt64, {-1, -1}}, {"scale", DataType::kFp32, {-1, 2}}};
  plan::Plan plan;
  plan.shapes = {{"ids", {3, 128}}, {"scale", {3, 2}}};
  const std::vector<WarmupInput> rows = warmup_data(signature, plan, nullptr, true).value();
  ASSERT_EQ(rows.size(), 2u) << "all inputs, or a server could not run them";
  EXPECT_EQ(rows[0].dims, (Shape{128}));
  EXPECT_EQ(rows[0].bytes.size(), 128 * sizeof(int64_t));
  EXPECT_EQ(rows[1].bytes.size(), 2 * sizeof(float));
  EXPECT_NE(rows[0].file, rows[1].file);
  EXPECT_EQ(warmup_data(signature, plan, nullptr, false).value()[0].dims, (Shape{3, 128})) << "whole tensors";
  signature.inputs[0].shape = {-1, 128};
  EXPECT_TRUE(warmup_data(signature, plan, nullptr, true).value().empty()) << "only the batch is open";
}

TEST(ServingConfig, BaselineSetsNoParameters) {
  ServingFacts facts = resnet();
  facts.best = baseline_candidate();
  EXPECT_EQ(parsed(facts).parameters_size(), 0);
}

class RepositoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "source/data");
    std::ofstream(folder_ / "source/net.onnx") << "graph";
    std::ofstream(folder_ / "source/data/weights.bin") << "weights";
    entry_ = {"net", (folder_ / "source/net.onnx").string(), {"data/weights.bin"}, "name: \"net\"\n", "{}\n"};
    repository_ = (folder_ / "repository").string();
  }

  std::string content(const std::string& path) { return read_file(repository_ + "/" + path).value(); }
  size_t entries() {
    return static_cast<size_t>(std::distance(fs::directory_iterator(repository_), fs::directory_iterator()));
  }

  TemporaryFolder temporary_ = *TemporaryFolder::make();
  fs::path folder_ = temporary_.path();
  RepositoryEntry entry_;
  std::string repository_;
};

TEST_F(RepositoryTest, HoldsModelExternalDataConfigurationAndTuning) {
  Result<std::string> saved = save(entry_, repository_, false);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(*saved, repository_ + "/net/1");
  EXPECT_EQ(content("net/1/model.onnx"), "graph");
  EXPECT_EQ(fs::hard_link_count(repository_ + "/net/1/model.onnx"), 1u) << "a new export must not change it";
  EXPECT_EQ(content("net/1/data/weights.bin"), "weights");
  EXPECT_EQ(fs::hard_link_count(repository_ + "/net/1/data/weights.bin"), 1u) << "readers refuse linked external data";
  EXPECT_EQ(content("net/config.pbtxt"), "name: \"net\"\n");
  EXPECT_EQ(content("net/tuning.json"), "{}\n");
  EXPECT_EQ(entries(), 1u) << "nothing else is left behind";
  EXPECT_FALSE(fs::exists(repository_ + "/net/warmup"));
  entry_.warmup_files = {{"input-0", "row"}};
  ASSERT_TRUE(save(entry_, repository_, false));
  EXPECT_EQ(content("net/warmup/input-0"), "row");
}

TEST_F(RepositoryTest, ExistingModelGetsTheNextVersion) {
  ASSERT_TRUE(save(entry_, repository_, false));
  fs::create_directories(repository_ + "/net/7");
  std::ofstream(repository_ + "/net/7/model.onnx") << "seven";
  std::ofstream(repository_ + "/net/labels.txt") << "cat";
  entry_.config_pbtxt = "name: \"net\" # new\n";
  Result<std::string> saved = save(entry_, repository_, false);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(*saved, repository_ + "/net/8");
  EXPECT_EQ(content("net/7/model.onnx"), "seven");
  EXPECT_EQ(content("net/labels.txt"), "cat");
  EXPECT_EQ(content("net/config.pbtxt"), "name: \"net\" # new\n");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(RepositoryTest, OverwriteReplacesTheEntryWhole) {
  ASSERT_TRUE(save(entry_, repository_, false));
  ASSERT_TRUE(save(entry_, repository_, false));
  Result<std::string> saved = save(entry_, repository_, true);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(*saved, repository_ + "/net/1");
  EXPECT_FALSE(fs::exists(repository_ + "/net/2"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(RepositoryTest, ModelCanBeReadAllTheWhileItIsReplaced) {
  ASSERT_TRUE(save(entry_, repository_, true));
  std::atomic<bool> done = false;
  std::atomic<int> missing = 0;
  std::jthread reader([&] {
    while (!done)
      if (!fs::exists(repository_ + "/net/1/model.onnx") || !fs::exists(repository_ + "/net/config.pbtxt")) ++missing;
  });
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(save(entry_, repository_, true));
  done = true;
  reader.join();
  EXPECT_EQ(missing, 0);
}

TEST_F(RepositoryTest, MissingExternalDataIsAnErrorThatLeavesTheOldEntry) {
  ASSERT_TRUE(save(entry_, repository_, false));
  entry_.external_files.push_back("data/more.bin");
  Result<std::string> saved = save(entry_, repository_, true);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("more.bin"), std::string::npos) << saved.error().message;
  EXPECT_EQ(content("net/1/model.onnx"), "graph");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(RepositoryTest, PlaceThatCannotBeWrittenIsAnErrorThatNamesIt) {
  Result<std::string> saved = save(entry_, "/proc/self/repository", false);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("/proc/self/repository"), std::string::npos) << saved.error().message;
}

TEST_F(RepositoryTest, LinkedModelIsBroughtByItsContent) {
  fs::create_symlink("net.onnx", folder_ / "source/link.onnx");
  entry_.model_file = (folder_ / "source/link.onnx").string();
  ASSERT_TRUE(save(entry_, repository_, false));
  EXPECT_FALSE(fs::is_symlink(repository_ + "/net/1/model.onnx"));
  EXPECT_EQ(content("net/1/model.onnx"), "graph");
}

TEST(RepositoryName, ComesFromTheFileAndIsCheckedWhenGiven) {
  EXPECT_EQ(entry_name("/a/b/my model (2).onnx"), "my_model__2_");
  EXPECT_EQ(entry_name(".onnx"), "onnx");
  EXPECT_TRUE(check_entry_name("bert-base.v2"));
  for (const char* bad : {"", ".hidden", "a/b", "a b", "../up"}) EXPECT_FALSE(check_entry_name(bad)) << bad;
}

}  // namespace
}  // namespace ridge::tune
