#include "serve/language_config.h"

#include <gtest/gtest.h>

#include <string>

namespace ridge::serve {
namespace {

Result<LanguageConfig> read_language_config(const std::string& text) {
  RIDGE_ASSIGN(const ConfigPtr config, parse_config_text(text, "m/config.pbtxt"));
  return language_config_of(*config, "m", 3, "", 6, "");
}

std::string language_parameter(const std::string& key, const std::string& value) {
  return "parameters { key: \"" + key + "\" value { string_value: \"" + value + "\" } }\n";
}

TEST(LanguageConfig, AnEngineWithADecoderIsTakenWhereNoneIsNamed) {
  const auto read = read_language_config("");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->plan.engine.empty());
  EXPECT_EQ(read->plan.threads, 6);
  EXPECT_EQ(read->settings.version, 3);
}

TEST(LanguageConfig, ParametersSetThePlanAndTheScheduler) {
  const auto read = read_language_config(
      "backend: \"fake\" metric_tags { key: \"k\" value: \"v\" }" + language_parameter("ridge_weights", "int4") +
      language_parameter("ridge_cache", "bf16") + language_parameter("ridge_threads", "2") +
      language_parameter("ridge_cache_tokens", "5000") + language_parameter("ridge_context", "700") +
      language_parameter("ridge_sequences", "9") + language_parameter("ridge_step_tokens", "128") +
      language_parameter("ridge_token_goal_ms", "12.5") + language_parameter("ridge_prefix_reuse", "0") +
      language_parameter("ridge_speculation", "0") + language_parameter("ridge_generation_config", "0") +
      language_parameter("other", "x"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->plan.engine, "fake");
  EXPECT_EQ(read->plan.weights, engine::WeightFormat::kInt4);
  EXPECT_EQ(read->plan.cache, engine::CacheForm::kBf16);
  EXPECT_EQ(read->plan.threads, 2);
  EXPECT_EQ(read->cache_tokens, 5000);
  EXPECT_EQ(read->context, 700);
  EXPECT_EQ(read->most_sequences, 9);
  EXPECT_EQ(read->step_tokens, 128);
  EXPECT_EQ(read->token_goal, std::chrono::microseconds(12'500));
  EXPECT_FALSE(read->prefix_reuse);
  EXPECT_FALSE(read->speculate);
  EXPECT_FALSE(read->generation_config);
  EXPECT_EQ(read->settings.metric_tags.size(), 1U);
}

TEST(LanguageConfig, AWrongValueIsNamedWithItsParameter) {
  for (const auto& [key, value] :
       {std::pair{"ridge_weights", "fp8"}, std::pair{"ridge_cache", "int8"}, std::pair{"ridge_threads", "-1"},
        std::pair{"ridge_cache_tokens", "0"}, std::pair{"ridge_context", "many"}, std::pair{"ridge_sequences", "70000"},
        std::pair{"ridge_step_tokens", "0"}, std::pair{"ridge_token_goal_ms", "0"},
        std::pair{"ridge_prefix_reuse", "maybe"}, std::pair{"ridge_speculation", "2"},
        std::pair{"ridge_generation_config", "vllm"}}) {
    const auto read = read_language_config(language_parameter(key, value));
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_NE(read.error().message.find(key), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find(value), std::string::npos) << read.error().message;
  }
}

TEST(LanguageConfig, WhatALanguageModelDoesNotHaveIsRefused) {
  for (const auto& [field, text] :
       {std::pair{"input", "input { name: \"x\" data_type: TYPE_FP32 dims: 1 }"},
        std::pair{"max_batch_size", "max_batch_size: 4"}, std::pair{"dynamic_batching", "dynamic_batching {}"},
        std::pair{"instance_group", "instance_group { count: 2 }"}}) {
    const auto read = read_language_config(text);
    ASSERT_FALSE(read.ok()) << field;
    EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace ridge::serve
