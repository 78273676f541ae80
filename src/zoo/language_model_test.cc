#include "zoo/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "checkpoint/config.h"
#include "llm/model.h"
#include "zoo/safetensors_writer.h"
#include "zoo/tokenizer_files.h"
#include "zoo/zoo.h"

namespace ridge::zoo {
namespace {

using testing::HasSubstr;

constexpr LanguageModel kTiny = {"tiny", 2, 128, 2, 1, 192, 4096, 256, false};

struct Stored {
  Json header;
  std::string data;
};

Stored read_safetensors(const std::string& path) {
  const std::string file = read_file(path).value();
  uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  return {parse_json(std::string_view(file).substr(8, size), path).value(), file.substr(8 + size)};
}

class LanguageModelFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return temporary_.path() + "/" + name; }
  std::string text(const std::string& name) const { return read_file(path(name)).value(); }
  Json json(const std::string& name) const { return parse_json(text(name), name).value(); }
  std::ptrdiff_t entries() const { return std::distance(std::filesystem::directory_iterator(temporary_.path()), {}); }
  TemporaryFolder temporary_ = *TemporaryFolder::make();
};

TEST_F(LanguageModelFolder, HasTheSameBytesForTheSameSeed) {
  ASSERT_TRUE(write_checkpoint(kTiny, 1, path("a")).ok());
  ASSERT_TRUE(write_checkpoint(kTiny, 1, path("b")).ok());
  ASSERT_TRUE(write_checkpoint(kTiny, 2, path("c")).ok());
  for (const char* file :
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})
    EXPECT_TRUE(text(std::string("a/") + file) == text(std::string("b/") + file)) << file;
  EXPECT_FALSE(text("a/model.safetensors") == text("c/model.safetensors"));
  EXPECT_TRUE(text("a/tokenizer.json") == text("c/tokenizer.json"));
}

TEST_F(LanguageModelFolder, HasTheParametersThatItsConfigSays) {
  for (const bool tied : {false, true}) {
    LanguageModel model = kTiny;
    model.tied = tied;
    ASSERT_TRUE(write_checkpoint(model, 0, path("m")).ok());
    const Result<checkpoint::Config> read = checkpoint::config_from_json(json("m/config.json"), "m");
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Stored stored = read_safetensors(path("m/model.safetensors"));
    EXPECT_EQ(static_cast<double>(stored.data.size()), 2 * llm::parameters_of(read->model).total);
    EXPECT_EQ(stored.header.contains("lm_head.weight"), !tied);
    EXPECT_EQ(stored.header["model.layers.1.self_attn.k_proj.weight"]["shape"], Json::parse("[64, 128]"));
    EXPECT_EQ(stored.header["model.layers.1.mlp.down_proj.weight"]["shape"], Json::parse("[128, 192]"));
  }
}

// safetensors: no holes, in BF16; mapped readers want the first tensor aligned.
TEST_F(LanguageModelFolder, HasItsTensorsOneAfterTheOther) {
  ASSERT_TRUE(write_checkpoint(kTiny, 0, path("m")).ok());
  const Stored stored = read_safetensors(path("m/model.safetensors"));
  int64_t at = 0;
  for (const auto& [name, tensor] : stored.header.items()) {
    if (name == "__metadata__") continue;
    EXPECT_EQ(tensor["dtype"], "BF16");
    EXPECT_EQ(tensor["data_offsets"][0], at) << name;
    at = tensor["data_offsets"][1];
  }
  EXPECT_EQ(at, static_cast<int64_t>(stored.data.size()));
  EXPECT_EQ((std::filesystem::file_size(path("m/model.safetensors")) - stored.data.size()) % 64, 0);
}

