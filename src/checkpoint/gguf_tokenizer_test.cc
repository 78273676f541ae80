#include "checkpoint/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/test_gguf.h"

namespace ridge::checkpoint {
namespace {

Result<TextDocuments> texts_of(const TestGguf& made) {
  const std::string bytes = made.bytes();
  RIDGE_ASSIGN(const Gguf file, read_gguf(std::as_bytes(std::span(bytes))));
  return gguf_texts(file);
}
Json tokenizer_json(const TestGguf& made) {
  const Result<TextDocuments> texts = texts_of(made);
  EXPECT_TRUE(texts.ok()) << (texts ? "" : texts.error().message);
  return texts ? *parse_json(texts->tokenizer, "") : Json();
}

TestGguf byte_level(const std::string& pre) {
  TestGguf file;
  file.text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", pre)
      .texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<s>", "</s>", "<tool>"})
      .numbers("tokenizer.ggml.token_type", {1, 1, 1, 3, 3, 4})
      .texts("tokenizer.ggml.merges", {"a b"})
      .number("tokenizer.ggml.bos_token_id", 3)
      .number("tokenizer.ggml.eos_token_id", 4);
  return file;
}

TEST(GgufTokenizer, SaysInTokenizerJsonWhatTheMetadataSays) {
  TestGguf file = byte_level("llama-bpe");
  file.text("tokenizer.chat_template", "{{ x }}");
  const Json json = tokenizer_json(file);
  EXPECT_EQ(json["model"]["vocab"]["ab"], 2);
  EXPECT_EQ(json["model"]["merges"], (Json{"a b"}));
  EXPECT_EQ(json["model"]["ignore_merges"], true);
  ASSERT_EQ(json["added_tokens"].size(), 3U);
  EXPECT_EQ(json["added_tokens"][0]["content"], "<s>");
  EXPECT_EQ(json["added_tokens"][0]["special"], true);
  EXPECT_EQ(json["added_tokens"][2]["special"], false) << "a token of the user's, which is shown";
  EXPECT_EQ(json["pre_tokenizer"]["pretokenizers"].size(), 2U);
  EXPECT_EQ(json["post_processor"]["special_tokens"]["bos_token"]["ids"], (Json{3}));
  EXPECT_EQ(json["post_processor"]["single"].size(), 2U);
  const Result<TextDocuments> texts = texts_of(file);
  EXPECT_EQ((*texts->texts)["bos_token"], "<s>");
  EXPECT_EQ((*texts->texts)["eos_token"], "</s>");
  EXPECT_EQ(texts->chat_template, "{{ x }}");
}

TEST(GgufTokenizer, AddsBeginAndEndAsTheFileOrItsPreTokenizerSays) {
  const auto around = [](const TestGguf& file) { return tokenizer_json(file)["post_processor"]["single"]; };
  const Json text = {{"Sequence", {{"id", "A"}}}}, begin = {{"SpecialToken", {{"id", "bos_token"}}}},
             end = {{"SpecialToken", {{"id", "eos_token"}}}};
  EXPECT_EQ(around(byte_level("llama-bpe")), (Json::array({begin, text})));
  EXPECT_EQ(around(byte_level("llama-bpe").flag("tokenizer.ggml.add_bos_token", false)), (Json::array({text})));
  EXPECT_EQ(around(byte_level("qwen2")), (Json::array({text})));
  EXPECT_EQ(
      around(byte_level("qwen2").flag("tokenizer.ggml.add_bos_token", true).flag("tokenizer.ggml.add_eos_token", true)),
      (Json::array({begin, text, end})));
  EXPECT_EQ(tokenizer_json(byte_level("qwen2"))["normalizer"]["type"], "NFC");
}

// The merges by transformers' generate_merges() of the same pieces and scores.
TEST(GgufTokenizer, OrdersMergesByTheScoresOfPieces) {
  TestGguf file;
  file.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "▁", "a", "b", "ab", "▁a", "▁ab", "bb", "abb"})
      .reals("tokenizer.ggml.scores", {0, 0, -9, -7, -8, -2, -1, -3, -4, -4})
      .numbers("tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1, 1, 1, 1, 1})
      .number("tokenizer.ggml.bos_token_id", 1);
  const Json json = tokenizer_json(file);
  EXPECT_EQ(json["model"]["merges"],
            parse_json(R"([["▁","a"],["a","b"],["▁a","b"],["▁","ab"],["ab","b"],["a","bb"],["b","b"]])", "").value());
  EXPECT_EQ(json["model"]["unk_token"], "<unk>");
  EXPECT_EQ(json["normalizer"]["normalizers"].size(), 2U);
  EXPECT_EQ(json["decoder"]["decoders"].size(), 4U);
  EXPECT_EQ(json["post_processor"]["single"].size(), 2U) << "begins by default";
  file.flag("tokenizer.ggml.add_space_prefix", false);
  EXPECT_EQ(tokenizer_json(file)["normalizer"]["normalizers"].size(), 1U);
}

TEST(GgufTokenizer, RefusesByNameWhatItDoesNotKnow) {
  const auto refusal = [](const TestGguf& file) {
    const Result<TextDocuments> texts = texts_of(file);
    EXPECT_FALSE(texts.ok());
    return texts ? "" : texts.error().message;
  };
  EXPECT_NE(refusal(byte_level("viking")).find("'viking'"), std::string::npos);
  EXPECT_NE(refusal(byte_level("gpt-2 mpt")).find("'gpt-2 mpt'"), std::string::npos);
  TestGguf pieces;
  pieces.texts("tokenizer.ggml.tokens", {"a"}).text("tokenizer.ggml.model", "t5");
  EXPECT_NE(refusal(pieces).find("'t5'"), std::string::npos);
  EXPECT_NE(refusal(TestGguf().text("tokenizer.ggml.model", "gpt2")).find("no tokens"), std::string::npos);
  TestGguf twice;
  twice.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "a"});
  EXPECT_NE(refusal(twice).find("twice"), std::string::npos);
  TestGguf unscored;
  unscored.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", {"a", "b"});
  EXPECT_NE(refusal(unscored).find("0 scores"), std::string::npos);
}

}  // namespace
}  // namespace ridge::checkpoint
