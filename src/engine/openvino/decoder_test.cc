// The decoder against a forward pass in double precision, and against itself where the answer must not depend on how
// steps are cut.
#include "engine/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stop_token>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "engine/engines.h"
#include "engine/openvino/instruction_sets.h"
#include "engine/openvino/packed_kernels.h"
#include "engine/test_checkpoint.h"
#include "engine/test_graph.h"

namespace ridge::engine::openvino {
namespace {

using Rows = std::vector<std::vector<double>>;

class OpenVinoDecoderTest : public testing::Test {
 protected:
  void SetUp() override {
    plan::Plan plan;
    plan.engine = "openvino";
    if (Result<Info> found = find_engine(plan); !found) GTEST_SKIP() << found.error().message;
    ASSERT_TRUE(folder_.ok());
    plan_ = {.engine = "openvino",
             .folder = folder_->path(),
             .weights = WeightFormat::kFp32,
             .cache = CacheForm::kFp32,
             .threads = 1};
  }

  std::unique_ptr<Decoder> open(TestCheckpoint& checkpoint, const std::string& dtype = "F32", int64_t blocks = 12) {
    checkpoint.write(folder_->path(), dtype);
    return open_written(blocks);
  }
  std::unique_ptr<Decoder> open_gguf(TestCheckpoint& checkpoint, std::string_view type) {
    plan_.folder = folder_->path() + "/model.gguf";
    checkpoint.write_gguf(plan_.folder, type);
    return open_written(12);
  }
  std::unique_ptr<Decoder> open_written(int64_t blocks) {
    Result<std::unique_ptr<Decoder>> decoder = open_decoder(plan_);
    EXPECT_TRUE(decoder.ok()) << (decoder ? "" : decoder.error().message);
    if (!decoder) return nullptr;
    const Status reserved = (*decoder)->reserve(blocks);
    EXPECT_TRUE(reserved.ok()) << (reserved ? "" : reserved.error().message);
    return std::move(*decoder);
  }

  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  DecoderPlan plan_;
};

std::vector<int32_t> text(int count, int seed = 1) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(split_mix(static_cast<uint64_t>(seed) * 1000 + i) % 96);
  return tokens;
}

Rows run(Decoder& decoder, const std::vector<StepSequence>& sequences) {
  const Result<Logits> logits = decoder.step(sequences);
  EXPECT_TRUE(logits.ok()) << (logits ? "" : logits.error().message);
  Rows rows;
  if (!logits) return rows;
  const auto vocabulary = static_cast<size_t>(decoder.info().vocabulary);
  for (size_t i = 0; i < static_cast<size_t>(logits->rows); ++i) {
    const std::span<const float> row = logits->values.subspan(i * vocabulary, vocabulary);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<int32_t> blocks_of(int64_t tokens, int32_t first = 0) {
  std::vector<int32_t> blocks(static_cast<size_t>((tokens + 31) / 32));
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

// Largest difference over the largest magnitude of the expected values.
double deviation(const Rows& rows, const Rows& expected) {
  EXPECT_EQ(rows.size(), expected.size());
  double difference = 0, largest = 0;
  for (size_t i = 0; i < std::min(rows.size(), expected.size()); ++i)
    for (size_t j = 0; j < expected[i].size(); ++j) {
      largest = std::max(largest, std::abs(expected[i][j]));
      difference = std::max(difference, std::abs(rows[i][j] - expected[i][j]));
    }
  return std::isfinite(difference) && largest > 0 ? difference / largest : INFINITY;
}

struct Form {
  const char* name;
  Json changes;
};

class OpenVinoDecoderKinds : public OpenVinoDecoderTest, public testing::WithParamInterface<Form> {};

INSTANTIATE_TEST_SUITE_P(
    Kinds, OpenVinoDecoderKinds,
    testing::Values(Form{"Llama", Json::object()}, Form{"Tied", {{"tie_word_embeddings", true}}},
                    Form{"OneKeyPerHead", {{"num_key_value_heads", 4}, {"num_hidden_layers", 3}}},
                    Form{"OneKeyForAll", {{"num_key_value_heads", 1}}},
                    Form{"LlamaWithBiases", {{"attention_bias", true}}},
                    Form{"Mistral", {{"model_type", "mistral"}, {"head_dim", 64}}},
                    Form{"Qwen2", {{"model_type", "qwen2"}}}, Form{"Qwen3", {{"model_type", "qwen3"}}},
                    Form{"LinearPositions", {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}},
                    Form{"Llama3Positions",
                         {{"rope_scaling",
                           {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}}}}}),
    [](const auto& form) { return form.param.name; });

TEST_P(OpenVinoDecoderKinds, Fp32AgreesWithTheForwardPassInDouble) {
  TestCheckpoint checkpoint(GetParam().changes);
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(70), blocks = blocks_of(70);
  const Rows rows = run(*decoder, {{0, tokens, blocks, 70}});
  EXPECT_LT(deviation(rows, checkpoint.logits(tokens)), 1e-4);
  EXPECT_EQ(decoder->info().engine.executed.find("bf16"), std::string::npos) << decoder->info().engine.executed;
}

TEST_F(OpenVinoDecoderTest, SaysWhatItIs) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const DecoderInfo& info = decoder->info();
  EXPECT_EQ(info.engine.name, "openvino");
  EXPECT_EQ(info.engine.threads, 1);
  EXPECT_EQ(info.vocabulary, 96);
  EXPECT_EQ(info.context, 256);
  EXPECT_EQ(info.cache.block_tokens, 32);
  EXPECT_EQ(info.cache.bytes_per_block, 2 * 2 * 32 * 2 * 32 * 4)
      << "keys and values, layers, tokens, heads, head_dim, FP32";
  const int64_t layer = 64 + 64 + 64 * 32 * (4 + 2 + 2 + 4) + 3 * 64 * 96;
  EXPECT_EQ(info.weight_bytes, 4 * (2 * layer + 64 + 96 * 64));
}

TEST_F(OpenVinoDecoderTest, ChunksGiveWhatOnePieceGives) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(75), blocks = blocks_of(75);
  const std::span<const int32_t> all(tokens);
  EXPECT_TRUE(run(*decoder, {{0, all.first(20), blocks, 0}}).empty()) << "no logits are wanted";
  run(*decoder, {{20, all.subspan(20, 33), blocks, 0}});
  run(*decoder, {{53, all.subspan(53, 20), blocks, 1}});
  const Rows expected = checkpoint.logits(tokens);
  EXPECT_LT(deviation(run(*decoder, {{73, all.subspan(73, 1), blocks, 1}}), {expected[73]}), 1e-4);
  EXPECT_LT(deviation(run(*decoder, {{74, all.subspan(74, 1), blocks, 1}}), {expected[74]}), 1e-4);
}

TEST_F(OpenVinoDecoderTest, NeighboursAndTheOrderOfBlocksChangeNothing) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> a = text(50, 1), b = text(90, 2), c = text(5, 3), d = text(33, 4);
  const std::vector<int32_t> a_blocks = {7, 2}, b_blocks = {11, 0, 5}, c_blocks = {1}, d_blocks = {10, 3};
  const std::span<const int32_t> of_b(b), of_d(d);
  run(*decoder, {{0, of_b.first(89), b_blocks, 0}, {0, of_d.first(10), d_blocks, 1}});
  // A whole prompt, a decode, a short prompt that wants all rows, and a chunk.
  const Rows rows = run(
      *decoder,
      {{0, a, a_blocks, 2}, {89, of_b.last(1), b_blocks, 1}, {0, c, c_blocks, 5}, {10, of_d.last(23), d_blocks, 1}});
  Rows expected;
  for (const auto& [tokens, samples] : {std::pair{a, 2}, {b, 1}, {c, 5}, {d, 1}}) {
    const Rows all = checkpoint.logits(tokens);
    expected.insert(expected.end(), all.end() - samples, all.end());
  }
  EXPECT_LT(deviation(rows, expected), 1e-4);
}

