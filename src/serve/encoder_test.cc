#include "serve/encoder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model_config.pb.h"
#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

TensorSettings tensor(const char* name, DataType type, Shape dims) {
  TensorSettings settings;
  settings.name = name;
  settings.type = type;
  settings.dims = std::move(dims);
  return settings;
}

class EncoderTest : public testing::Test {
 protected:
  EncoderTest() {
    settings_.name = "m";
    settings_.max_batch_size = 4;
    for (const char* name : {"input_ids", "attention_mask"})
      settings_.inputs.push_back(tensor(name, DataType::kInt64, {-1}));
    settings_.outputs.push_back(tensor("last_hidden_state", DataType::kFp32, {-1, 6}));
    write("tokenizer.json", test_tokenizer());
  }
  void write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(write_file_atomically(folder_.path() + "/" + name, text));
  }
  Result<EncoderPtr> read() const { return read_encoder(config_, settings_, folder_.path()); }
  void expect_refused(const std::string& named) const {
    const Result<EncoderPtr> encoder = read();
    ASSERT_FALSE(encoder) << named;
    EXPECT_NE(encoder.error().message.find(named), std::string::npos) << encoder.error().message;
  }

  TemporaryFolder folder_ = *TemporaryFolder::make();
  inference::ModelConfig config_;
  ModelSettings settings_;
};

TEST_F(EncoderTest, PoolsByMeanWhereNothingSaysOtherwise) {
  const Result<EncoderPtr> encoder = read();
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_EQ((*encoder)->pooling, Pooling::kMean);
  EXPECT_EQ((*encoder)->most_rows, 4);
  EXPECT_EQ((*encoder)->most_tokens, 0);
}

TEST_F(EncoderTest, KeepsToWhatItsFilesSay) {
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})");
  write("tokenizer_config.json", R"({"model_max_length":512})");
  write("config.json", R"({"max_position_embeddings":514})");
  const Result<EncoderPtr> encoder = read();
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_EQ((*encoder)->pooling, Pooling::kCls);
  EXPECT_EQ((*encoder)->most_tokens, 512);
  (*config_.mutable_parameters())["ridge_pooling"].set_string_value("mean");
  expect_refused("differ");
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  expect_refused("pooling_mode_max_tokens");
}

TEST_F(EncoderTest, APooledOutputIsTakenAsItIs) {
  settings_.outputs.push_back(tensor("sentence_embedding", DataType::kFp32, {6}));
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  const Result<EncoderPtr> encoder = read();
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_EQ((*encoder)->output, "sentence_embedding");
  EXPECT_EQ((*encoder)->pooling, Pooling::kNone);
}

TEST_F(EncoderTest, NamesWhatKeepsAModelFromBeingOne) {
  const ModelSettings right = settings_;
  settings_.inputs.push_back(tensor("position_ids", DataType::kInt64, {-1}));
  expect_refused("position_ids");
  settings_ = right;
  settings_.inputs.pop_back();
  expect_refused("attention_mask");
  settings_ = right;
  settings_.inputs[0].dims = {128};
  expect_refused("attention_mask");
  settings_ = right;
  settings_.outputs[0].name = "logits";
  expect_refused("last_hidden_state");
  settings_ = right;
  write("tokenizer.json", R"({"model":{"type":"Unigram"}})");
  expect_refused("Unigram");
}

TEST_F(EncoderTest, WithoutATokenizerNothingIsSaid) {
  const TemporaryFolder empty = *TemporaryFolder::make();
  EXPECT_EQ(read_encoder(config_, settings_, empty.path()).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace ridge::serve
