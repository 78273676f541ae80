#include "text/token_mask.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"
#include "text/character_table.h"
#include "text/test_schemas.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr int32_t kEndOfText = 0, kOtherEnd = 1, kSpecial = 2;  // without bytes

TokenSet allowed_by(TokenMask mask) {
  const Status found = mask.find();
  EXPECT_TRUE(found.ok()) << found.error().message;
  return mask.allowed();
}

// Three special tokens, every byte, and pieces as tokenizers have them: some twice, some that cross ends, some that
// split characters.
std::vector<std::string> test_vocabulary() {
  std::vector<std::string> tokens(3);
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* piece : {"{\"",
                            "\":",
                            "\": ",
                            "\",",
                            "\", \"",
                            "\"}",
                            "\"}]",
                            "}]",
                            "},",
                            "},{\"",
                            "[]",
                            "{}",
                            "[[",
                            "[{\"",
                            "]]}",
                            "\"]",
                            "\"],\"",
                            ",\"",
                            "\"a",
                            "\"a\"",
                            "\"a\":",
                            "\"ab\":",
                            "a\":",
                            "name\":",
                            "\"name\":1",
                            "null",
                            "nul",
                            "true",
                            "true}",
                            "false,",
                            "12",
                            "123",
                            "0.",
                            "-1",
                            "1e",
                            ".5",
                            "1,2",
                            "1}",
                            "1,\"",
                            "  ",
                            "\n  ",
                            "\n\n\n\n",
                            "\t\t",
                            " a",
                            " the",
                            "the",
                            "abc",
                            "abcd",
                            "hello world",
                            "\\n",
                            "\\\"",
                            "\\u",
                            "\\u00",
                            "\\ud83d",
                            "\\ud83d\\ude00",
                            "d83d",
                            "\xc3",
                            "\xa9\"",
                            "\xf0\x9f",
                            "\x98\x80",
                            "\xf0\x9f\x98\x80",
                            "\xe2\x82",
                            "\xac",
                            "\xff\xfe",
                            "\xed\xa0\x80",
                            "a\nb",
                            "the",
                            "\"",
                            "\\",
                            "}\n",
                            "\":\"\",\"",
                            "\"one\":",
                            "\"two\":\"",
                            "left\":{\"",
                            "children\":[",
                            "value\":"})
    tokens.emplace_back(piece);
  return tokens;
}