TEST_F(OpenVinoDecoderTest, SharedBlocksGiveWhatOwnOnesGive) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  std::vector<int32_t> first = text(80, 1), second = first;
  std::copy_n(text(16, 9).begin(), 16, second.end() - 16);  // the first 64 tokens are the same
  const std::vector<int32_t> first_blocks = {4, 8, 1}, second_blocks = {4, 8, 6};
  const std::span<const int32_t> of_first(first), of_second(second);
  run(*decoder, {{0, of_first.first(79), first_blocks, 0}});
  const Rows rows =
      run(*decoder, {{64, of_second.last(16), second_blocks, 1}, {79, of_first.last(1), first_blocks, 1}});
  EXPECT_LT(deviation(rows, {checkpoint.logits(second).back(), checkpoint.logits(first).back()}), 1e-4);
}

TEST_F(OpenVinoDecoderTest, AReservedCacheIsEmptyAgainAndAStepOutsideItIsRefused) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint, "F32", 2);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(40), blocks = {0, 2}, fine = {1, 0};
  const StepSequence outside{0, tokens, blocks, 1};
  EXPECT_EQ(decoder->step({&outside, 1}).error().code, Code::kInvalid);
  ASSERT_TRUE(decoder->reserve(3).ok());
  EXPECT_LT(deviation(run(*decoder, {outside}), {checkpoint.logits(tokens).back()}), 1e-4);
  ASSERT_TRUE(decoder->reserve(2).ok());
  EXPECT_FALSE(decoder->step({&outside, 1}).ok());
  EXPECT_LT(deviation(run(*decoder, {{0, tokens, fine, 1}}), {checkpoint.logits(tokens).back()}), 1e-4);
  EXPECT_EQ(decoder->reserve(int64_t{1} << 40).error().code, Code::kExhausted);
}