TEST_F(LanguageModelFolder, HasWeightsOfTheDeviationThatKeepsActivationsAtOne) {
  ASSERT_TRUE(write_checkpoint(kTiny, 0, path("m")).ok());
  const Stored stored = read_safetensors(path("m/model.safetensors"));
  const auto moments = [&](const char* name) {
    const Json& offsets = stored.header[name]["data_offsets"];
    const size_t begin = offsets[0], end = offsets[1];
    double sum = 0, squares = 0;
    for (size_t i = begin; i < end; i += 2) {
      uint16_t bits = 0;
      std::memcpy(&bits, stored.data.data() + i, sizeof bits);
      const uint32_t wide = static_cast<uint32_t>(bits) << 16;
      float value = 0;
      std::memcpy(&value, &wide, sizeof value);
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    const double n = static_cast<double>(end - begin) / 2;
    return std::pair(sum / n, std::sqrt(squares / n - (sum / n) * (sum / n)));
  };
  // 1 / √128; the last is divided by √(2 · layers), 3 % are more than 5 standard errors.
  EXPECT_NEAR(moments("model.layers.0.self_attn.q_proj.weight").second, 0.0884, 0.0027);
  EXPECT_NEAR(moments("model.layers.0.self_attn.o_proj.weight").second, 0.0442, 0.0014);
  EXPECT_NEAR(moments("model.norm.weight").first, 1, 0.05);
}

// Pieces of one tensor are written by several threads.
TEST_F(LanguageModelFolder, WritesTensorsOfSeveralPieces) {
  const std::vector<Weight> weights = {{"a", {3}, 1, 0.5F}, {"b", {1500, 1000}, 0, 1}};
  ASSERT_TRUE(write_safetensors(weights, 4, path("a")).ok());
  ASSERT_TRUE(write_safetensors(weights, 4, path("b")).ok());
  EXPECT_TRUE(text("a") == text("b"));
  const Stored stored = read_safetensors(path("a"));
  ASSERT_EQ(stored.data.size(), 2 * 1'500'003);
  // The second piece differs from the first, and nothing was left out.
  EXPECT_NE(stored.data.substr(6, 1000), stored.data.substr(6 + (2 << 20), 1000));
  EXPECT_NE(stored.data.substr(stored.data.size() - 8), std::string(8, '\0'));
}

TEST_F(LanguageModelFolder, ReplacesItsOwnFolderAndRefusesOthers) {
  ASSERT_TRUE(write_checkpoint(kTiny, 0, path("m")).ok());
  EXPECT_TRUE(write_checkpoint(kTiny, 0, path("m") + "/").ok());
  std::ofstream(path("m/notes.txt")) << "mine";
  const Status added = write_checkpoint(kTiny, 0, path("m"));
  EXPECT_THAT(added.error().message, HasSubstr("notes.txt"));
  std::filesystem::create_directory(path("other"));
  EXPECT_TRUE(write_checkpoint(kTiny, 0, path("other")).ok());  // empty
  std::filesystem::create_directory(path("theirs"));
  std::ofstream(path("theirs/config.json")) << "{}";
  EXPECT_EQ(write_checkpoint(kTiny, 0, path("theirs")).error().code, Code::kInvalid);
  std::ofstream(path("file")) << "x";
  EXPECT_EQ(write_checkpoint(kTiny, 0, path("file")).error().code, Code::kInvalid);
  EXPECT_EQ(entries(), 4);
  EXPECT_EQ(text("theirs/config.json"), "{}");
  EXPECT_EQ(text("m/notes.txt"), "mine");
}

TEST(TokenizerFiles, NumberEveryTokenOnce) {
  for (const size_t vocabulary : {4096, 32'000}) {
    const TokenizerFiles files = tokenizer_files(vocabulary);
    const Json tokenizer = parse_json(files.tokenizer, "tokenizer.json").value();
    std::set<int64_t> numbers;
    for (const auto& [text, number] : tokenizer["model"]["vocab"].items()) numbers.insert(number.get<int64_t>());
    for (const Json& added : tokenizer["added_tokens"]) numbers.insert(added["id"].get<int64_t>());
    EXPECT_EQ(numbers.size(), vocabulary);
    EXPECT_EQ(*numbers.begin(), 0);
    EXPECT_EQ(*numbers.rbegin(), static_cast<int64_t>(vocabulary) - 1);
    EXPECT_EQ(tokenizer["added_tokens"][0]["id"], files.special.begin);
    EXPECT_EQ(tokenizer["added_tokens"].size() > 4, vocabulary == 32'000);  // more than the texts give
  }
}

TEST(TokenizerFiles, MergeOnlyTokensOfTheVocabulary) {
  const Json tokenizer = parse_json(tokenizer_files(8192).tokenizer, "tokenizer.json").value();
  std::set<std::string> vocabulary;
  for (const auto& [text, number] : tokenizer["model"]["vocab"].items()) vocabulary.insert(text);
  EXPECT_EQ(tokenizer["model"]["vocab"]["Ġ"], 32);
  for (const Json& merge : tokenizer["model"]["merges"]) {
    const auto text = merge.get<std::string>();
    const size_t blank = text.find(' ');
    ASSERT_NE(blank, std::string::npos);
    const std::string left = text.substr(0, blank), right = text.substr(blank + 1);
    EXPECT_TRUE(vocabulary.contains(left) && vocabulary.contains(right) && vocabulary.contains(left + right)) << text;
  }
}

TEST(TokenizerFiles, HaveAChatTemplateAndItsTokens) {
  const Json config = parse_json(tokenizer_files(4096).config, "tokenizer_config.json").value();
  EXPECT_THAT(config["chat_template"].get<std::string>(), HasSubstr("<|im_start|>assistant"));
  EXPECT_EQ(config["added_tokens_decoder"].size(), 4);
  EXPECT_EQ(config["eos_token"], "<|im_end|>");
}

TEST(LanguageModels, HaveNoOptionsOfOnnxFiles) {
  ZooOptions options;
  options.batch = 2;
  EXPECT_EQ(describe("llama-90m", options).error().code, Code::kInvalid);
  options = {};
  options.seed = 9;
  const Result<ZooDescription> described = describe("llama-90m", options);
  ASSERT_TRUE(described.ok());
  EXPECT_TRUE(described->folder);
  EXPECT_EQ(described->weight_bytes, 2 * described->parameters);
}

}  // namespace
}  // namespace ridge::zoo
