#include "serve/embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

EncoderPtr test_encoder(Pooling pooling, int64_t fixed_length = 0) {
  return std::make_shared<Encoder>(Encoder{.model = "m",
                                           .version = 3,
                                           .tokenizer = *text::Tokenizer::parse(test_tokenizer()),
                                           .inputs = {{"input_ids", EncoderInput::Kind::kTokens, DataType::kInt64},
                                                      {"attention_mask", EncoderInput::Kind::kMask, DataType::kInt32}},
                                           .output = "last_hidden_state",
                                           .pooling = pooling,
                                           .fixed_length = fixed_length,
                                           .most_tokens = 8,
                                           .most_rows = 2});
}

// Keeps what it is asked, and answers [token, 1, mask] for each token, of which padding has a token of 9.
struct FakeModel {
  std::vector<Shape> shapes;
  size_t fail_from = 1000;

  void operator()(const InferRequest& request, const InferDone& done) {
    EXPECT_EQ(request.model, "m");
    EXPECT_EQ(request.version, 3);
    shapes.push_back(request.inputs[0].shape);
    if (shapes.size() > fail_from) return done(Error{Code::kUnavailable, "the queue is full"});
    const auto count = static_cast<size_t>(*element_count(shapes.back()));
    auto values = std::make_shared<std::vector<float>>();
    for (size_t i = 0; i < count; ++i) {
      int64_t token = 0;
      int32_t mask = 0;
      std::memcpy(&token, request.inputs[0].data.data() + i * sizeof token, sizeof token);
      std::memcpy(&mask, request.inputs[1].data.data() + i * sizeof mask, sizeof mask);
      values->insert(values->end(), {static_cast<float>(mask == 0 ? 9 : token), 1, static_cast<float>(mask)});
    }
    InferResponse answer;
    Shape shape = shapes.back();
    shape.push_back(3);
    answer.outputs.push_back({.name = "last_hidden_state",
                              .type = DataType::kFp32,
                              .shape = shape,
                              .data = std::as_bytes(std::span(*values)),
                              .owner = values});
    done(std::move(answer));
  }
};

Result<Vectors> embedded(FakeModel& model, const EncoderPtr& encoder, std::vector<std::vector<int32_t>> texts) {
  Result<Vectors> found{Error{}};
  embed(std::ref(model), encoder, {.texts = std::move(texts)},
        [&](Result<Vectors> vectors) { found = std::move(vectors); });
  return found;
}

TEST(Embedding, GroupsTextsOfSimilarLengths) {
  const std::vector<size_t> lengths{9, 2, 1, 4, 5, 2};
  EXPECT_EQ(group_by_length(lengths, 3), (std::vector<std::vector<size_t>>{{2, 1, 5}, {3, 4}, {0}}));
  EXPECT_EQ(group_by_length(lengths, 1).size(), lengths.size());
}

TEST(Embedding, IsTheMeanOfItsOwnTokensOfLengthOne) {
  FakeModel model;
  const Result<Vectors> found = embedded(model, test_encoder(Pooling::kMean), {{3}, {1, 2, 4}, {5, 7}});
  ASSERT_TRUE(found) << found.error().message;
  const float length = std::sqrt(9.0F + 1 + 1);
  EXPECT_FLOAT_EQ((*found)[0][0], 3 / length);
  EXPECT_FLOAT_EQ((*found)[0][2], 1 / length);
  EXPECT_FLOAT_EQ((*found)[1][0] / (*found)[1][1], 7.0F / 3);
  EXPECT_FLOAT_EQ((*found)[2][0] / (*found)[2][1], 6);
}

TEST(Embedding, MayBeThatOfTheFirstToken) {
  FakeModel model;
  const Result<Vectors> found = embedded(model, test_encoder(Pooling::kCls, 8), {{2, 4}, {6, 1, 1}});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FLOAT_EQ((*found)[0][0] / (*found)[0][1], 2);
  EXPECT_FLOAT_EQ((*found)[1][0] / (*found)[1][1], 6);
  EXPECT_EQ(model.shapes, std::vector<Shape>({{2, 8}})) << "rows of the model's fixed length";
}

TEST(Embedding, EndsWithTheFirstError) {
  FakeModel model{.shapes = {}, .fail_from = 1};
  const Result<Vectors> found = embedded(model, test_encoder(Pooling::kMean), {{1}, {1}, {1}, {1}, {1}});
  EXPECT_EQ(found.error().code, Code::kUnavailable);
  EXPECT_EQ(model.shapes.size(), 2U) << "nothing is sent after it";
}

TEST(Embedding, RefusesTextsThatTheModelCannotTake) {
  const EncoderPtr encoder = test_encoder(Pooling::kMean);
  const auto check = [&](std::vector<std::vector<int32_t>> texts) { return check_texts(*encoder, texts); };
  EXPECT_TRUE(check({{0, kTestEnd}, std::vector<int32_t>(8)}));
  EXPECT_NE(check({{1}, std::vector<int32_t>(9)}).error().message.find("input 1 has 9 tokens"), std::string::npos);
  for (const std::vector<int32_t>& wrong : {std::vector<int32_t>{}, {-1}, {kTestEnd + 1}})
    EXPECT_EQ(check({wrong}).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::serve