TEST_F(OpenVinoDecoderTest, AStepThatWasBrokenOffLeavesWhatWasBeforeItAsItWas) {
  TestCheckpoint checkpoint;
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(200), blocks = blocks_of(200);
  const std::span<const int32_t> all(tokens);
  run(*decoder, {{0, all.first(20), blocks, 0}});
  decoder->terminate();  // no step is under way: no effect
  const StepSequence rest{20, all.subspan(20), blocks, 1};
  bool cancelled = false;
  {
    std::jthread breaker([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) decoder->terminate();
    });
    for (int i = 0; i < 10000 && !cancelled; ++i) {
      const Result<Logits> logits = decoder->step({&rest, 1});
      cancelled = !logits.ok() && logits.error().code == Code::kCancelled;
      ASSERT_TRUE(logits.ok() || cancelled) << logits.error().message;
    }
  }
  EXPECT_TRUE(cancelled);
  EXPECT_LT(deviation(run(*decoder, {rest}), {checkpoint.logits(tokens).back()}), 1e-4);
}

struct Compressed {
  WeightFormat weights;
  CacheForm cache;
  double deviation;
  Json changes = Json::object();  // also what the layers have beside their matrices
};

class OpenVinoDecoderForms : public OpenVinoDecoderTest, public testing::WithParamInterface<Compressed> {};

// Bounds: about twice what was seen on a CPU with AVX-512.
INSTANTIATE_TEST_SUITE_P(
    Forms, OpenVinoDecoderForms,
    testing::Values(Compressed{WeightFormat::kFp32, CacheForm::kU8, 0.015},
                    Compressed{WeightFormat::kBf16, CacheForm::kBf16, 0.025},
                    Compressed{WeightFormat::kBf16, CacheForm::kU8, 0.025, {{"attention_bias", true}}},
                    Compressed{WeightFormat::kInt8, CacheForm::kU8, 0.04, {{"model_type", "qwen3"}}},
                    Compressed{WeightFormat::kInt4,
                               CacheForm::kU8,
                               0.4,
                               {{"tie_word_embeddings", true}, {"num_hidden_layers", 3}}}),
    [](const auto& form) {
      return std::string(name_of(names_of(form.param.weights), form.param.weights)) + "_" +
             std::string(name_of(names_of(form.param.cache), form.param.cache));
    });

TEST_P(OpenVinoDecoderForms, StayNear) {
  const Compressed& form = GetParam();
  TestCheckpoint checkpoint(form.changes);
  plan_.weights = form.weights;
  plan_.cache = form.cache;
  if (form.cache == CacheForm::kBf16 && missing_for(Precision::kBf16, instruction_sets()))
    GTEST_SKIP() << *missing_for(Precision::kBf16, instruction_sets());
  auto decoder = open(checkpoint);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(70), blocks = blocks_of(70);
  const std::span<const int32_t> all(tokens);
  run(*decoder, {{0, all.first(60), blocks, 0}});
  const Rows expected = checkpoint.logits(tokens);
  const double found =
      deviation(run(*decoder, {{60, all.last(10), blocks, 10}}), Rows(expected.end() - 10, expected.end()));
  RecordProperty("deviation", std::to_string(found));
  EXPECT_LT(found, form.deviation);
  EXPECT_GT(found, 1e-6) << "that form was not computed in";
}