class TokenMaskTest : public testing::Test {
 protected:
  TokenMask mask_of(const Json& schema) {
    auto grammar = JsonGrammar::of(schema);
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    return {*grammar, trie_, {kEndOfText, kOtherEnd, 100'000}};
  }
  TokenMask mask_of(const char* schema) { return mask_of(parse_json(schema, "test").value()); }
  int32_t token(std::string_view text) const {
    return static_cast<int32_t>(std::find(tokens_.begin() + 3, tokens_.end(), text) - tokens_.begin());
  }
  bool allows(const TokenMask& mask, std::string_view text) const { return has_token(allowed_by(mask), token(text)); }
  void type(TokenMask& mask, std::string_view text) const {
    for (const char c : text) ASSERT_TRUE(mask.accept(token(std::string(1, c)))) << text;
  }
  std::vector<int32_t> members(const TokenSet& set) const {
    std::vector<int32_t> all;
    for (int32_t i = 0; i < static_cast<int32_t>(tokens_.size()); ++i)
      if (has_token(set, i)) all.push_back(i);
    return all;
  }

  std::vector<std::string> tokens_ = test_vocabulary();
  std::shared_ptr<const TokenTrie> trie_ = std::make_shared<const TokenTrie>(tokens_);
};

TEST_F(TokenMaskTest, TokensMayCrossTheEndsOfValues) {
  TokenMask mask = mask_of(R"({"properties":{"a":{"type":"string"},"name":{"type":"integer"}},"required":["a"]})");
  EXPECT_TRUE(allows(mask, "{\""));
  EXPECT_FALSE(allows(mask, "[{\""));
  type(mask, R"({"a":"x)");
  EXPECT_TRUE(allows(mask, "\"}"));
  EXPECT_TRUE(allows(mask, "\", \""));
  EXPECT_TRUE(allows(mask, "]]}"));  // within the string
  EXPECT_FALSE(allows(mask, "\"}]"));
  EXPECT_FALSE(allows(mask, "\"]"));
  EXPECT_TRUE(mask.accept(token("\", \"")));
  EXPECT_TRUE(allows(mask, "name\":"));
  EXPECT_FALSE(allows(mask, "a\":"));
  EXPECT_TRUE(mask.accept(token("name\":")));
  EXPECT_TRUE(allows(mask, "1}"));
  EXPECT_FALSE(allows(mask, "1,\""));
}

TEST_F(TokenMaskTest, TokensOfTheSameBytesAreAllowedTogether) {
  TokenMask mask = mask_of(R"({"type":"string"})");
  EXPECT_TRUE(mask.accept(token("\"")));
  const TokenSet set = allowed_by(mask);
  EXPECT_EQ(std::count_if(tokens_.begin(), tokens_.end(),
                          [&](const std::string& text) {
                            return text == "the" && has_token(set, static_cast<int32_t>(&text - tokens_.data()));
                          }),
            2);
}

TEST_F(TokenMaskTest, TextEndsWhereTheDocumentMayEndAndNowhereElse) {
  TokenMask mask = mask_of(R"({"type":"integer"})");
  EXPECT_FALSE(has_token(allowed_by(mask), kEndOfText));
  EXPECT_FALSE(mask.accept(kEndOfText));
  EXPECT_TRUE(mask.accept(token("12")));
  EXPECT_TRUE(has_token(allowed_by(mask), kEndOfText));
  EXPECT_TRUE(has_token(allowed_by(mask), kOtherEnd));
  EXPECT_FALSE(has_token(allowed_by(mask), kSpecial));
  EXPECT_TRUE(allows(mask, "123"));
  EXPECT_TRUE(mask.accept(kOtherEnd));
  EXPECT_TRUE(mask.ended());
  EXPECT_THAT(members(allowed_by(mask)), testing::ElementsAre(kEndOfText, kOtherEnd));
  EXPECT_FALSE(mask.accept(token("1")));
}

TEST_F(TokenMaskTest, LengthsBoundWhatATokenMayAdd) {
  TokenMask mask = mask_of(R"({"type":"string","minLength":3,"maxLength":4})");
  type(mask, "\"");
  EXPECT_TRUE(allows(mask, "abcd"));
  EXPECT_FALSE(allows(mask, "hello world"));
  EXPECT_FALSE(allows(mask, "\""));
  EXPECT_TRUE(allows(mask, "\\ud83d\\ude00"));
  type(mask, "xy");
  EXPECT_FALSE(allows(mask, "abc"));
  EXPECT_TRUE(allows(mask, " a"));
  EXPECT_FALSE(allows(mask, "\xa9\""));
  EXPECT_TRUE(mask.accept(token("\xc3")));
  EXPECT_TRUE(allows(mask, "\xa9\""));  // the third character, and the end
}

TEST_F(TokenMaskTest, SequencesOfOneGrammarShareTheirSets) {
  const auto grammar = JsonGrammar::of(parse_json(R"({"type":"string","pattern":"^a.*x$"})", "test").value()).value();
  const auto sets = std::make_shared<TokenSets>(grammar, trie_);
  TokenMask first(sets, {kEndOfText}), second(sets, {kEndOfText});
  type(first, "\"abcd");
  const TokenSet expected = allowed_by(first);
  type(second, "\"ab the");  // another text that leads to the same state
  const uint64_t work = sets->states()->work();
  EXPECT_EQ(allowed_by(second), expected);
  EXPECT_EQ(sets->states()->work(), work) << "nothing was left to find";
  sets->clear();
  type(first, "x\"");
  EXPECT_THAT(members(allowed_by(first)), testing::ElementsAre(kEndOfText));
  EXPECT_EQ(allowed_by(second), expected);
}

TEST_F(TokenMaskTest, WhatIsStoppedNamesItsPlace) {
  TokenMask mask = mask_of(R"({"properties":{"a":{"type":"string","pattern":"x"}},"required":["a"]})");
  type(mask, "{\"a\":");
  const Status found = mask.find([] { return false; });
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, testing::HasSubstr("#/properties/a:"));
  EXPECT_TRUE(mask.find().ok());
}

TEST_F(TokenMaskTest, LogitsOfOtherTokensBecomeMinusInfinity) {
  TokenMask mask = mask_of(R"({"enum":["abc","abd"]})");
  type(mask, "\"ab");
  std::vector<float> logits(tokens_.size() + 100, 1.5F);  // a model's vocabulary is often padded
  ASSERT_TRUE(mask.find().ok());
  EXPECT_TRUE(mask.mask(logits));
  for (int32_t i = 0; i < static_cast<int32_t>(logits.size()); ++i)
    EXPECT_EQ(logits[i], i == token("c") || i == token("d") ? 1.5F : -INFINITY) << i;
}

TEST_F(TokenMaskTest, TellsWhenTheVocabularyCannotGoOn) {
  const std::vector<std::string> few{"[", "]", "1"};
  TokenMask mask(JsonGrammar::of(parse_json(R"({"type":"object"})", "test").value()).value(),
                 std::make_shared<const TokenTrie>(few), {});
  std::vector<float> logits(3);
  ASSERT_TRUE(mask.find().ok());
  EXPECT_FALSE(mask.mask(logits));
}

// Against the rule itself: a token is allowed if its bytes are. Then to the end, by allowed tokens only: the document
// is valid.
TEST_F(TokenMaskTest, RandomWalksGiveValidDocuments) {
  int whole = 0, steps = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed + 5000);
    constexpr const char* kPatterns[] = {"x", "^.{1,9}$", "^[A-Za-z0-9 _.-]{1,6}$", "^[^a]*(a[^a]+)*$",
                                         "^\\S+( \\S+)*$"};
    Json schema = seed == 0 ? Json::object() : seed % 3 == 1 ? random_joined_schema(dice) : random_schema(dice);
    if (seed % 10 == 3) schema = {{"type", "string"}, {"pattern", kPatterns[seed / 10 % std::size(kPatterns)]}};
    if (!JsonGrammar::of(schema).ok()) continue;
    TokenMask mask = mask_of(schema);
    JsonState state(JsonGrammar::of(schema).value());
    std::string text;
    for (int step = 0; step < 40 && !mask.ended(); ++step) {
      const TokenSet set = allowed_by(mask);
      const std::vector<int32_t> allowed = members(set);
      ASSERT_FALSE(allowed.empty()) << schema << text;
      ASSERT_EQ(has_token(set, kEndOfText), state.may_end());
      if (step % 4 == 0) {
        for (size_t i = 3; i < tokens_.size(); ++i) {
          JsonState after = state;
          ASSERT_EQ(has_token(set, static_cast<int32_t>(i)), after.accept(tokens_[i]))
              << "seed " << seed << ' ' << schema << '\n'
              << text << '\n'
              << tokens_[i];
        }
      }
      const int32_t chosen = allowed[static_cast<size_t>(dice.roll(static_cast<int>(allowed.size())))];
      ASSERT_TRUE(mask.accept(chosen));
      ASSERT_TRUE(state.accept(tokens_[chosen]));
      text += tokens_[chosen];
      ++steps;
    }
    if (!state.may_end()) text += end_document(state);
    auto read = parse_json(text, "test");
    ASSERT_TRUE(read.ok()) << "seed " << seed << ' ' << schema << '\n' << text;
    // The judge's patterns are of bytes.
    ASSERT_TRUE(seed == 0        ? read->is_object()
                : seed % 10 == 3 ? read->is_string()
                                 : is_valid(schema, schema, *read))
        << "seed " << seed << ' ' << schema << '\n'
        << text;
    ++whole;
  }
  EXPECT_GT(whole, 250);
  EXPECT_GT(steps, 3000);
}

