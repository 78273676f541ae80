#include "serve/engine_parameters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model_config.pb.h"
#include "serve/test_config.h"

namespace ridge::serve {
namespace {

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
                          "ridge_graph_level", "ridge_precision", "ridge_queue_delay", "ridge_pooling"}) {
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

}  // namespace
}  // namespace ridge::serve