TEST_F(OpenVinoDecoderTest, ReadsACheckpointInBf16AsItIs) {
  TestCheckpoint checkpoint(Json{{"tie_word_embeddings", true}});
  auto decoder = open(checkpoint, "BF16");
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(40), blocks = blocks_of(40);
  EXPECT_LT(deviation(run(*decoder, {{0, tokens, blocks, 1}}), {checkpoint.logits(tokens).back()}), 1e-4);
}

struct GgufCase {
  const char* name;
  Json changes;
  std::string_view type;
  WeightFormat weights = WeightFormat::kFp32;
  double deviation = 1e-4;
};

class OpenVinoDecoderGguf : public OpenVinoDecoderTest, public testing::WithParamInterface<GgufCase> {};

// INT8 and INT4 take the file's integers, so only activations are rounded. Bounds: about twice what was seen on a CPU
// with AVX-512.
INSTANTIATE_TEST_SUITE_P(Kinds, OpenVinoDecoderGguf,
                         testing::Values(GgufCase{"Llama", {{"tie_word_embeddings", true}}, "F32"},
                                         GgufCase{"LlamaWithBiases", {{"attention_bias", true}}, "BF16"},
                                         GgufCase{"Mistral", {{"model_type", "mistral"}, {"head_dim", 64}}, "F16"},
                                         GgufCase{"Qwen2", {{"model_type", "qwen2"}}, "Q8_0"},
                                         GgufCase{"Qwen3", {{"model_type", "qwen3"}}, "Q4_0"},
                                         GgufCase{"LlamaInt8", Json::object(), "Q8_0", WeightFormat::kInt8, 0.04},
                                         GgufCase{"LlamaInt4", Json::object(), "Q4_0", WeightFormat::kInt4, 0.04}),
                         [](const auto& gguf) { return gguf.param.name; });

TEST_P(OpenVinoDecoderGguf, AgreesWithTheForwardPassOfItsValues) {
  TestCheckpoint checkpoint(GetParam().changes);
  plan_.weights = GetParam().weights;
  auto decoder = open_gguf(checkpoint, GetParam().type);
  ASSERT_NE(decoder, nullptr);
  const bool mapped = text_or_empty("/proc/self/maps").find(plan_.folder) != std::string::npos;
  EXPECT_TRUE(!mapped || (GetParam().type == "F32" && !packing_pays(WeightFormat::kFp32)))
      << "nothing but OpenVINO's own matrices in FP32 is read from the file";
  const std::vector<int32_t> tokens = text(40), blocks = blocks_of(40);
  const double found = deviation(run(*decoder, {{0, tokens, blocks, 40}}), checkpoint.logits(tokens));
  RecordProperty("deviation", std::to_string(found));
  EXPECT_LT(found, GetParam().deviation);
}

TEST_F(OpenVinoDecoderTest, AnExportedGraphAgreesWithTheForwardPassInChunksToo) {
  TestCheckpoint checkpoint;
  TestGraph(checkpoint, "F32").write(folder_->path());
  auto decoder = open_written(12);
  ASSERT_NE(decoder, nullptr);
  const int64_t layer = 64 + 64 + 64 * 32 * (4 + 2 + 2 + 4) + 3 * 64 * 96;
  EXPECT_NEAR(static_cast<double>(decoder->info().weight_bytes), 4.0 * (2 * layer + 64 + 96 * 64), 4000)
      << "without the embedding; beside the weights only the graph's small constants";
  const std::vector<int32_t> tokens = text(70), other = text(40, 2), blocks = {3, 0, 5}, other_blocks = {7, 1};
  const std::span<const int32_t> all(tokens);
  run(*decoder, {{0, all.first(33), blocks, 0}});
  const Rows rows = run(*decoder, {{33, all.subspan(33), blocks, 37}, {0, other, other_blocks, 2}});
  Rows expected = checkpoint.logits(tokens);
  expected.erase(expected.begin(), expected.begin() + 33);
  const Rows last = checkpoint.logits(other);
  expected.insert(expected.end(), last.end() - 2, last.end());
  EXPECT_LT(deviation(rows, expected), 1e-4);
}