// Each state of a text against the rule, with tokens that begin and end within characters, are long, or end the string.
TEST(TokenMaskOfCharacters, IsThatOfTheBytesInEveryState) {
  std::vector<std::string> tokens(1);
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  const std::vector<std::string> begins{"",     " ",    "a",       "x", "Ab", "\xe2", "\xe2\x80", "\xe4\xb8\xad",
                                        "\xc2", "\x80", "\x80\x99"};
  for (const std::string& begin : begins) {
    for (const char* end : {"\"", "\\n", "\n", "\",", "1 ", "a-b", "\xe2\x80\xa8", "\xe2\x80\xa8x", "\xe3\x80\x80",
                            "\xc2\xa0s", "\xef\xbb\xbf", "\xe4\x41", "\xf0\x9f\x98", "xx\"", "a7"})
      tokens.push_back(begin + end);
    for (int byte = 0x80; byte < 0xc0; ++byte) tokens.push_back(begin + static_cast<char>(byte));
    for (char letter = 'a'; letter <= 'z'; ++letter) tokens.push_back(begin + letter + "s");
    for (const size_t length : {10, 63, 64, 65, 66, 80, 300}) {
      tokens.push_back(begin + std::string(length, ' '));
      tokens.push_back(begin + std::string(length, 'a') + "\"");
    }
  }
  for (int byte = 0x80; byte < 0xc0; ++byte) tokens.push_back("\xe1\x80" + std::string(1, static_cast<char>(byte)));
  // So many that masks are made of sets of tokens; of these, some are held against the rule.
  const size_t checked = tokens.size(), stride = 13;
  for (uint64_t i = 0; i < 6000; ++i) {
    std::string word;
    for (uint64_t bits = split_mix(i); bits % 8 != 0 || word.empty(); bits /= 7)
      word += static_cast<char>('a' + bits % 26);
    tokens.push_back((i % 10 == 0 ? "\xe2\x80\x99" : i % 10 == 1 ? "a" : "") + word);
  }
  const auto trie = std::make_shared<const TokenTrie>(tokens);
  size_t states = 0;
  for (const char* schema :
       {R"({"type":"string"})", R"({"type":"string","maxLength":70})",
        R"({"type":"string","minLength":3,"maxLength":4})", R"({"type":"string","pattern":"^.{1,200}$"})",
        R"({"type":"string","pattern":"^.*$"})", R"({"type":"string","pattern":"x"})",
        R"({"type":"string","pattern":"^[^x]{2,66}x.$"})", R"({"type":"string","pattern":"^[^\\s]+( [^\\s]+)*$"})",
        R"({"type":"string","pattern":"^[A-Za-z0-9 _.-]{1,32}$"})", R"({"type":"string","pattern":"^[^a]*(a[^a]+)*$"})",
        R"({"type":"string","pattern":"^[a-z]{3}[ a-zA-Z]{60}[ a-z]*$"})",
        R"({"type":"string","pattern":"^[\\u2000-\\u2fff]+$"})",
        R"({"type":"string","pattern":"^\\s*[\\u0080-\\uffff]+$"})",
        R"({"type":"string","pattern":"^[^\\u4e2d][^]*$"})",
        R"({"anyOf":[{"type":"string","maxLength":3},)"
        R"({"type":"string","pattern":"^[a-z]{1,70}$"},{"enum":["xx","\u2028"]}]})",
        R"({"anyOf":[{"type":"string","pattern":"x{2}"},{"type":"string","pattern":"a[0-9]"},)"
        R"({"type":"string","pattern":"y"}]})",
        R"({"enum":["\u2028x","\u1000"]})", R"({"properties":{"ab":true},"additionalProperties":{"type":"string"}})"}) {
    const auto grammar = JsonGrammar::of(parse_json(schema, "test").value()).value();
    const auto sets = std::make_shared<TokenSets>(grammar, trie);
    for (const char* text :
         {"\"a\xe2\x80\xa8\"", "\"\xe2\x80\xa6 x", "\"word a\xf1\x80", "\"\xe2\x98\x83\xe2\x80\xa6", "\"xxa0\\n\"",
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaax", "{\"ab\":\"\xe4"}) {
      TokenMask mask(sets, {});
      JsonState state(grammar);
      for (const char* at = text;; ++at, ++states) {
        const TokenSet set = allowed_by(mask);
        for (size_t i = 1; i < tokens.size(); i += i < checked ? 1 : stride) {
          JsonState after = state;
          ASSERT_EQ(has_token(set, static_cast<int32_t>(i)), after.accept(tokens[i]))
              << schema << ' ' << std::string(text, at) << ": token " << testing::PrintToString(tokens[i]);
        }
        if (*at == 0 || !mask.accept(1 + static_cast<uint8_t>(*at))) break;
        ASSERT_TRUE(state.accept({at, 1}));
      }
    }
  }
  EXPECT_GT(states, 500);
}

// Masks know the characters that `.` and \s tell from those that begin alike.
TEST(TokenMaskOfCharacters, SecondKindsAreThoseOfPatterns) {
  const auto of = [](const char* pattern) { return JsonState(JsonGrammar::of_expression(pattern).value()); };
  const JsonState space = of("\\s"), any = of(".");
  for (char32_t c = 0x80; c <= 0xffff; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string bytes;
    append_utf8(bytes, c);
    JsonState spaced = space, dotted = any;
    const bool is_space = spaced.accept(bytes), ends_line = !dotted.accept(bytes);
    EXPECT_EQ(second_kind_of(c), ends_line ? kLineEnd : is_space ? kOtherSpace : 0) << static_cast<uint32_t>(c);
  }
}

TEST_F(TokenMaskTest, ACopyGoesItsOwnWay) {
  TokenMask mask = mask_of(R"({"type":"array","items":{"type":"integer"}})");
  type(mask, "[1");
  TokenMask copy = mask;
  type(copy, "]");
  EXPECT_TRUE(copy.may_end());
  EXPECT_FALSE(mask.may_end());
  EXPECT_TRUE(allows(mask, "1,2"));
}

}  // namespace
}  // namespace ridge::text
