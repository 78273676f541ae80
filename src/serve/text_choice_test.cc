#include "serve/text_choice.h"

#include <gtest/gtest.h>

#include <array>

#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

using generate::Event;
using generate::Finish;

class TextChoiceTest : public testing::Test {
 protected:
  // The pieces of these tokens, joined; the last one is what ended it.
  TextPiece run(const std::string& text, Finish finish) {
    TextChoice choice(tokenizer_, request_, 2);
    TextPiece all;
    for (size_t i = 0; i < text.size(); ++i) {
      Event event;
      event.token = text[i] - ' ';
      if (request_.logprobs >= 0) event.chance = generate::TokenChance{*event.token, -1};
      if (i + 1 == text.size()) event.finish = finish;
      const std::optional<TextPiece> piece = choice.add(event);
      if (!piece) continue;
      ++pieces_;
      EXPECT_EQ(piece->choice, 2);
      all.text += piece->text;
      all.token_ids.insert(all.token_ids.end(), piece->token_ids.begin(), piece->token_ids.end());
      all.tokens.insert(all.tokens.end(), piece->tokens.begin(), piece->tokens.end());
      all.finish = piece->finish;
      all.stop_reason = piece->stop_reason;
      if (piece->finish != Finish::kNone) break;
    }
    return all;
  }

  const text::Tokenizer tokenizer_ = std::move(*text::Tokenizer::parse(test_tokenizer()));
  TextRequest request_;
  int pieces_ = 0;
};

TEST_F(TextChoiceTest, EachTokenIsAPieceAsLongAsItsTextIsCertain) {
  const TextPiece all = run("abc", Finish::kLength);
  EXPECT_EQ(all.text, "abc");
  EXPECT_EQ(all.token_ids, (std::vector<int32_t>{65, 66, 67}));
  EXPECT_EQ(pieces_, 3);
}

TEST_F(TextChoiceTest, NamesTheStopTokenOfTheRequest) {
  request_.stop_tokens = {'c' - ' '};
  TextChoice choice(tokenizer_, request_, 0);
  Event event;
  event.token = 'c' - ' ';
  event.finish = Finish::kStop;
  EXPECT_EQ(choice.add(event)->stop_token, 'c' - ' ');
  event.token = kTestEnd;
  EXPECT_EQ(TextChoice(tokenizer_, request_, 0).add(event)->stop_token, std::nullopt);
}

TEST_F(TextChoiceTest, SpecialTokensThatAReaderNeedsAreWritten) {
  constexpr std::array<std::string_view, 1> kMarks{"</s>"};
  Event event;
  event.token = kTestEnd;
  event.finish = Finish::kLength;
  EXPECT_EQ(TextChoice(tokenizer_, request_, 0).add(event)->text, "");
  request_.marks = kMarks;
  EXPECT_EQ(TextChoice(tokenizer_, request_, 0).add(event)->text, "</s>");
}

TEST_F(TextChoiceTest, HeldTextComesWithTheNextPieceAndItsTokens) {
  request_.stop = {"bd"};
  const TextPiece all = run("abce", Finish::kLength);
  EXPECT_EQ(all.text, "abce");
  EXPECT_EQ(all.token_ids.size(), 4U);
  EXPECT_EQ(pieces_, 3) << "b waits for c";
}

TEST_F(TextChoiceTest, WhatIsHeldAtTheEndIsReleased) {
  request_.stop = {"cd"};
  const TextPiece all = run("abc", Finish::kLength);
  EXPECT_EQ(all.text, "abc");
  EXPECT_EQ(all.finish, Finish::kLength);
}

TEST_F(TextChoiceTest, AStopTextEndsItWithItsName) {
  request_.stop = {"bc"};
  const TextPiece all = run("abcd", Finish::kLength);
  EXPECT_EQ(all.text, "a");
  EXPECT_EQ(all.finish, Finish::kStop);
  EXPECT_EQ(all.stop_reason, "bc");
  EXPECT_EQ(all.token_ids.size(), 3U);
}

TEST_F(TextChoiceTest, AStopTextCountsOnlyAfterTheLeastTokens) {
  request_.stop = {"b"};
  request_.least_tokens = 3;
  const TextPiece all = run("abcbd", Finish::kLength);
  EXPECT_EQ(all.text, "abc");
}

TEST_F(TextChoiceTest, AStopTokenHasNoTextUnlessItIsIncluded) {
  EXPECT_EQ(run("ab", Finish::kStop).text, "a");
  request_.include_stop = true;
  EXPECT_EQ(run("ab", Finish::kStop).text, "ab");
}

TEST_F(TextChoiceTest, ChancesComeWithTheirTokensEvenIfTheTextIsHeld) {
  request_.logprobs = 0;
  request_.stop = {"bd"};
  const TextPiece all = run("abc", Finish::kLength);
  EXPECT_EQ(pieces_, 3);
  ASSERT_EQ(all.tokens.size(), 3U);
  EXPECT_EQ(all.tokens[1].text, "b");
}

}  // namespace
}  // namespace ridge::serve
