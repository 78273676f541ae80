// On the fake engine's decoder, whose times and deviations are scripted, and a fake clock.
#include "app/tune_language.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/test_tuning.h"
#include "base/json.h"
#include "serve/config_text.h"
#include "serve/language_config.h"

namespace ridge::app {
namespace {

using testing::HasSubstr;
using tune::language::JudgedForm;

constexpr const char* kConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
    R"("num_attention_heads":2,)"
    R"("num_key_value_heads":1,"head_dim":32,"intermediate_size":128,"vocab_size":96,"max_position_embeddings":512})";

// A token per printable character of ASCII.
std::string tokenizer_of_letters() {
  Json vocabulary = Json::object();
  for (char c = '!'; c <= '~'; ++c) vocabulary[std::string(1, c)] = c - '!';
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return dump_json({{"version", "1.0"},
                    {"added_tokens", Json::array()},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", bytes},
                    {"post_processor", nullptr},
                    {"decoder", bytes},
                    {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}});
}

class TuneLanguage : public TuningTest {
 protected:
  void SetUp() override {
    TuningTest::SetUp();
    ASSERT_TRUE(write_file_atomically(path("m/config.json"), kConfig));
    ASSERT_TRUE(write_file_atomically(path("m/tokenizer.json"), tokenizer_of_letters()));
    // 4 bits are fastest, and off; 8 bits are twice as fast as the defaults.
    script(R"({"int8":{"time":0.5,"deviation":0.01},"int4":{"time":0.25,"deviation":6}})", "{}");
    request_.folder = path("m");
    request_.name = "m";
    request_.repository = path("repository");
    request_.engine = "fake";
    request_.threads = 1;
    for (int i = 0; i < 200; ++i) request_.text += "The-quick-brown-fox-jumps-over-it." + std::to_string(i);
    request_.text_tokens = 64;
    request_.load.prompt_min = request_.load.prompt_max = 40;
    request_.load.output_min = request_.load.output_max = 8;
    request_.load.concurrency = 4;
    request_.seconds = 60;
  }
  void script(const std::string& weights, const std::string& caches) {
    ASSERT_TRUE(write_file_atomically(
        path("m/decoder.fake.json"),
        R"({"vocabulary":96,"context":512,"step_ms":10,"step_ms_per_token":0.5,"weight_bytes":1000000,"weights":)" +
            weights + R"(,"caches":)" + caches + "}"));
  }
  static const JudgedForm& form(const tune::language::LanguageTuning& tuning, engine::WeightFormat weights,
                                engine::CacheForm cache) {
    return *std::ranges::find_if(
        tuning.forms, [&](const JudgedForm& f) { return f.form.weights == weights && f.form.cache == cache; });
  }
  LanguageTuneRequest request_;
};

TEST_F(TuneLanguage, ChoosesTheFastestAcceptedFormAndWritesWhatServeReads) {
  script(R"({"int8":{"time":0.5,"deviation":0.01},"int4":{"time":0.25,"deviation":6}})",
         R"({"fp32":{"time":2},"bf16":{"fail":"no such cache here"}})");
  request_.reference = engine::WeightFormat::kFp32;
  const Result<LanguageTuneResult> result = tune_language(request_, control_);
  ASSERT_TRUE(result) << result.error().message;
  const tune::language::LanguageTuning& t = result->tuning;
  EXPECT_EQ(form(t, engine::WeightFormat::kInt4, engine::CacheForm::kU8).id, "deviates");
  EXPECT_GT(form(t, engine::WeightFormat::kInt4, engine::CacheForm::kU8).deviation->kl_mean, 0.05);
  const JudgedForm& refused = form(t, engine::WeightFormat::kInt8, engine::CacheForm::kBf16);
  EXPECT_EQ(refused.id, "not-opened");
  EXPECT_THAT(refused.reason, HasSubstr("no such cache here"));
  EXPECT_EQ(t.choice, tune::Choice::kCandidate);
  EXPECT_TRUE(t.confirmed);
  EXPECT_EQ(t.best.candidate.form.weights, engine::WeightFormat::kInt8);
  EXPECT_EQ(t.best.candidate.form.cache, engine::CacheForm::kU8);
  EXPECT_NEAR(t.best.gain->ratio, 2, 0.1);
  EXPECT_GT(t.best.percent_of_limit, 0);
  EXPECT_FALSE(t.skipped.empty());
  ASSERT_TRUE(result->saved) << result->saved.error().message;

  EXPECT_TRUE(std::filesystem::exists(path("repository/m/1/tokenizer.json")));
  const Result<std::string> text = read_file(path("repository/m/config.pbtxt"));
  ASSERT_TRUE(text);
  const auto parsed = serve::parse_config_text(*text, "config.pbtxt");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto served = serve::language_config_of(**parsed, "m", 1, path("repository/m/1"), 4, "");
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(served->plan.engine, "fake");
  EXPECT_EQ(served->plan.weights, engine::WeightFormat::kInt8);
  EXPECT_EQ(served->most_sequences, t.best.candidate.sequences);
  EXPECT_EQ(served->step_tokens, t.best.candidate.step_tokens);
  EXPECT_EQ(served->speculate, t.best.candidate.speculation);
}

TEST_F(TuneLanguage, AGraphIsTunedInItsOwnForm) {
  const std::string graph = R"(<net><data element_type="f16" shape="8" offset="0" size="16"/></net>)";
  ASSERT_TRUE(write_file_atomically(path("m/openvino_model.xml"), graph));
  ASSERT_TRUE(write_file_atomically(path("m/openvino_model.bin"), "weights"));
  script("{}", R"({"u8":{"time":2}})");
  const Result<LanguageTuneResult> result = tune_language(request_, control_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.reference.weights, engine::WeightFormat::kFp16);
  EXPECT_EQ(result->tuning.forms.size(), 3U) << "one for each form of the cache";
  EXPECT_EQ(result->tuning.best.candidate.form.weights, engine::WeightFormat::kFp16);
  EXPECT_TRUE(std::filesystem::exists(path("repository/m/1/openvino_model.bin")));
  EXPECT_EQ(engine::form_of(path("repository/m/1"), {}).value(), engine::WeightFormat::kFp16);
  request_.weights = {engine::WeightFormat::kInt8};
  EXPECT_EQ(tune_language(request_, control_).error().code, Code::kUnsupported);
}

TEST_F(TuneLanguage, GoalsDecideBetweenTimeToTheFirstTokenAndTokens) {
  request_.weights = {engine::WeightFormat::kInt8};
  request_.caches = {engine::CacheForm::kU8};
  request_.goals.ttft_ms = 0.001;
  const Result<LanguageTuneResult> never = tune_language(request_, control_);
  ASSERT_TRUE(never) << never.error().message;
  EXPECT_EQ(never->tuning.choice, tune::Choice::kNone);
  EXPECT_FALSE(std::filesystem::exists(path("repository/m")));
  request_.goals.ttft_ms = 10'000;
  const Result<LanguageTuneResult> always = tune_language(request_, control_);
  ASSERT_TRUE(always) << always.error().message;
  EXPECT_EQ(always->tuning.choice, tune::Choice::kCandidate);
  EXPECT_NEAR(*always->tuning.best.figures.goodput_per_s, always->tuning.best.figures.requests_per_s, 1e-9);
}

TEST_F(TuneLanguage, KeepsTheDefaultsWhereNothingIsBetter) {
  script("{}", "{}");
  request_.weights = {engine::WeightFormat::kInt8};
  request_.caches = {engine::CacheForm::kU8};
  request_.load.concurrency = 1;
  request_.load.prompt_min = request_.load.prompt_max = 8;
  const Result<LanguageTuneResult> result = tune_language(request_, control_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.choice, tune::Choice::kBaseline);
  EXPECT_EQ(result->tuning.best.candidate.form.weights, engine::WeightFormat::kBf16);
}

TEST_F(TuneLanguage, RefusesALoadBeyondTheContext) {
  request_.load.prompt_max = 511;
  const Result<LanguageTuneResult> result = tune_language(request_, control_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalid);
  EXPECT_THAT(result.error().message, HasSubstr("519"));
}

}  // namespace
}  // namespace ridge::app