TEST_F(OpenVinoDecoderTest, AnExportedGraphKeepsItsForm) {
  TestCheckpoint checkpoint;
  TestGraph(checkpoint, "F16").write(folder_->path());
  const std::string& folder = folder_->path();
  EXPECT_EQ(open_decoder(plan_).error().code, Code::kUnsupported) << "fp32 is asked for";
  EXPECT_EQ(form_of(folder, WeightFormat::kInt8).error().code, Code::kUnsupported);
  ASSERT_TRUE(form_of(folder, std::nullopt).ok());
  plan_.weights = *form_of(folder, std::nullopt);
  plan_.cache = CacheForm::kU8;
  EXPECT_EQ(plan_.weights, WeightFormat::kFp16);
  auto decoder = open_written(12);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = text(40), blocks = blocks_of(40);
  EXPECT_LT(deviation(run(*decoder, {{0, tokens, blocks, 40}}), checkpoint.logits(tokens)), 0.025);
  plan_.folder += "/none";
  plan_.weights = WeightFormat::kFp16;
  EXPECT_EQ(open_decoder(plan_).error().code, Code::kUnsupported) << "only graphs have weights in fp16";
}

TEST_F(OpenVinoDecoderTest, AGraphOfAnotherFormIsRefusedWithWhatWasFound) {
  struct Case {
    const char* found;
    void (*change)(TestGraph&);
    Json config = Json::object();
  };
  const Case cases[] = {
      {"no MatMul before its output, but Softmax", [](TestGraph& graph) { graph.softmax = true; }},
      {"0 states", [](TestGraph& graph) { graph.states = false; }},
      {"tokens i64", [](TestGraph& graph) { graph.ids = "tokens"; }},
      {"turned 2 of 3 layers", [](TestGraph&) {}, {{"num_hidden_layers", 3}}},
      {"logits of 90 tokens", [](TestGraph&) {}, {{"vocab_size", 90}}},
  };
  for (const Case& each : cases) {
    TestCheckpoint checkpoint;
    TestGraph graph(checkpoint, "F32");
    each.change(graph);
    graph.write(folder_->path());
    TestCheckpoint(each.config).write_config(folder_->path());
    const Result<std::unique_ptr<Decoder>> decoder = open_decoder(plan_);
    ASSERT_FALSE(decoder.ok()) << each.found;
    EXPECT_EQ(decoder.error().code, Code::kUnsupported);
    EXPECT_NE(decoder.error().message.find(each.found), std::string::npos) << decoder.error().message;
  }
}

TEST_F(OpenVinoDecoderTest, RefusesWhatItDoesNotComputeByName) {
  TestCheckpoint checkpoint;
  checkpoint.write(folder_->path());
  plan_.cache = CacheForm::kBf16;
  EXPECT_EQ(open_decoder(plan_).error().code, Code::kUnsupported) << "with weights in fp32";
  plan_.cache = CacheForm::kU8;
  checkpoint.remove("model.layers.1.self_attn.k_proj.weight");
  checkpoint.write(folder_->path());
  const Result<std::unique_ptr<Decoder>> incomplete = open_decoder(plan_);
  ASSERT_FALSE(incomplete.ok());
  EXPECT_NE(incomplete.error().message.find("model.layers.1.self_attn.k_proj.weight"), std::string::npos);
  plan_.weights = WeightFormat::kInt4;
  TestCheckpoint narrow(Json{{"intermediate_size", 80}});
  narrow.write(folder_->path());
  EXPECT_EQ(open_decoder(plan_).error().code, Code::kUnsupported) << "rows of 80 values";
}

TEST(Decoders, AnEngineWithoutOneSaysWhichHaveOne) {
  const Result<std::unique_ptr<Decoder>> decoder = open_decoder({.engine = "onnxruntime"});
  ASSERT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.error().code, Code::kUnsupported);
  EXPECT_NE(decoder.error().message.find("openvino"), std::string::npos) << decoder.error().message;
  EXPECT_EQ(decoder.error().message.find("fake"), std::string::npos) << decoder.error().message;
}

}  // namespace
}  // namespace ridge::engine::openvino
