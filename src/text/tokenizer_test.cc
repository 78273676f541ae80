#include "text/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/unicode.h"

namespace ridge::text {
namespace {

// A model of a few tokens; `rest` are members of tokenizer.json beside it.
std::string byte_level_json(const std::string& rest) {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2,"Ã":3,"©":4,"ab":5,"aa":6,"aaaa":7},
            "merges":["a b",["a","a"],"aa aa"]},"decoder":{"type":"ByteLevel"})" +
         rest + "}";
}
constexpr const char* kByteLevelRest = R"(,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false})";

// With byte tokens <0x00> to <0xFF> at 1…256.
std::string fallback_json(const std::string& decoder) {
  std::string vocabulary = R"("<unk>":0)";
  for (int byte = 0; byte < 256; ++byte) vocabulary += fmt::format(R"(,"<0x{:02X}>":{})", byte, byte + 1);
  return fmt::format(
      R"({{"decoder":{},"model":{{"byte_fallback":true,"unk_token":"<unk>","vocab":{{{},"a":257,"▁":258}},"merges":[]}}}})",
      decoder, vocabulary);
}

TEST(Tokenizer, MergesThePairOfTheLowestRankFirst) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(*tokenizer->encode("aab aaaa", false), (std::vector<int32_t>{0, 5, 2, 7}));
}

TEST(Tokenizer, LongWordsTakeTimeThatGrowsWithTheirLength) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  // A quadratic search would take hours, and a test ends after two minutes.
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'a'), false)->size(), size_t{1} << 18);
}

TEST(Tokenizer, LongRowsOfMarksAreSortedInTimeThatGrowsWithThem) {
  const auto tokenizer =
      Tokenizer::parse(byte_level_json(std::string(kByteLevelRest) + R"(,"normalizer":{"type":"NFC"})"));
  ASSERT_TRUE(tokenizer.ok());
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += "\u0301";
  for (int i = 0; i < 200'000; ++i) text += "\u0323";
  EXPECT_TRUE(tokenizer->encode(text, false).ok());
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->encode("a\xFF", false).error().code, Code::kInvalid);
}

TEST(Tokenizer, NamesThePartsThatItDoesNotKnow) {
  struct Row {
    const char *rest, *named;
  };
  for (const Row& row :
       {Row{R"(,"pre_tokenizer":{"type":"UnicodeScripts"})", "'UnicodeScripts'"},
        Row{R"(,"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]})", "'Nmt'"},
        Row{R"(,"post_processor":{"type":"Other"})", "'Other'"},
        Row{R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\X+"},"behavior":"Isolated"})", "'\\X'"}}) {
    const auto tokenizer = Tokenizer::parse(byte_level_json(row.rest));
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.error().code, Code::kUnsupported);
    EXPECT_NE(tokenizer.error().message.find(row.named), std::string::npos) << tokenizer.error().message;
  }
  const auto other = Tokenizer::parse(R"({"model":{"type":"Unigram"}})");
  EXPECT_EQ(other.error().code, Code::kUnsupported);
  EXPECT_NE(other.error().message.find("'Unigram'"), std::string::npos);
}

TEST(Tokenizer, RefusesWhatIsNoTokenizer) {
  for (const char* json :
       {"", "[]", "{}", R"({"model":{}})", R"({"model":{"vocab":{"a":-1},"merges":[]}})",
        R"({"model":{"vocab":{"a":1,"b":1},"merges":[]}})", R"({"model":{"vocab":{"a":1},"merges":["a b"]}})",
        R"({"model":{"vocab":{"a":1},"merges":[["a"]]}})",
        R"({"model":{"vocab":{"a":1},"merges":[],"unk_token":"u"}})"})
    EXPECT_EQ(Tokenizer::parse(json).error().code, Code::kInvalid) << json;
}

TEST(Tokenizer, AddedTokensGetTheNumbersBehindTheModel) {
  const auto tokenizer = Tokenizer::parse(
      byte_level_json(std::string(kByteLevelRest) + R"(,"added_tokens":[{"id":99,"content":"<x>","special":true}])"));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(*tokenizer->encode("a<x>b", false), (std::vector<int32_t>{0, 8, 1}));
  EXPECT_EQ(tokenizer->vocabulary(), 9);
  EXPECT_EQ(tokenizer->token_of("<x>"), 8);
  EXPECT_TRUE(tokenizer->is_special(8));
  EXPECT_FALSE(tokenizer->is_special(0));
  const std::vector<int32_t> tokens{0, 8, 1};
  EXPECT_EQ(tokenizer->decode(tokens, false), "ab");
  EXPECT_EQ(tokenizer->decode(tokens, true), "a<x>b");
}

TEST(Tokenizer, SaysWhichBytesATokenStandsFor) {
  const auto level = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(level.ok());
  EXPECT_EQ(level->piece_of(2), "Ġ");
  EXPECT_EQ(level->bytes_of(2), " ");
  EXPECT_EQ(level->bytes_of(3), "\xC3");
  EXPECT_EQ(level->piece_of(77), "");
  const auto fallback = Tokenizer::parse(fallback_json(
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"}]})"));
  ASSERT_TRUE(fallback.ok()) << fallback.error().message;
  EXPECT_EQ(fallback->bytes_of(258), " ");
  EXPECT_EQ(fallback->bytes_of(0xE5 + 1), "\xE5");
}

TEST(Detokenizer, HoldsHalfCharactersBack) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.add(0), "a");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.add(4), "é");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.add(1), "\uFFFDb");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.end(), "\uFFFD");
}

TEST(Detokenizer, HoldsARowOfByteTokensBackUntilItEnds) {
  const auto tokenizer = Tokenizer::parse(fallback_json(R"({"type":"ByteFallback"})"));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.add(0xC3 + 1), "");
  EXPECT_EQ(stream.add(0xA9 + 1), "");
  EXPECT_EQ(stream.add(257), "éa");
  EXPECT_EQ(stream.add(0xC3 + 1), "");
  EXPECT_EQ(stream.add(0xA9 + 1), "");
  EXPECT_EQ(stream.add(0xFF + 1), "");
  EXPECT_EQ(stream.end(), "\uFFFD\uFFFD\uFFFD");
}

TEST(Detokenizer, StripsBothEndsOfTheWholeText) {
  const auto tokenizer = Tokenizer::parse(fallback_json(
      R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})"));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  std::string text;
  for (const int32_t token : {257, 257, 258, 257, 257, 258, 257, 257, 257}) text += stream.add(token);
  EXPECT_EQ(text + stream.end(), "a▁aa▁a");
}

TEST(ToUtf8, ReplacesEachLongestWrongBeginning) {
  EXPECT_EQ(to_utf8("a\xF0\x9F\x98"), "a\uFFFD");
  EXPECT_EQ(to_utf8("\xE0\x80\x41\xED\xA0\x80"), "\uFFFD\uFFFD\x41\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(certain_length("a\xF0\x9F\x98"), 1U);
  EXPECT_EQ(certain_length("a\xE0\x80"), 3U);
}

}  // namespace
}  // namespace ridge::text
