#include "engine/onnxruntime/options.h"

#include <gtest/gtest.h>

namespace ridge::engine::onnxruntime {
namespace {

Result<EngineOptions> read(std::map<std::string, std::string> options, const std::string& device = "cpu") {
  plan::Plan plan;
  plan.device = device;
  plan.options = std::move(options);
  return engine_options(plan);
}

TEST(Options, GoWhereTheEngineReadsThem) {
  auto options = read({{"session.disable_prepacking", "1"},
                       {"memory.enable_memory_arena_shrinkage", "cpu:0"},
                       {"ridge.shared_threads", "3"},
                       {"ridge.arena.max_mem", "65536"},
                       {"ridge.arena.arena_extend_strategy", "-1"},
                       {"ridge.dimension.batch", "8"}});
  ASSERT_TRUE(options.ok()) << options.error().message;
  using Entries = std::map<std::string, std::string>;
  EXPECT_EQ(options->session, (Entries{{"session.disable_prepacking", "1"}}));
  EXPECT_EQ(options->run, (Entries{{"memory.enable_memory_arena_shrinkage", "cpu:0"}}));
  EXPECT_EQ(options->shared.threads, 3);
  EXPECT_EQ(options->shared.arena, (std::map<std::string, int64_t>{{"max_mem", 65536}, {"arena_extend_strategy", -1}}));
  EXPECT_EQ(options->dimensions, (std::map<std::string, int64_t>{{"batch", 8}}));
}

TEST(Options, OneOfOursThatIsWrongIsAnErrorThatNamesIt) {
  for (const auto& [key, value] : std::map<std::string, std::string>{{"ridge.shared_threads", "0"},
                                                                     {"ridge.arena.max_mem", "much"},
                                                                     {"ridge.arena.no_such", "1"},
                                                                     {"ridge.dimension.n", "-1"},
                                                                     {"ridge.unknown", "1"}}) {
    auto options = read({{key, value}});
    ASSERT_FALSE(options.ok()) << key;
    EXPECT_NE(options.error().message.find(key), std::string::npos) << options.error().message;
  }
}

TEST(Options, OfTheGpusProvidersGoToThem) {
  auto options = read({{"cuda.cudnn_conv_algo_search", "HEURISTIC"},
                       {"cuda.gpu_mem_limit", "18446744073709551615"},
                       {"tensorrt.trt_fp16_enable", "1"},
                       {"cuda.of_a_newer_release", "x"}},
                      "tensorrt:1");
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->cuda, (ProviderOptions{{"cudnn_conv_algo_search", "HEURISTIC"},
                                            {"gpu_mem_limit", "18446744073709551615"},
                                            {"of_a_newer_release", "x"}}));
  EXPECT_EQ(options->tensorrt, (ProviderOptions{{"trt_fp16_enable", "1"}}));
  EXPECT_TRUE(options->session.empty());
}

TEST(Options, OfAProviderThatDoesNotRunTheModelAreErrors) {
  for (const auto& [device, key] :
       std::map<std::string, std::string>{{"cpu", "cuda.use_tf32"}, {"cuda:0", "tensorrt.trt_fp16_enable"}}) {
    auto options = read({{key, "1"}}, device);
    ASSERT_FALSE(options.ok());
    EXPECT_NE(options.error().message.find(key + " has no effect on " + device), std::string::npos)
        << options.error().message;
  }
}

TEST(Options, OfTheGpusProvidersThatAreWrongAreErrorsThatSayWhatIsRight) {
  const std::map<std::string, std::pair<std::string, std::string>> wrong = {
      {"cuda.cudnn_conv_algo_search", {"heuristic", "EXHAUSTIVE, HEURISTIC or DEFAULT"}},
      {"cuda.arena_extend_strategy", {"1", "kNextPowerOfTwo or kSameAsRequested"}},
      {"cuda.gpu_mem_limit", {"4GiB", "a whole number"}},
      {"cuda.use_tf32", {"yes", "0 or 1"}},
      {"cuda.device_id", {"1", "--device"}},
      {"tensorrt.trt_fp16_enable", {"FP16", "0 or 1"}},
      {"tensorrt.trt_engine_decryption_enable", {"yes", "0 or 1"}},
      {"tensorrt.trt_engine_decryption_lib_path", {"", "a text"}},
      {"tensorrt.trt_external_data_bytestream", {"1", "--device"}},
      {"tensorrt.trt_external_data_bytestream_size", {"1", "--device"}},
      {"tensorrt.trt_load_user_initializer", {"yes", "0 or 1"}},
      {"tensorrt.trt_preview_features", {"", "a text"}},
      {"tensorrt.trt_engine_cache_path", {"", "a text"}}};
  for (const auto& [key, row] : wrong) {
    auto options = read({{key, row.first}}, "tensorrt:0");
    ASSERT_FALSE(options.ok()) << key;
    EXPECT_EQ(options.error().code, Code::kInvalid);
    EXPECT_NE(options.error().message.find(key + "=" + row.first), std::string::npos) << options.error().message;
    EXPECT_NE(options.error().message.find(row.second), std::string::npos) << options.error().message;
  }
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
